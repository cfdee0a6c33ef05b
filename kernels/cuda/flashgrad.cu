// Causal attention backward in bfloat16 on tensor cores, without atomics (Dao et al., FlashAttention-2, arXiv 2307.08691): one kernel owns a
// tile of queries and sums dq over keys, one owns a tile of keys and sums dk and dv over the queries of all heads that read it, in order.
//
//	p = exp(s - lse);  ds = p (dy·v - y·dy) softcap'(s);  dq = scale ds k;  dk = scale dsᵀ q;  dv = pᵀ dy
//
// Products are of bfloat16, to which p and ds are rounded for theirs, and all else is float32. A row whose result is not finite is computed
// again, element by element, as in the forward kernel.
#include "flashgrad.cuh"

// Backward is how a block treats head dimensions up to D: rows of its own tile, of the tiles that pass by and how many of them it holds. The
// sums of dk and dv of the largest dimensions do not fit in registers: blocks of their own sum each part of the columns.
template <int D> struct Backward {
	static constexpr int Own = 64;
	static constexpr int Passing = D <= 64 ? 64 : 32;
	static constexpr int Stages = D <= 128 ? 2 : 1;
	static constexpr int Parts = D <= 128 ? 1 : 2;
	static constexpr int Tile = Passing * D;
};

