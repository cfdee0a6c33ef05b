// Attention of new rows against a key-value cache, for sampling: one block of four warps for each new row and head, the warps taking the
// cache's rows in turn, their partial softmaxes joined at the end in order.
#include "common.cuh"

// Lanes hold the elements lane, lane+32, … of a vector of at most 256.
#define EACH 8

extern "C" __global__ void __launch_bounds__(128)
    attention_cached(float *__restrict__ y, const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                     const int *__restrict__ position, u64 *bad, int heads, int kv_heads, int dim, int t, int context, int window, float scale, float softcap) {
	__shared__ float tops[4], sums[4], parts[4][EACH * 32];
	const int row = blockIdx.x, head = blockIdx.y, kv = head / (heads / kv_heads), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int sequence = row / t, p = position[0], i = p + row % t;
	const float inf = __int_as_float(0x7f800000);
	if ((u32)p >= (u32)context) {
		if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) report(bad, 0, p);
		return;
	}
	float own[EACH], acc[EACH], top = -inf, sum = 0.f;
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		const int d = lane + 32 * e;
		own[e] = d < dim ? q[((ll)row * heads + head) * dim + d] : 0.f;
		acc[e] = 0.f;
	}
	for (int j = (window > 0 ? max(0, i - window + 1) : 0) + warp; j < min(i + 1, context); j += 4) {
		const ll at = (((ll)sequence * context + j) * kv_heads + kv) * dim;
		float s = 0.f;
#pragma unroll
		for (int e = 0; e < EACH; e++)
			if (lane + 32 * e < dim) s = fmaf(own[e], k[at + lane + 32 * e], s);
		s = capped(scale * warp_sum(s), softcap);
		const float high = fmaxf(top, s), shrink = high == top ? 1.f : expf(top - high), weight = expf(s - high);
		top = high;
		sum = sum * shrink + weight;
#pragma unroll
		for (int e = 0; e < EACH; e++)
			if (lane + 32 * e < dim) acc[e] = acc[e] * shrink + weight * v[at + lane + 32 * e];
	}
	if (lane == 0) tops[warp] = top, sums[warp] = sum;
#pragma unroll
	for (int e = 0; e < EACH; e++) parts[warp][lane + 32 * e] = acc[e];
	__syncthreads();
	float high = tops[0], total = 0.f, share[4];
#pragma unroll
	for (int w = 1; w < 4; w++) high = fmaxf(high, tops[w]);
#pragma unroll
	for (int w = 0; w < 4; w++) {
		share[w] = sums[w] == 0.f ? 0.f : tops[w] == high ? 1.f : expf(tops[w] - high);
		total += share[w] * sums[w];
	}
	for (int d = threadIdx.x; d < dim; d += 128) {
		float out = 0.f;
#pragma unroll
		for (int w = 0; w < 4; w++) out += share[w] * parts[w][d];
		y[((ll)row * heads + head) * dim + d] = total == 0.f ? 0.f : out / total;
	}
}
