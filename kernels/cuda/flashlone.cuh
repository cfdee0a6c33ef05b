// One row computed by one warp, element by element in float32, over what it sees and nothing else. The flash attention kernels fall back on it
// for rows whose result is not finite. Lanes hold the elements lane, lane+32, … of a row.
#pragma once
#include "flash.cuh"

// Vector is a lane's part of a row.
template <int D> struct Vector {
	float x[D / 32];
	__device__ __forceinline__ void clear() {
#pragma unroll
		for (int e = 0; e < D / 32; e++) x[e] = 0.f;
	}
	__device__ __forceinline__ void read(const Rows &from, int row) {
		const bf16 *r = from.x + (ll)row * from.stride;
#pragma unroll
		for (int e = 0; e < D / 32; e++) x[e] = LANE + 32 * e < from.dim ? widen(r[LANE + 32 * e]) : 0.f;
	}
	__device__ __forceinline__ float dot(const Vector &y) const {
		float sum = 0.f;
#pragma unroll
		for (int e = 0; e < D / 32; e++) sum = fmaf(x[e], y.x[e], sum);
		return warp_sum(sum);
	}
	// add sets x to a x + b y.
	__device__ __forceinline__ void add(float a, float b, const Vector &y) {
#pragma unroll
		for (int e = 0; e < D / 32; e++) x[e] = a * x[e] + b * y.x[e];
	}
	// write stores elements from … to-1.
	__device__ __forceinline__ void write(bf16 *__restrict__ y, float factor, int from, int to) const {
#pragma unroll
		for (int e = 0; e < D / 32; e++)
			if (LANE + 32 * e >= from && LANE + 32 * e < to) y[LANE + 32 * e] = narrow<bf16>(x[e] * factor);
	}
};

// same says whether two rows of a sequence are of one document.
__device__ __forceinline__ bool same(const Problem &p, int base, int i, int j) {
	return !p.documents || seen_lonedocument(p.documents[base + i], p.documents[base + j]);
}

// LoneRow computes rows of y.
template <int D> struct LoneRow {
	const Problem &p;
	const Scores &scores;
	int base;
	const Rows &queries, &keys, &values;

	__device__ __forceinline__ void attend(bf16 *__restrict__ y, int i) const {
		Vector<D> q, other, acc;
		float top = -INFINITE, sum = 0.f;
		q.read(queries, i);
		acc.clear();
		for (int j = first_seen<1>(p, i); j <= i; j++) {
			if (!same(p, base, i, j)) continue;
			other.read(keys, j);
			const float z = scores.of(q.dot(other)), high = fmaxf(top, z), origin = high == -INFINITE ? 0.f : high;
			const float shrink = high == top ? 1.f : exp2_fast(top - origin), weight = exp2_fast(z - origin);
			top = high;
			sum = sum * shrink + weight;
			other.read(values, j);
			acc.add(shrink, weight, other);
		}
		acc.write(y, 1.f / sum, 0, p.dim);
	}
};