// dots[row, head] = y·dy. One group of eight lanes a row and head.
extern "C" __global__ void __launch_bounds__(256) flash_dots(float *__restrict__ dots, const bf16 *__restrict__ y, const bf16 *__restrict__ dy, int dim, ll n, int aligned) {
	const ll at = (blockIdx.x * (ll)256 + threadIdx.x) / 8;
	float sum = 0.f;
	if (at < n)
		for (int d = threadIdx.x % 8 * 8; d < dim; d += 64) {
			const bf16 *a = y + at * dim + d, *b = dy + at * dim + d;
			const uint4 u = aligned ? *(const uint4 *)a : gather_8(a, dim - d), v = aligned ? *(const uint4 *)b : gather_8(b, dim - d);
			const u32 x[4] = {u.x, u.y, u.z, u.w}, z[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
			for (int i = 0; i < 4; i++) {
				sum = fmaf(__uint_as_float(x[i] << 16), __uint_as_float(z[i] << 16), sum);
				sum = fmaf(__uint_as_float(x[i] & 0xffff0000u), __uint_as_float(z[i] & 0xffff0000u), sum);
			}
		}
	sum = warp_sum<8>(sum);
	if (at < n && threadIdx.x % 8 == 0) dots[at] = sum;
}

// pairs sets z to the masked scores and dp to dy·v of a warp's own rows with the rows of a tile that passes by. Own rows are queries, and lie
// in two tiles after each other, q and dy; passing ones are keys, k and v; or with Turned the other way round.
template <int D, bool Turned, int N>
__device__ __forceinline__ void pairs(float (&z)[1][N / 8][4], float (&dp)[1][N / 8][4], const Gradient &g, const bf16 *mine, const bf16 *passing, int own, const Pass<N> &tile) {
	products<D>(z, mine, passing);
	products<D>(dp, mine + Backward<D>::Own * D, passing + N * D);
	g.scores.all(z);
	const bool edge = Turned ? edged(g.p, tile.at, N, own, 16) : edged(g.p, own, 16, tile.at, N);
	mask<Turned>(z, g.p, g.base, own + LANE / 4, tile.at + LANE % 4 * 2, edge, tile.mixed);
}

// blockIdx as in the forward kernel.
template <int D> __device__ __forceinline__ void attention_dq(bf16 *__restrict__ dq, const Gradient &g, int head) {
	typedef Backward<D> B;
	extern __shared__ uint4 shared[];
	bf16 *qs = (bf16 *)shared, *dys = qs + B::Own * D, *stages = dys + B::Own * D;
	const Problem &p = g.p;
	const Rows q = g.of_head(g.q, head), dy = g.of_head(g.dy, head);
	const int first = (gridDim.x - 1 - blockIdx.x) * B::Own, own = first + WARP * 16, end = min(p.t, first + B::Own);
	float acc[1][D / 8][4], lse[2], dot[2];
	EACH(1, D / 8, acc[m][n][e] = 0.f)
#pragma unroll
	for (int h = 0; h < 2; h++) {
		const ll at = g.statistic(min(own + 8 * h + LANE / 4, p.t - 1), head);
		lse[h] = g.lse[at] * LOG2E, dot[h] = g.dots[at];
	}
	const Ids ids = p.documents ? ids_of<B::Own>(p, g.base, first) : Ids{0, 0};
	auto fetch = [&](const Pass<B::Passing> &tile, int stage) {
		if (tile.at < end) {
			load<D, B::Passing>(stages + 2 * stage * B::Tile, g.k, tile.at);
			load<D, B::Passing>(stages + (2 * stage + 1) * B::Tile, g.v, tile.at);
		}
		copies_commit();
	};
	Pass<B::Passing> now{first_seen<B::Passing>(p, first), false};
	now.seek(p, g.base, ids, end);
	load<D, B::Own>(qs, q, first);
	load<D, B::Own>(dys, dy, first);
	fetch(now, 0);
	for (int stage = 0; now.at < end; stage ^= B::Stages - 1) {
		Pass<B::Passing> next{now.at + B::Passing, false};
		next.seek(p, g.base, ids, end);
		copies_wait<0>();
		__syncthreads(); // this tile is there, and the one before is done with
		if (B::Stages == 2) fetch(next, stage ^ 1);
		if (!far(p, own, 16, now.at, B::Passing)) {
			const bf16 *ks = stages + 2 * stage * B::Tile;
			float z[1][B::Passing / 8][4], ds[1][B::Passing / 8][4];
			pairs<D, false>(z, ds, g, qs, ks, own, now);
			EACH(1, B::Passing / 8, differ(z[m][n][e], ds[m][n][e], lse[e / 2], dot[e / 2], p.softcap > 0.f, g.scores))
			accumulate<D>(acc, ds, ks);
		}
		if (B::Stages == 1) {
			__syncthreads();
			fetch(next, 0);
		}
		now = next;
	}
	const Rows to{dq + (ll)g.base * g.q.stride + head * p.dim, p.t, g.q.stride, p.dim, q.aligned};
	const float factor[1][2] = {{p.scale, p.scale}};
	const u32 rows = broken(acc);
	if (B::Stages == 2) __syncwarp(); // else the last barrier did it
	store<D>(to, first, acc, factor, rows, qs);
	for (int r = 0; rows && r < 16; r++)
		if (rows >> r & 1 && own + r < p.t) lone_dq<D>((bf16 *)to.x + (ll)(own + r) * to.stride, g, q, dy, own + r, head);
}

// Step is a tile of queries of one head that passes by a tile of keys.
template <int N> struct Step {
	int head;
	Pass<N> tile;
	// seek goes on to the next tile before end that sees a key of the own tile, which starts at `first`, of this head or of those before `heads`.
	__device__ __forceinline__ void seek(const Problem &p, int base, const Ids &own, int first, int end, int heads) {
		tile.seek(p, base, own, end);
		if (tile.at < end) return;
		head++;
		tile.at = first;
		if (head < heads) tile.seek(p, base, own, end);
	}
};

// blockIdx.x is the tile of keys and the part of the columns, y the key head, z the sequence.
template <int D> __device__ __forceinline__ void attention_dkv(bf16 *__restrict__ dk, bf16 *__restrict__ dv, const Gradient &g, int kv) {
	typedef Backward<D> B;
	constexpr int W = D / 8 / B::Parts;
	extern __shared__ uint4 shared[];
	bf16 *ks = (bf16 *)shared, *vs = ks + B::Own * D, *stages = vs + B::Own * D;
	float *statistics = (float *)(stages + 2 * B::Stages * B::Tile);
	const Problem &p = g.p;
	const int first = blockIdx.x / B::Parts * B::Own, own = first + WARP * 16, from = blockIdx.x % B::Parts * W, group = p.heads / p.kv_heads;
	// The rows that see a key of this tile end before this one.
	const int end = p.window > 0 ? min(p.t, first + B::Own - 1 + p.window) : p.t, heads = (kv + 1) * group;
	float acc_k[1][W][4], acc_v[1][W][4];
	EACH(1, W, acc_k[m][n][e] = acc_v[m][n][e] = 0.f)
	const Ids ids = p.documents ? ids_of<B::Own>(p, g.base, first) : Ids{0, 0};
	auto fetch = [&](const Step<B::Passing> &step, int stage) {
		if (step.head < heads) {
			load<D, B::Passing>(stages + 2 * stage * B::Tile, g.of_head(g.q, step.head), step.tile.at);
			load<D, B::Passing>(stages + (2 * stage + 1) * B::Tile, g.of_head(g.dy, step.head), step.tile.at);
			g.load_statistics<B::Passing>(statistics + 2 * stage * B::Passing, step.tile.at, step.head);
		}
		copies_commit();
	};
	Step<B::Passing> now{kv * group, {first, false}};
	now.seek(p, g.base, ids, first, end, heads);
	load<D, B::Own>(ks, g.k, first);
	load<D, B::Own>(vs, g.v, first);
	fetch(now, 0);
	for (int stage = 0; now.head < heads; stage ^= B::Stages - 1) {
		Step<B::Passing> next{now.head, {now.tile.at + B::Passing, false}};
		next.seek(p, g.base, ids, first, end, heads);
		copies_wait<0>();
		__syncthreads(); // this tile is there, and the one before is done with
		if (B::Stages == 2) fetch(next, stage ^ 1);
		if (!far(p, now.tile.at, B::Passing, own, 16)) {
			const bf16 *qs = stages + 2 * stage * B::Tile;
			const float *lse = statistics + 2 * stage * B::Passing + LANE % 4 * 2, *dot = lse + B::Passing;
			float z[1][B::Passing / 8][4], ds[1][B::Passing / 8][4];
			pairs<D, true>(z, ds, g, ks, qs, own, now.tile);
			EACH(1, B::Passing / 8, differ(z[m][n][e], ds[m][n][e], LOG2E * lse[8 * n + e % 2], dot[8 * n + e % 2], p.softcap > 0.f, g.scores))
			accumulate<D>(acc_v, z, qs + B::Tile, from);
			accumulate<D>(acc_k, ds, qs, from);
		}
		if (B::Stages == 1) {
			__syncthreads();
			fetch(next, 0);
		}
		now = next;
	}
	const ll at = (ll)g.base * g.k.stride + kv * p.dim;
	const Rows to_k{dk + at, p.t, g.k.stride, p.dim, g.k.aligned}, to_v{dv + at, p.t, g.k.stride, p.dim, g.k.aligned};
	const float scale[1][2] = {{p.scale, p.scale}}, one[1][2] = {{1.f, 1.f}};
	const u32 rows = broken(acc_k) | broken(acc_v);
	if (B::Stages == 2) __syncwarp(); // else the last barrier did it
	store<D>(to_k, first, acc_k, scale, rows, ks, from);
	store<D>(to_v, first, acc_v, one, rows, vs, from);
	for (int r = 0; rows && r < 16; r++)
		if (rows >> r & 1 && own + r < p.t)
			lone_dkv<D>((bf16 *)to_k.x + (ll)(own + r) * to_k.stride, (bf16 *)to_v.x + (ll)(own + r) * to_v.stride, g, own + r, kv * group, heads, 8 * from,
			            8 * (from + W));
}

#define ARGUMENTS                                                                                                                                     \
	const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *dy, const float *lse, const float *dots, const int *documents, int heads, int kv_heads,   \
	    int dim, int t, int window, float scale, float softcap, int aligned
#define GRADIENT(KV) Gradient(q, k, v, dy, lse, dots, Problem{heads, kv_heads, dim, t, window, scale, softcap, documents}, KV, aligned)
#define DIMENSION(D)                                                                                          \
	extern "C" __global__ void __launch_bounds__(THREADS) flash_dq_##D(bf16 *dq, ARGUMENTS) {                \
		attention_dq<D>(dq, GRADIENT(blockIdx.y / (heads / kv_heads)), blockIdx.y);                          \
	}                                                                                                         \
	extern "C" __global__ void __launch_bounds__(THREADS) flash_dkv_##D(bf16 *dk, bf16 *dv, ARGUMENTS) {     \
		attention_dkv<D>(dk, dv, GRADIENT(blockIdx.y), blockIdx.y);                                          \
	}
DIMENSION(32)
DIMENSION(64)
DIMENSION(96)
DIMENSION(128)
DIMENSION(256)
