// Kernels that pick rows by an index: embedding, its gradient, RoPE, and writing to a key-value cache.
#include "vectors.cuh"

// y[i] = W[tokens[i]], rows of width
extern "C" __global__ void embed(float *__restrict__ y, const int *__restrict__ tokens, const float *__restrict__ w, u64 *bad, int vocab, int width, ll n) {
	each<4>(n, width % 4 == 0 && aligned<4>(y, w), [=](auto many, ll e) {
		int column;
		const ll i = split(e, width, column);
		const int t = tokens[i];
		if ((u32)t >= (u32)vocab) {
			report(bad, (int)i, t);
			return;
		}
		float v[many.value];
		load(v, w + (u64)(u32)t * width + column);
		store(y + e, v);
	});
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
		for (int k = 0; k < total; k += 8) { // eight loads under way at once
			float g[8];
			int row[8];
#pragma unroll
			for (int u = 0; u < 8; u++) {
				const int j = found[min(k + u, total - 1)];
				row[u] = k + u < total ? tokens[j] - first : -1;
				g[u] = column < width ? dy[(ll)j * width + column] : 0.f;
			}
#pragma unroll
			for (int u = 0; u < 8; u++)
#pragma unroll
				for (int r = 0; r < Rows; r++)
					sum[r] += r == row[u] ? g[u] : 0.f;
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
template <class T>
__device__ __forceinline__ void rope(T *y, const T *x, const int *__restrict__ positions, const float *__restrict__ table, u64 *bad, int limit, int width,
                                     int d, float sign, ll pairs) {
	constexpr int N = wide<T>;
	const int half = d / 2;
	each<N>(pairs, half % N == 0 && aligned<N>(y, x) && aligned<N>(table), [=](auto many, ll e) {
		int rest, j;
		const ll row = split(e, width / 2, rest), head = split(rest, half, j);
		const int p = positions[row];
		if ((u32)p >= (u32)limit) {
			report(bad, (int)row, p);
			return;
		}
		constexpr int M = many.value;
		const u64 angle = (u64)(u32)p * d + j;
		const ll at = row * width + head * d + j;
		float c[M], s[M], a[M], b[M], turned[M];
		load(c, table + angle), load(s, table + angle + half), load(a, x + at), load(b, x + at + half);
#pragma unroll
		for (int k = 0; k < M; k++) {
			turned[k] = a[k] * c[k] - b[k] * (sign * s[k]);
			b[k] = b[k] * c[k] + a[k] * (sign * s[k]);
		}
		store(y + at, turned), store(y + at + half, b);
	});
}
#define ROPE(T)                                                                                                                                        \
	extern "C" __global__ void rope_##T(TYPE_##T *y, const TYPE_##T *x, const int *positions, const float *table, u64 *bad, int limit, int width, \
	                                    int d, float sign, ll pairs) {                                                                             \
		rope(y, x, positions, table, bad, limit, width, d, sign, pairs);                                                                       \
	}
ONE_TYPE(ROPE)

// Rows position … position+t-1 of each sequence of context rows of the cache are set from fresh, which has n elements.
extern "C" __global__ void cache_write(float *__restrict__ cache, const float *__restrict__ fresh, const int *__restrict__ position, u64 *bad, int t,
                                       int context, int width, ll n) {
	const int p = position[0];
	if ((u32)p >= (u32)context) {
		if (blockIdx.x == 0 && threadIdx.x == 0) report(bad, 0, p);
		return;
	}
	each<4>(n, width % 4 == 0 && aligned<4>(cache, fresh), [=](auto many, ll e) {
		int column, k;
		const ll sequence = split(split(e, width, column), t, k);
		const int row = p + k;
		if (row >= context) return;
		float v[many.value];
		load(v, fresh + e);
		store(cache + (sequence * context + row) * width + column, v);
	});
}
