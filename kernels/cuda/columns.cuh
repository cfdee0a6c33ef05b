// The first stage of sums over rows.
#pragma once
#include "common.cuh"

// column_partial sums value(row, column) over the rows [blockIdx.y * strip, … + strip) for 32 columns. The block has 256 threads: 8 rows at
// a time, whose sums are added in order at the end. A kernel calls it once for each type of value.
template <class Value> __device__ __forceinline__ void column_partial(float *__restrict__ partial, Value value, int rows, int columns, int strip) {
	__shared__ float part[8][33];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32, column = blockIdx.x * 32 + x;
	const int first = blockIdx.y * strip, end = min(rows, first + strip);
	float sum = 0.f;
	if (column < columns)
		for (int row = first + y; row < end; row += 8) sum += value(row, column);
	part[y][x] = sum;
	__syncthreads();
	if (y == 0 && column < columns) {
#pragma unroll
		for (int k = 1; k < 8; k++) sum += part[k][x];
		partial[(ll)blockIdx.y * columns + column] = sum;
	}
}
