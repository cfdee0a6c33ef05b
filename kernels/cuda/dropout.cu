// Dropout by Philox4x32-10 (Salmon et al., SC 2011), the same counters as on the host.
#include "common.cuh"

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

// y = x scale where the element's random number of 24 bits is at least threshold, else 0. counter holds seed low, seed high, step and
// micro-batch; a thread does the four elements of one block of random bits. y may be x.
extern "C" __global__ void dropout(float *y, const float *x, const int *__restrict__ counter, u32 site, u32 threshold, float scale, ll n) {
	const uint2 key = make_uint2(counter[0], counter[1]);
	const u32 step = counter[2], micro = counter[3];
	ELEMENTS(j, (n + 3) / 4) {
		const uint4 r = philox(make_uint4((u32)j, site, step, micro), key);
		const u32 bits[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
		for (int k = 0; k < 4; k++) {
			const ll i = 4 * j + k;
			if (i < n) y[i] = bits[k] >> 8 >= threshold ? x[i] * scale : 0.f;
		}
	}
}
