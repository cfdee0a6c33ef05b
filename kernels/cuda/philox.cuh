// The random numbers of package kernels.
#pragma once
#include "common.cuh"

// philox is Philox4x32-10 (Salmon et al., SC 2011).
__device__ __forceinline__ uint4 philox(uint4 c, uint2 key) {
#pragma unroll
	for (int round = 0; round < 10; round++) {
		const u32 high0 = __umulhi(c.x, 0xD2511F53u), low0 = c.x * 0xD2511F53u;
		const u32 high1 = __umulhi(c.z, 0xCD9E8D57u), low1 = c.z * 0xCD9E8D57u;
		c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
		key.x += 0x9E3779B9u;
		key.y += 0xBB67AE85u;
	}
	return c;
}
