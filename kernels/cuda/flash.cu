// Causal attention forward in bfloat16 on tensor cores (Dao et al., FlashAttention, arXiv 2205.14135, and FlashAttention-2, arXiv 2307.08691):
// products are of bfloat16, and scores, softmax and sums float32. Weights are at most 1 and are rounded to bfloat16 for their product with
// v; what they are divided by is the sum of those before rounding.
//
// A row whose result is not finite is computed again, element by element: the product of a tile's zero weight with an infinity is NaN, but
// what a row does not see must decide nothing.
#include "flashlone.cuh"

// Forward is how a block treats head dimensions up to D: the tile of queries, and two tiles each of keys and values, one under way.
template <int D> struct Forward {
	static constexpr int M = D <= 128 ? 2 : 1;
	static constexpr int Queries = 64 * M;
	static constexpr int Keys = D <= 64 ? 64 : 32;
};

// Softmax is the state of a warp's rows: the largest score so far and this thread's part of the sum of weights.
template <int M> struct Softmax {
	float top[M][2], sum[M][2];
	__device__ __forceinline__ Softmax() {
#pragma unroll
		for (int m = 0; m < M; m++)
#pragma unroll
			for (int h = 0; h < 2; h++) top[m][h] = -INFINITE, sum[m][h] = 0.f;
	}
};

// weigh turns scores to weights relative to the largest of their row, and scales down what was summed relative to a smaller one.
template <int M, int N, int W> __device__ __forceinline__ void weigh(float (&z)[M][N][4], Softmax<M> &s, float (&acc)[M][W][4]) {
	float shrink[M][2];
	bool changed = false;
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float high = s.top[m][h], part = 0.f;
#pragma unroll
			for (int n = 0; n < N; n++) high = fmaxf(high, fmaxf(z[m][n][2 * h], z[m][n][2 * h + 1]));
			high = warp_max<4>(high);
			const float origin = high == -INFINITE ? 0.f : high; // no key was seen yet
			shrink[m][h] = high == s.top[m][h] ? 1.f : exp2_fast(s.top[m][h] - origin);
			changed |= shrink[m][h] != 1.f;
			s.top[m][h] = high;
#pragma unroll
			for (int n = 0; n < N; n++)
#pragma unroll
				for (int e = 2 * h; e < 2 * h + 2; e++) part += z[m][n][e] = exp2_fast(z[m][n][e] - origin);
			s.sum[m][h] = s.sum[m][h] * shrink[m][h] + part;
		}
	if (!__any_sync(FULL, changed)) return;
	EACH(M, W, acc[m][n][e] *= shrink[m][e / 2])
}

// finish writes the results of a warp's rows. y and lse may be null.
template <int D, int M>
__device__ __forceinline__ void finish(const Rows &y, float *__restrict__ lse, float (&acc)[M][D / 8][4], Softmax<M> &s, const Problem &p, bf16 *tile, int base,
                                       int first, int head, const LoneRow<D> &lone) {
	float factor[M][2];
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			const int row = first + WARP * 16 * M + 16 * m + 8 * h + LANE / 4;
			const float sum = warp_sum<4>(s.sum[m][h]);
			factor[m][h] = 1.f / sum;
			if (lse && row < p.t && LANE % 4 == 0) lse[((ll)base + row) * p.heads + head] = LN2 * (s.top[m][h] + log2f(sum));
		}
	if (!y.x) return;
	const u32 rows = broken(acc);
	__syncwarp();
	store<D>(y, first, acc, factor, rows, tile);
	for (int r = 0; rows && r < 16 * M; r++) {
		const int row = first + WARP * 16 * M + r;
		if (rows >> r & 1 && row < p.t) lone.attend((bf16 *)y.x + (ll)row * y.stride, row);
	}
}

// blockIdx.x is the tile of queries, the last one first as it has most to do, y the head, z the sequence. y and lse may be null.
template <int D>
__device__ __forceinline__ void attention(bf16 *__restrict__ y, float *__restrict__ lse, const bf16 *__restrict__ q, const bf16 *__restrict__ k,
                                          const bf16 *__restrict__ v, const Problem p, bool aligned) {
	typedef Forward<D> F;
	extern __shared__ uint4 shared[];
	bf16 *qs = (bf16 *)shared, *stages = qs + F::Queries * D;
	const int head = blockIdx.y, kv = head / (p.heads / p.kv_heads), base = blockIdx.z * p.t, first = (gridDim.x - 1 - blockIdx.x) * F::Queries;
	const int width = p.heads * p.dim, kv_width = p.kv_heads * p.dim, own = first + WARP * 16 * F::M, end = min(p.t, first + F::Queries);
	const ll at_q = (ll)base * width + head * p.dim, at_kv = (ll)base * kv_width + kv * p.dim;
	const Rows queries{q + at_q, p.t, width, p.dim, aligned}, keys{k + at_kv, p.t, kv_width, p.dim, aligned}, values{v + at_kv, p.t, kv_width, p.dim, aligned};
	const Scores scores(p);
	float acc[F::M][D / 8][4];
	Softmax<F::M> state;
	EACH(F::M, D / 8, acc[m][n][e] = 0.f)
	const Ids ids = p.documents ? ids_of<F::Queries>(p, base, first) : Ids{0, 0};
	auto fetch = [&](const Pass<F::Keys> &tile, int stage) {
		if (tile.at < end) {
			load<D, F::Keys>(stages + 2 * stage * F::Keys * D, keys, tile.at);
			load<D, F::Keys>(stages + (2 * stage + 1) * F::Keys * D, values, tile.at);
		}
		copies_commit();
	};
	Pass<F::Keys> now{first_seen<F::Keys>(p, first), false};
	now.seek(p, base, ids, end);
	load<D, F::Queries>(qs, queries, first);
	fetch(now, 0);
	for (int stage = 0; now.at < end; stage ^= 1) {
		Pass<F::Keys> next{now.at + F::Keys, false};
		next.seek(p, base, ids, end);
		copies_wait<0>();
		__syncthreads(); // this tile is there, and the one before is done with
		fetch(next, stage ^ 1);
		if (!far(p, own, 16 * F::M, now.at, F::Keys)) {
			float z[F::M][F::Keys / 8][4];
			products<D>(z, qs, stages + 2 * stage * F::Keys * D);
			scores.all(z);
			mask<false>(z, p, base, own + LANE / 4, now.at + LANE % 4 * 2, edged(p, own, 16 * F::M, now.at, F::Keys), now.mixed);
			weigh(z, state, acc);
			accumulate<D>(acc, z, stages + (2 * stage + 1) * F::Keys * D);
		}
		now = next;
	}
	finish<D>(Rows{y ? y + at_q : y, p.t, width, p.dim, aligned}, lse, acc, state, p, qs, base, first, head, LoneRow<D>{p, scores, base, queries, keys, values});
}

#define DIMENSION(D)                                                                                                                                    \
	extern "C" __global__ void __launch_bounds__(THREADS)                                                                                               \
	    flash_##D(bf16 *y, float *lse, const bf16 *q, const bf16 *k, const bf16 *v, const int *documents, int heads, int kv_heads, int dim, int t,       \
	              int window, float scale, float softcap, int aligned) {                                                                                   \
		attention<D>(y, lse, q, k, v, Problem{heads, kv_heads, dim, t, window, scale, softcap, documents}, aligned);                                     \
	}
DIMENSION(32)
DIMENSION(64)
DIMENSION(96)
DIMENSION(128)
DIMENSION(256)
