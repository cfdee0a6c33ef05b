// Kernels that pick rows by an index: embedding, its gradient, RoPE, and writing to a key-value cache.
#include "common.cuh"

// y[i] = W[tokens[i]], rows of width
extern "C" __global__ void embed(float *__restrict__ y, const int *__restrict__ tokens, const float *__restrict__ w, u64 *bad, int vocab, int width, ll n) {
	ELEMENTS(e, n) {
		const ll i = e / width;
		const int t = tokens[i];
		if ((u32)t < (u32)vocab)
			y[e] = w[(u64)(u32)t * width + e % width];
		else
			report(bad, (int)i, t);
	}
}

// dW[v] for Rows rows v and 128 columns: the block reads all tokens, keeps those of its rows in order, and adds their rows of dy in that
// order, the sums in registers.
template <int Rows>
__device__ __forceinline__ void embed_grad(float *__restrict__ dw, const int *__restrict__ tokens, const float *__restrict__ dy, u64 *bad, int n, int vocab, int width) {
	__shared__ int found[128], count[4];
	const int first = blockIdx.x * Rows, column = blockIdx.y * 128 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	float sum[Rows];
#pragma unroll
	for (int r = 0; r < Rows; r++) sum[r] = 0.f;
	for (int base = 0; base < n; base += 128) {
		const int i = base + threadIdx.x, t = i < n ? tokens[i] : first - 1;
		if (i < n && (u32)t >= (u32)vocab) report(bad, i, t);
		const bool mine = i < n && t >= first && t < min(vocab, first + Rows);
		const u32 ballot = __ballot_sync(FULL, mine);
		if (lane == 0) count[warp] = __popc(ballot);
		__syncthreads();
		int at = __popc(ballot & ((1u << lane) - 1)), total = 0;
#pragma unroll
		for (int w = 0; w < 4; w++) {
			if (w < warp) at += count[w];
			total += count[w];
		}
		if (mine) found[at] = i;
		__syncthreads();
		for (int k = 0; k < total; k++) {
			const int j = found[k], row = tokens[j] - first;
			const float g = column < width ? dy[(ll)j * width + column] : 0.f;
#pragma unroll
			for (int r = 0; r < Rows; r++)
				if (r == row) sum[r] += g;
		}
	}
	if (column >= width) return;
#pragma unroll
	for (int r = 0; r < Rows; r++)
		if (first + r < vocab) dw[(ll)(first + r) * width + column] = sum[r];
}

extern "C" __global__ void __launch_bounds__(128) embed_grad_8(float *dw, const int *tokens, const float *dy, u64 *bad, int n, int vocab, int width) {
	embed_grad<8>(dw, tokens, dy, bad, n, vocab, width);
}
extern "C" __global__ void __launch_bounds__(128) embed_grad_32(float *dw, const int *tokens, const float *dy, u64 *bad, int n, int vocab, int width) {
	embed_grad<32>(dw, tokens, dy, bad, n, vocab, width);
}

// Rotates the pair (x[j], x[d/2+j]) of each head by the angle of its row's position: table[p, j] is its cosine, table[p, d/2+j] its sine,
// negated by sign. y may be x.
extern "C" __global__ void rope(float *y, const float *x, const int *__restrict__ positions, const float *__restrict__ table, u64 *bad, int limit,
                                int width, int d, float sign, ll pairs) {
	const int half = d / 2, pairs_of_row = width / 2;
	ELEMENTS(e, pairs) {
		const ll row = e / pairs_of_row, rest = e % pairs_of_row, j = rest % half;
		const int p = positions[row];
		if ((u32)p >= (u32)limit) {
			report(bad, (int)row, p);
			continue;
		}
		const u64 angle = (u64)(u32)p * d + j;
		const float c = table[angle], s = sign * table[angle + half];
		const ll at = row * width + rest / half * d + j;
		const float a = x[at], b = x[at + half];
		y[at] = a * c - b * s;
		y[at + half] = b * c + a * s;
	}
}

// cache' = cache with rows position … position+t-1 of each sequence of context rows set from fresh; cache' may be cache.
extern "C" __global__ void cache_write(float *out, const float *cache, const float *__restrict__ fresh, const int *__restrict__ position, u64 *bad,
                                       int t, int context, int width, ll n) {
	const int p = position[0];
	const bool outside = (u32)p >= (u32)context;
	if (outside && blockIdx.x == 0 && threadIdx.x == 0) report(bad, 0, p);
	ELEMENTS(e, n) {
		const ll row = e / width, k = row % context - p;
		if (!outside && k >= 0 && k < t)
			out[e] = fresh[(row / context * t + k) * width + e % width];
		else if (out != cache)
			out[e] = cache[e];
	}
}
