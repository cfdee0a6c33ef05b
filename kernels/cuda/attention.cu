// Causal attention forward, in float32: tiles of keys and values pass by a tile of queries, with the softmax rescaled on the way (Dao et
// al., FlashAttention, arXiv 2205.14135). Masked elements decide nothing, whatever they hold.
#include "attention.cuh"

// blockIdx.x is the tile of queries, y the head, z the sequence. y and lse may be null.
template <int D>
__device__ __forceinline__ void attention(float *__restrict__ y, float *__restrict__ lse, const float *__restrict__ q, const float *__restrict__ k,
                                          const float *__restrict__ v, const Problem p) {
	typedef Layout<D> L;
	__shared__ float qs[L::Tile][L::Pitch], ks[L::Tile][L::Pitch], vs[L::Tile][L::Pitch], ps[L::Tile][L::Tile + 1];
	const int head = blockIdx.y, kv = head / (p.heads / p.kv_heads), base = blockIdx.z * p.t, first = blockIdx.x * L::Tile;
	const int lane = threadIdx.x % 8, own = threadIdx.x / 8 * L::Rows, width = p.heads * p.dim, kv_width = p.kv_heads * p.dim;
	float acc[L::Rows][L::Each], top[L::Rows], sum[L::Rows];
	zero(acc);
#pragma unroll
	for (int r = 0; r < L::Rows; r++) top[r] = LOWEST, sum[r] = 0.f;
	load_tile<D>(qs, q, base, first, p.t, width, head * p.dim, p.dim);
	for (int at = first_seen<L::Tile>(p, first); at < min(p.t, first + L::Tile); at += L::Tile) {
		__syncthreads(); // the tile before is done with
		load_tile<D>(ks, k, base, at, p.t, kv_width, kv * p.dim, p.dim);
		load_tile<D>(vs, v, base, at, p.t, kv_width, kv * p.dim, p.dim);
		__syncthreads();
		float s[L::Rows][L::Columns];
		products<D>(s, qs, ks, own, lane);
		u32 seen[L::Rows];
#pragma unroll
		for (int r = 0; r < L::Rows; r++) {
			seen[r] = 0;
			float high = top[r], part = 0.f;
#pragma unroll
			for (int c = 0; c < L::Columns; c++) {
				s[r][c] = capped(p.scale * s[r][c], p.softcap);
				if (!sees(p, base, first + own + r, at + lane + 8 * c)) continue;
				seen[r] |= 1u << (lane + 8 * c);
				high = fmaxf(high, s[r][c]);
			}
			seen[r] = gather(seen[r]);
			high = warp_max<8>(high);
			const float shrink = high == top[r] ? 1.f : expf(top[r] - high);
			top[r] = high;
#pragma unroll
			for (int c = 0; c < L::Columns; c++) {
				const float weight = seen[r] >> (lane + 8 * c) & 1 ? expf(s[r][c] - high) : 0.f;
				part += weight;
				ps[own + r][lane + 8 * c] = weight;
			}
			sum[r] = sum[r] * shrink + warp_sum<8>(part);
#pragma unroll
			for (int e = 0; e < L::Each; e++) acc[r][e] *= shrink;
		}
		__syncwarp();
		accumulate<D>(acc, ps, vs, seen, own, lane);
	}
#pragma unroll
	for (int r = 0; r < L::Rows; r++) {
		const int row = first + own + r;
		if (lse && lane == 0 && row < p.t) lse[((ll)base + row) * p.heads + head] = top[r] + logf(sum[r]);
#pragma unroll
		for (int e = 0; e < L::Each; e++) acc[r][e] /= sum[r];
	}
	if (y) store_tile<D>(y, acc, base, first + own, p.t, width, head * p.dim, p.dim, lane);
}

#define DIMENSION(D)                                                                                                                                  \
	extern "C" __global__ void __launch_bounds__(Layout<D>::Threads)                                                                              \
	    attention_##D(float *y, float *lse, const float *q, const float *k, const float *v, const int *documents, int heads, int kv_heads, int dim, \
	                  int t, int window, float scale, float softcap) {                                                                            \
		attention<D>(y, lse, q, k, v, Problem{heads, kv_heads, dim, t, window, scale, softcap, documents});                                   \
	}
DIMENSION(32)
DIMENSION(64)
DIMENSION(128)
DIMENSION(256)
