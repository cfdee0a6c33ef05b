// What the backward kernels of bfloat16 attention share: the call, ds, and rows of dq, dk and dv computed by one warp (flashlone.cuh).
#pragma once
#include "flashlone.cuh"

// Gradient is the part of a gradient call that a block works on.
struct Gradient {
	Problem p;
	Scores scores;
	const float *lse, *dots; // [rows, heads]
	Rows q, k, v, dy;        // of this sequence; q and dy at the head's first element once it is known
	int base;

	__device__ __forceinline__ Gradient(const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *dy, const float *lse, const float *dots, const Problem &p, int kv,
	                                    bool aligned)
	    : p(p), scores(p), lse(lse), dots(dots), base(blockIdx.z * p.t) {
		const int width = p.heads * p.dim, kv_width = p.kv_heads * p.dim;
		const ll at = (ll)base * width, at_kv = (ll)base * kv_width + kv * p.dim;
		this->q = Rows{q + at, p.t, width, p.dim, aligned}, this->dy = Rows{dy + at, p.t, width, p.dim, aligned};
		this->k = Rows{k + at_kv, p.t, kv_width, p.dim, aligned}, this->v = Rows{v + at_kv, p.t, kv_width, p.dim, aligned};
	}
	// of_head is the rows of one query head.
	__device__ __forceinline__ Rows of_head(const Rows &x, int head) const { return Rows{x.x + head * p.dim, x.t, x.stride, x.dim, x.aligned}; }
	__device__ __forceinline__ ll statistic(int row, int head) const { return ((ll)base + row) * p.heads + head; }
	// load_statistics starts to copy lse and dots of N rows of a head, zeros past the sequence: p is 1 there, but q and dy are zero.
	template <int N> __device__ __forceinline__ void load_statistics(float *to, int first, int head) const {
		const int e = threadIdx.x, row = first + e % N;
		if (e < 2 * N) copy_4(to + e, (e < N ? lse : dots) + statistic(min(row, p.t - 1), head), row < p.t ? 4 : 0);
	}
};

// differ turns a score to the weight p and dp to ds, without the scale. A score is never above the log-sum-exp of its row, so that what is has
// been rounded, by more than an exponential can bear where scores are huge: it counts as 0. The comparison lets a NaN pass.
__device__ __forceinline__ void differ(float &z, float &dp, float lse2, float dot, bool capped, const Scores &scores) {
	const float below = z - lse2, w = exp2_fast(below > 0.f ? 0.f : below);
	dp = w * (dp - dot);
	if (capped) dp *= scores.slope(z);
	z = w;
}

// differ_lone is differ of a pair of rows that see each other; it returns p and sets ds.
template <int D>
__device__ __forceinline__ float differ_lone(const Gradient &g, const Vector<D> &q, const Vector<D> &k, const Vector<D> &v, const Vector<D> &dy, ll statistic, float &ds) {
	float z = g.scores.of(q.dot(k));
	ds = dy.dot(v);
	differ(z, ds, LOG2E * g.lse[statistic], g.dots[statistic], g.p.softcap > 0.f, g.scores);
	return z;
}

// lone_dq computes row i of dq of one head.
template <int D> __device__ __forceinline__ void lone_dq(bf16 *__restrict__ dq, const Gradient &g, const Rows &qs, const Rows &dys, int i, int head) {
	Vector<D> q, k, v, dy, acc;
	q.read(qs, i), dy.read(dys, i), acc.clear();
	for (int j = first_seen<1>(g.p, i); j <= i; j++) {
		if (!same(g.p, g.base, i, j)) continue;
		float ds;
		k.read(g.k, j), v.read(g.v, j);
		differ_lone(g, q, k, v, dy, g.statistic(i, head), ds);
		acc.add(1.f, ds, k);
	}
	acc.write(dq, g.p.scale, 0, g.p.dim);
}

// lone_dkv computes columns from … to-1 of row j of dk and dv, summed over heads.
template <int D>
__device__ __forceinline__ void lone_dkv(bf16 *__restrict__ dk, bf16 *__restrict__ dv, const Gradient &g, int j, int head, int heads, int from, int to) {
	Vector<D> q, k, v, dy, acc_k, acc_v;
	k.read(g.k, j), v.read(g.v, j), acc_k.clear(), acc_v.clear();
	const int end = g.p.window > 0 ? min(g.p.t, j + g.p.window) : g.p.t;
	for (; head < heads; head++)
		for (int i = j; i < end; i++) {
			if (!same(g.p, g.base, i, j)) continue;
			float ds;
			q.read(g.of_head(g.q, head), i), dy.read(g.of_head(g.dy, head), i);
			const float w = differ_lone(g, q, k, v, dy, g.statistic(i, head), ds);
			acc_k.add(1.f, ds, q), acc_v.add(1.f, w, dy);
		}
	acc_k.write(dk, g.p.scale, from, min(to, g.p.dim)), acc_v.write(dv, 1.f, from, min(to, g.p.dim));
}
