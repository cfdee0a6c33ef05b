// What all matrix products share: which tile a block computes, and what becomes of the sums. C = op(A) op(B) + bias + residual is row-major;
// ld is the distance of rows in elements.
#pragma once
#include "common.cuh"

// Result says where sums go. A null bias or residual adds nothing; the residual may be c itself, which is how C += is said. It has c's ld.
struct Result {
	void *c;
	const float *bias, *residual;
	int m, n, ld, bfloat; // bfloat: c holds bfloat16, else float
	bool vector;          // rows of c, of the bias and of the residual are aligned to four elements
};

__device__ __forceinline__ Result result_of(void *c, const float *bias, const float *residual, int m, int n, int ld, int bfloat) {
	const bool vector = ((((u64)c | (u64)bias | (u64)residual) & 15) | (ld & 3)) == 0;
	return {c, bias, residual, m, n, ld, bfloat, vector};
}

// Block is the first row and column of a block's tile. Tiles are handed out in bands of eight rows of tiles, column by column, so that blocks
// that run at the same time share what they read.
struct Block {
	int row, column;
};

__device__ __forceinline__ Block block_of(int tile, int m, int n) {
	const int down = ceil_div(m, tile), across = ceil_div(n, tile), band = blockIdx.x / (8 * across), within = blockIdx.x % (8 * across);
	const int height = min(8, down - 8 * band);
	return {(8 * band + within % height) * tile, within / height * tile};
}

// slice_of is the part of 0 … depth that the blocks of this blockIdx.y sum over.
struct Slice {
	int begin, end;
};

__device__ __forceinline__ Slice slice_of(int depth, int length) {
	const int begin = blockIdx.y * length;
	return {begin, min(depth, begin + length)};
}

// quad is x[0 … 3], of which the first `valid` are there; the rest are zero.
__device__ __forceinline__ float4 quad(const float *x, int valid, bool vector) {
	if (vector && valid >= 4) return *(const float4 *)x;
	return make_float4(valid > 0 ? x[0] : 0.f, valid > 1 ? x[1] : 0.f, valid > 2 ? x[2] : 0.f, valid > 3 ? x[3] : 0.f);
}

__device__ __forceinline__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// store_quad writes four elements of a row, aligned; store writes one.
__device__ __forceinline__ void store_quad(const Result &r, ll at, float4 v) {
	if (r.bfloat)
		*(uint2 *)((bf16 *)r.c + at) = make_uint2(pack(v.x, v.y), pack(v.z, v.w));
	else
		*(float4 *)((float *)r.c + at) = v;
}

__device__ __forceinline__ void store(const Result &r, ll at, float v) {
	if (r.bfloat)
		((bf16 *)r.c)[at] = narrow<bf16>(v);
	else
		((float *)r.c)[at] = v;
}

// finish adds the bias and the residual to 64 rows of sums in shared memory and stores them: row i of the 64 is row first + i/32*stride + i%32
// of C, so that the rows of two groups of warps can be treated at once. A thread stays in its columns, and up to four of its residuals are
// under way at the same time.
template <int Columns, int Pitch, int Threads>
__device__ __forceinline__ void finish(const Result &r, const float *sums, int first, int stride, int column) {
	if (!r.vector || column + Columns > r.n) {
		const int x = threadIdx.x % Columns, q = column + x;
		if (q >= r.n) return;
#pragma unroll 2
		for (int i = threadIdx.x / Columns; i < 64; i += Threads / Columns) {
			const int row = first + i / 32 * stride + i % 32;
			if (row >= r.m) continue;
			const ll at = (ll)row * r.ld + q;
			float v = sums[i * Pitch + x];
			if (r.bias) v += r.bias[q];
			if (r.residual) v += r.residual[at];
			store(r, at, v);
		}
		return;
	}
	constexpr int Across = Columns / 4, Step = Threads / Across, Batch = 64 / Step < 4 ? 64 / Step : 4;
	const int x = threadIdx.x % Across * 4;
	const float4 zero = make_float4(0.f, 0.f, 0.f, 0.f), bias = r.bias ? *(const float4 *)(r.bias + column + x) : zero;
#pragma unroll 1
	for (int i = threadIdx.x / Across; i < 64; i += Batch * Step) {
		float4 more[Batch];
		ll at[Batch];
		bool inside[Batch];
#pragma unroll
		for (int k = 0; k < Batch; k++) {
			const int j = i + k * Step, row = first + j / 32 * stride + j % 32;
			at[k] = (ll)row * r.ld + column + x, inside[k] = row < r.m;
			more[k] = r.residual && inside[k] ? *(const float4 *)(r.residual + at[k]) : zero;
		}
#pragma unroll
		for (int k = 0; k < Batch; k++)
			if (inside[k]) store_quad(r, at[k], *(const float4 *)(sums + (i + k * Step) * Pitch + x) + bias + more[k]);
	}
}
