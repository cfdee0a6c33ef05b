// Sums over rows, in two fixed stages: each block sums a strip of rows for 32 columns, then one thread a column adds the strips in order.
#include "columns.cuh"

struct Plain {
	const float *x;
	int columns;
	__device__ __forceinline__ float operator()(int row, int column) const { return x[(ll)row * columns + column]; }
};

// partial[strip, c] = the sum over the strip's rows of x[row, c]
extern "C" __global__ void __launch_bounds__(256) sumrows_partial(float *__restrict__ partial, const float *__restrict__ x, int rows, int columns, int strip) {
	column_partial(partial, Plain{x, columns}, rows, columns, strip);
}

// s[c] = the sum of partial[:, c]
extern "C" __global__ void column_total(float *__restrict__ s, const float *__restrict__ partial, int strips, int columns) {
	const int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= columns) return;
	float sum = 0.f;
	for (int i = 0; i < strips; i++) sum += partial[(ll)i * columns + c];
	s[c] = sum;
}
