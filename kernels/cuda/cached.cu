// Attention of new rows against a key-value cache, for sampling. What a row sees is divided among blocks of four warps, so that one sequence
// with a long cache fills a GPU (Dao et al., Flash-Decoding, 2023); a second kernel joins their partial softmaxes in order. The number of
// blocks of a row depends on the size of the cache alone.
#include "common.cuh"

#define WARPS 4
#define NONE __int_as_float(0xff800000)
#define KEYS 4 // that a warp takes at once, so that their loads overlap

// Cache is the shape of a call. position is read on the device.
struct Cache {
	int heads, kv_heads, dim, t, context, window;
	float scale, softcap;
};

// Partial is a softmax over some keys: the largest score, the sum of weights relative to it, and the weighted sum of values. The largest score
// is NONE as long as there are no keys, and LOWEST at least from then on.
template <int E> struct Partial {
	float top, sum, acc[E];
};

// take adds KEYS keys from j on, of those before end. k and v are the rows of a lane's elements of one key head, `width` apart.
template <int E>
__device__ __forceinline__ void take(Partial<E> &s, const float (&own)[E], const float *__restrict__ k, const float *__restrict__ v, ll width, int j, int end, int lane,
                                     const Cache &c) {
	float score[KEYS], value[KEYS][E], high = fmaxf(s.top, LOWEST);
#pragma unroll
	for (int u = 0; u < KEYS; u++) {
		const bool some = j + u < end;
		score[u] = 0.f;
#pragma unroll
		for (int e = 0; e < E; e++) {
			const bool here = some && lane + 32 * e < c.dim;
			score[u] = fmaf(own[e], here ? k[(j + u) * width + 32 * e] : 0.f, score[u]);
			value[u][e] = here ? v[(j + u) * width + 32 * e] : 0.f;
		}
	}
#pragma unroll
	for (int u = 0; u < KEYS; u++) {
		score[u] = capped(c.scale * warp_sum(score[u]), c.softcap);
		if (j + u < end) high = fmaxf(high, score[u]);
	}
	const float shrink = high == s.top ? 1.f : expf(s.top - high);
	s.sum *= shrink;
#pragma unroll
	for (int e = 0; e < E; e++) s.acc[e] *= shrink;
#pragma unroll
	for (int u = 0; u < KEYS; u++) {
		const float weight = j + u < end ? expf(score[u] - high) : 0.f;
		s.sum += weight;
#pragma unroll
		for (int e = 0; e < E; e++) s.acc[e] = fmaf(weight, value[u][e], s.acc[e]);
	}
	s.top = high;
}

// share is what a partial sum is worth relative to the largest score of all.
__device__ __forceinline__ float share(float top, float sum, float high) { return sum == 0.f ? 0.f : top == high ? 1.f : expf(top - high); }

// blockIdx.x is the new row, y the head, z the part of the keys. With one part y is written, else parts[row, head, part]: dim sums, the largest
// score and the sum of weights.
template <int E>
__device__ __forceinline__ void attend(float *__restrict__ y, float *__restrict__ parts, const float *__restrict__ q, const float *__restrict__ k,
                                       const float *__restrict__ v, const int *__restrict__ position, u64 *bad, const Cache c) {
	__shared__ float tops[WARPS], sums[WARPS], accs[WARPS][E * 32];
	const int row = blockIdx.x, head = blockIdx.y, kv = head / (c.heads / c.kv_heads), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int p = position[0], i = p + row % c.t;
	if ((u32)p >= (u32)c.context) {
		if (blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0) report(bad, 0, p);
		return;
	}
	// The keys that the row sees, and this block's part of them.
	const int first = c.window > 0 ? max(0, i - c.window + 1) : 0, last = min(i + 1, c.context);
	const int each = ceil_div(max(last - first, 0), gridDim.z * WARPS * KEYS) * WARPS * KEYS, from = first + blockIdx.z * each, end = min(last, from + each);
	const ll query = ((ll)row * c.heads + head) * c.dim, width = (ll)c.kv_heads * c.dim, cache = (ll)(row / c.t) * c.context * width + kv * c.dim + lane;
	Partial<E> s;
	float own[E];
	s.top = NONE, s.sum = 0.f;
#pragma unroll
	for (int e = 0; e < E; e++) {
		own[e] = lane + 32 * e < c.dim ? q[query + lane + 32 * e] : 0.f;
		s.acc[e] = 0.f;
	}
	for (int j = from + warp * KEYS; j < end; j += WARPS * KEYS) take<E>(s, own, k + cache, v + cache, width, j, end, lane, c);
	if (lane == 0) tops[warp] = s.top, sums[warp] = s.sum;
#pragma unroll
	for (int e = 0; e < E; e++) accs[warp][lane + 32 * e] = s.acc[e];
	__syncthreads();
	float high = tops[0], total = 0.f, worth[WARPS];
#pragma unroll
	for (int w = 1; w < WARPS; w++) high = fmaxf(high, tops[w]);
#pragma unroll
	for (int w = 0; w < WARPS; w++) {
		worth[w] = share(tops[w], sums[w], high);
		total += worth[w] * sums[w];
	}
	float *part = parts + (((ll)row * c.heads + head) * gridDim.z + blockIdx.z) * (c.dim + 2);
	if (gridDim.z > 1 && threadIdx.x == 0) part[c.dim] = high, part[c.dim + 1] = total;
	for (int d = threadIdx.x; d < c.dim; d += 128) {
		float out = 0.f;
#pragma unroll
		for (int w = 0; w < WARPS; w++) out += worth[w] * accs[w][d];
		if (gridDim.z > 1)
			part[d] = out;
		else
			y[query + d] = high == NONE ? 0.f : out / total;
	}
}

// cached_join is y of one row and head from n parts.
extern "C" __global__ void __launch_bounds__(128) cached_join(float *__restrict__ y, const float *__restrict__ parts, const int *__restrict__ position, int heads, int dim, int context, int n) {
	if ((u32)position[0] >= (u32)context) return;
	const ll pair = (ll)blockIdx.x * heads + blockIdx.y;
	const float *part = parts + pair * n * (dim + 2);
	float high = part[dim], total = 0.f;
	for (int s = 1; s < n; s++) high = fmaxf(high, part[s * (dim + 2) + dim]);
	for (int s = 0; s < n; s++) total += share(part[s * (dim + 2) + dim], part[s * (dim + 2) + dim + 1], high) * part[s * (dim + 2) + dim + 1];
	for (int d = threadIdx.x; d < dim; d += 128) {
		float out = 0.f;
		for (int s = 0; s < n; s++) out += share(part[s * (dim + 2) + dim], part[s * (dim + 2) + dim + 1], high) * part[s * (dim + 2) + d];
		y[pair * dim + d] = high == NONE ? 0.f : out / total;
	}
}

#define DIMENSION(D)                                                                                                                                \
	extern "C" __global__ void __launch_bounds__(128)                                                                                               \
	    attention_cached_##D(float *y, float *parts, const float *q, const float *k, const float *v, const int *position, u64 *bad, int heads,       \
	                         int kv_heads, int dim, int t, int context, int window, float scale, float softcap) {                                    \
		attend<D / 32>(y, parts, q, k, v, position, bad, Cache{heads, kv_heads, dim, t, context, window, scale, softcap});                           \
	}
DIMENSION(64)
DIMENSION(128)
DIMENSION(256)
