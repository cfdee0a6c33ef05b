// Causal attention backward, in float32, without atomics: one kernel owns a tile of queries and sums dq over keys, one owns a tile of keys
// and sums dk and dv over the queries of all heads that read it, in order.
//
//	p = exp(s - lse);  ds = p (dy·v - y·dy) scale softcap'(s);  dq = ds k;  dk = dsᵀ q;  dv = pᵀ dy
#include "attention.cuh"

// dots[row, head] = y·dy. One group of eight lanes a row and head.
extern "C" __global__ void __launch_bounds__(256) attention_dots(float *__restrict__ dots, const float *__restrict__ y, const float *__restrict__ dy, int dim, ll n) {
	const ll at = (blockIdx.x * (ll)256 + threadIdx.x) / 8;
	float sum = 0.f;
	if (at < n)
		for (int d = threadIdx.x % 8; d < dim; d += 8) sum += y[at * dim + d] * dy[at * dim + d];
	sum = warp_sum<8>(sum);
	if (at < n && threadIdx.x % 8 == 0) dots[at] = sum;
}

// weight returns p and sets ds for one pair of rows. s and dp are the inner products of q, k and of dy, v.
__device__ __forceinline__ float weight(const Problem &p, float s, float dp, float lse, float dot, float &ds) {
	const float score = capped(p.scale * s, p.softcap), w = expf(score - lse);
	ds = w * (dp - dot) * p.scale * capped_slope(score, p.softcap);
	return w;
}

// blockIdx as in the forward kernel.
template <int D>
__device__ __forceinline__ void attention_dq(float *__restrict__ dq, const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v,
                                             const float *__restrict__ dy, const float *__restrict__ lse, const float *__restrict__ dots, const Problem p) {
	typedef Layout<D> L;
	__shared__ float qs[L::Tile][L::Pitch], dys[L::Tile][L::Pitch], ks[L::Tile][L::Pitch], vs[L::Tile][L::Pitch], ds[L::Tile][L::Tile + 1];
	const int head = blockIdx.y, kv = head / (p.heads / p.kv_heads), base = blockIdx.z * p.t, first = blockIdx.x * L::Tile;
	const int lane = threadIdx.x % 8, own = threadIdx.x / 8 * L::Rows, width = p.heads * p.dim, kv_width = p.kv_heads * p.dim;
	float acc[L::Rows][L::Each], own_lse[L::Rows], own_dot[L::Rows];
	zero(acc);
#pragma unroll
	for (int r = 0; r < L::Rows; r++) {
		const int row = min(first + own + r, p.t - 1);
		own_lse[r] = lse[((ll)base + row) * p.heads + head];
		own_dot[r] = dots[((ll)base + row) * p.heads + head];
	}
	load_tile<D>(qs, q, base, first, p.t, width, head * p.dim, p.dim);
	load_tile<D>(dys, dy, base, first, p.t, width, head * p.dim, p.dim);
	for (int at = first_seen<L::Tile>(p, first); at < min(p.t, first + L::Tile); at += L::Tile) {
		__syncthreads();
		load_tile<D>(ks, k, base, at, p.t, kv_width, kv * p.dim, p.dim);
		load_tile<D>(vs, v, base, at, p.t, kv_width, kv * p.dim, p.dim);
		__syncthreads();
		float s[L::Rows][L::Columns], dp[L::Rows][L::Columns];
		products<D>(s, qs, ks, own, lane);
		products<D>(dp, dys, vs, own, lane);
		u32 seen[L::Rows];
#pragma unroll
		for (int r = 0; r < L::Rows; r++) {
			seen[r] = 0;
#pragma unroll
			for (int c = 0; c < L::Columns; c++) {
				float d;
				weight(p, s[r][c], dp[r][c], own_lse[r], own_dot[r], d);
				ds[own + r][lane + 8 * c] = d;
				if (sees(p, base, first + own + r, at + lane + 8 * c)) seen[r] |= 1u << (lane + 8 * c);
			}
			seen[r] = gather(seen[r]);
		}
		__syncwarp();
		accumulate<D>(acc, ds, ks, seen, own, lane);
	}
	store_tile<D>(dq, acc, base, first + own, p.t, width, head * p.dim, p.dim, lane);
}

