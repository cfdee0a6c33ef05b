// The first stage of sums over rows.
#pragma once
#include "vectors.cuh"

// column_partial sums value(v, row, column), N columns from one on, over the rows [blockIdx.y * strip, … + strip) for 32 N columns. The block has
// 256 threads: 8 rows at a time, whose sums are added in order at the end. Columns that are not there are not stored. A kernel calls it once
// for each type of value.
template <int N, class Value> __device__ __forceinline__ void column_partial(float *__restrict__ partial, Value value, int rows, int columns, int strip) {
	__shared__ float part[8][N][32];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32, column = (blockIdx.x * 32 + x) * N;
	const int first = blockIdx.y * strip, end = min(rows, first + strip);
	float sum[N] = {};
	if (column < columns) {
#pragma unroll 4
		for (int row = first + y; row < end; row += 8) {
			float v[N];
			value(v, row, column);
#pragma unroll
			for (int k = 0; k < N; k++) sum[k] += v[k];
		}
	}
#pragma unroll
	for (int k = 0; k < N; k++) part[y][k][x] = sum[k];
	__syncthreads();
	for (int k = y; k < N; k += 8) { // each warp adds up other columns
		float total = part[0][k][x];
#pragma unroll
		for (int r = 1; r < 8; r++) total += part[r][k][x];
		if (column + k < columns) partial[(ll)blockIdx.y * columns + column + k] = total;
	}
}

// load_columns reads N columns of a row at p, of which only some may be there; many says that they all are and are aligned.
template <int N, class T> __device__ __forceinline__ void load_columns(float (&v)[N], const T *p, int there, bool many) {
	if (many) {
		load(v, p);
		return;
	}
#pragma unroll
	for (int k = 0; k < N; k++) v[k] = k < there ? widen(p[k]) : 0.f;
}
