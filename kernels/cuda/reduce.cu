// Sums over rows, in two fixed stages: each block sums a strip of rows for some columns, then the strips are added up.
#include "columns.cuh"

template <class T> struct Plain {
	static constexpr int N = wide<T>;
	const T *x;
	int columns;
	bool many;
	__device__ __forceinline__ Plain(const T *x, int columns) : x(x), columns(columns), many(columns % N == 0 && aligned<N>(x)) {}
	__device__ __forceinline__ void operator()(float (&v)[N], int row, int column) const {
		load_columns(v, x + (ll)row * columns + column, columns - column, many);
	}
};

// partial[strip, c] = the sum over the strip's rows of x[row, c]
#define SUMROWS(T)                                                                                                                                   \
	extern "C" __global__ void __launch_bounds__(256) sumrows_partial_##T(float *__restrict__ partial, const TYPE_##T *__restrict__ x, int rows, \
	                                                                      int columns, int strip) {                                              \
		column_partial<wide<TYPE_##T>>(partial, Plain<TYPE_##T>(x, columns), rows, columns, strip);                                          \
	}
ONE_TYPE(SUMROWS)

// s[c] = the sum of partial[:, c], for 32 columns a block: 32 strips at a time, whose sums are added in order at the end. The second row of
// blocks, where there is one, does the same for a second array that lies behind the first.
extern "C" __global__ void __launch_bounds__(1024) column_total(float *__restrict__ s, float *__restrict__ second, const float *__restrict__ partial,
                                                                int strips, int columns) {
	__shared__ float part[32][33];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32, c = blockIdx.x * 32 + x;
	partial += (ll)blockIdx.y * strips * columns;
	float sum = 0.f;
	if (c < columns) {
#pragma unroll 4
		for (int i = y; i < strips; i += 32) sum += partial[(ll)i * columns + c];
	}
	part[y][x] = sum;
	__syncthreads();
	if (y != 0 || c >= columns) return;
#pragma unroll
	for (int k = 1; k < 32; k++) sum += part[k][x];
	(blockIdx.y ? second : s)[c] = sum;
}