// blockIdx.x is the tile of keys, y the key head, z the sequence.
template <int D>
__device__ __forceinline__ void attention_dkv(float *__restrict__ dk, float *__restrict__ dv, const float *__restrict__ q, const float *__restrict__ k,
                                              const float *__restrict__ v, const float *__restrict__ dy, const float *__restrict__ lse,
                                              const float *__restrict__ dots, const Problem p) {
	typedef Layout<D> L;
	__shared__ float qs[L::Tile][L::Pitch], dys[L::Tile][L::Pitch], ks[L::Tile][L::Pitch], vs[L::Tile][L::Pitch], ws[L::Tile][L::Tile + 1];
	const int kv = blockIdx.y, group = p.heads / p.kv_heads, base = blockIdx.z * p.t, first = blockIdx.x * L::Tile;
	const int lane = threadIdx.x % 8, own = threadIdx.x / 8 * L::Rows, width = p.heads * p.dim, kv_width = p.kv_heads * p.dim;
	// The rows that see a key of this tile end before this one.
	const int end = p.window > 0 ? min(p.t, first + L::Tile - 1 + p.window) : p.t;
	float acc_k[L::Rows][L::Each], acc_v[L::Rows][L::Each];
	zero(acc_k);
	zero(acc_v);
	load_tile<D>(ks, k, base, first, p.t, kv_width, kv * p.dim, p.dim);
	load_tile<D>(vs, v, base, first, p.t, kv_width, kv * p.dim, p.dim);
	for (int head = kv * group; head < (kv + 1) * group; head++)
		for (int at = first; at < end; at += L::Tile) {
			__syncthreads();
			load_tile<D>(qs, q, base, at, p.t, width, head * p.dim, p.dim);
			load_tile<D>(dys, dy, base, at, p.t, width, head * p.dim, p.dim);
			__syncthreads();
			float s[L::Rows][L::Columns], dp[L::Rows][L::Columns];
			products<D>(s, ks, qs, own, lane);
			products<D>(dp, vs, dys, own, lane);
			u32 seen[L::Rows];
#pragma unroll
			for (int r = 0; r < L::Rows; r++) seen[r] = 0;
#pragma unroll
			for (int c = 0; c < L::Columns; c++) {
				const int i = at + lane + 8 * c;
				const ll row = ((ll)base + min(i, p.t - 1)) * p.heads + head;
				const float row_lse = lse[row], row_dot = dots[row];
#pragma unroll
				for (int r = 0; r < L::Rows; r++) {
					float d;
					ws[own + r][lane + 8 * c] = weight(p, s[r][c], dp[r][c], row_lse, row_dot, d);
					s[r][c] = d;
					if (sees(p, base, i, first + own + r)) seen[r] |= 1u << (lane + 8 * c);
				}
			}
#pragma unroll
			for (int r = 0; r < L::Rows; r++) seen[r] = gather(seen[r]);
			__syncwarp();
			accumulate<D>(acc_v, ws, dys, seen, own, lane);
			__syncwarp();
#pragma unroll
			for (int r = 0; r < L::Rows; r++)
#pragma unroll
				for (int c = 0; c < L::Columns; c++) ws[own + r][lane + 8 * c] = s[r][c];
			__syncwarp();
			accumulate<D>(acc_k, ws, qs, seen, own, lane);
		}
	store_tile<D>(dk, acc_k, base, first + own, p.t, kv_width, kv * p.dim, p.dim, lane);
	store_tile<D>(dv, acc_v, base, first + own, p.t, kv_width, kv * p.dim, p.dim, lane);
}

#define DIMENSION(D)                                                                                                                                    \
	extern "C" __global__ void __launch_bounds__(Layout<D>::Threads)                                                                                \
	    attention_dq_##D(float *dq, const float *q, const float *k, const float *v, const float *dy, const float *lse, const float *dots,           \
	                     const int *documents, int heads, int kv_heads, int dim, int t, int window, float scale, float softcap) {                   \
		attention_dq<D>(dq, q, k, v, dy, lse, dots, Problem{heads, kv_heads, dim, t, window, scale, softcap, documents});                       \
	}                                                                                                                                               \
	extern "C" __global__ void __launch_bounds__(Layout<D>::Threads)                                                                                \
	    attention_dkv_##D(float *dk, float *dv, const float *q, const float *k, const float *v, const float *dy, const float *lse, const float *dots, \
	                      const int *documents, int heads, int kv_heads, int dim, int t, int window, float scale, float softcap) {                  \
		attention_dkv<D>(dk, dv, q, k, v, dy, lse, dots, Problem{heads, kv_heads, dim, t, window, scale, softcap, documents});                  \
	}
DIMENSION(32)
DIMENSION(64)
DIMENSION(128)
DIMENSION(256)
