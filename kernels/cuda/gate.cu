// Gate and DyT, and their gradients: a factor, or gain tanh(alpha x) + bias, for each element of runs of d. The letters X and Y are the types
// of x and of the result; a gradient's dx has the type of x and dy one of its own.
#include "common.cuh"

// pass runs over the elements of this thread: rows have a warp each, and its lanes the columns.
#define PASS(row, i, rows, columns)                                                                          \
	for (int row = blockIdx.x * 8 + threadIdx.x / 32; row < (rows); row += gridDim.x * 8)                \
		for (int i = threadIdx.x % 32; i < (columns); i += 32)

// y[n, i] = g[i mod d] x[n, i]
template <class X, class Y>
__device__ __forceinline__ void gate(Y *__restrict__ y, const X *__restrict__ x, const float *__restrict__ g, int rows, int columns, int d) {
	PASS(n, i, rows, columns) {
		const ll at = (ll)n * columns + i;
		y[at] = narrow<Y>(g[i % d] * widen(x[at]));
	}
}

// y[n, i] = gain[i] tanh(alpha x[n, i]) + bias[i] on runs of d
template <class X, class Y>
__device__ __forceinline__ void dyt(Y *__restrict__ y, const X *__restrict__ x, const float *__restrict__ alpha, const float *__restrict__ gain,
                                    const float *__restrict__ bias, int runs, int d) {
	const float a = *alpha;
	PASS(n, i, runs, d) {
		const ll at = (ll)n * d + i;
		y[at] = narrow<Y>(gain[i] * tanhf(a * widen(x[at])) + bias[i]);
	}
}

// strip_sum adds what the 8 threads of a column have, in order, and stores it as the strip's. Every thread of the block calls it, each call
// with a Slot of its own.
template <int Slot> __device__ __forceinline__ void strip_sum(float *__restrict__ partial, float sum, int columns) {
	__shared__ float part[8][33];
	const int x = threadIdx.x % 32, y = threadIdx.x / 32, column = blockIdx.x * 32 + x;
	part[y][x] = sum;
	__syncthreads();
	if (y > 0 || column >= columns) return;
#pragma unroll
	for (int k = 1; k < 8; k++) sum += part[k][x];
	partial[(ll)blockIdx.y * columns + column] = sum;
}

// STRIP runs over the rows of a strip in a column of this thread; 8 threads share a column.
#define STRIP(n, column, rows, columns, strip)                                                                                         \
	const int column = blockIdx.x * 32 + threadIdx.x % 32;                                                                         \
	if (column < (columns))                                                                                                        \
		for (int n = blockIdx.y * (strip) + threadIdx.x / 32, end = min(rows, (int)(blockIdx.y + 1) * (strip)); n < end; n += 8)

// dx = g dy; partial[strip, i] = the sum over the strip's rows of x dy
template <class X, class Y>
__device__ __forceinline__ void gate_grad(X *__restrict__ dx, float *__restrict__ partial, const X *__restrict__ x, const float *__restrict__ g,
                                          const Y *__restrict__ dy, int rows, int columns, int d, int strip) {
	float sum = 0.f;
	STRIP(n, i, rows, columns, strip) {
		const ll at = (ll)n * columns + i;
		const float up = widen(dy[at]);
		dx[at] = narrow<X>(g[i % d] * up);
		sum += widen(x[at]) * up;
	}
	strip_sum<0>(partial, sum, columns);
}

// With h = tanh(alpha x) and s = dy gain (1 - h²): dx = alpha s, and the sums over the strip's runs: gain of dy h, bias of dy for each column,
// slope of s x for each block.
template <class X, class Y>
__device__ __forceinline__ void dyt_grad(X *__restrict__ dx, float *__restrict__ slope, float *__restrict__ gain, float *__restrict__ bias,
                                         const X *__restrict__ x, const float *__restrict__ alpha, const float *__restrict__ g,
                                         const Y *__restrict__ dy, int runs, int d, int strip) {
	const float a = *alpha;
	float sum = 0.f, dgain = 0.f, dbias = 0.f;
	STRIP(n, i, runs, d, strip) {
		const ll at = (ll)n * d + i;
		const float v = widen(x[at]), up = widen(dy[at]), h = tanhf(a * v), s = up * g[i] * ((1.f - h) * (1.f + h));
		dx[at] = narrow<X>(a * s);
		sum += s * v;
		dgain += up * h;
		dbias += up;
	}
	const float total = block_sum<256>(sum);
	if (threadIdx.x == 0) slope[(ll)blockIdx.y * gridDim.x + blockIdx.x] = total;
	strip_sum<0>(gain, dgain, d);
	strip_sum<1>(bias, dbias, d);
}

// y[j] = the sum of x[j], x[j+d], x[j+2d] … below n: a block for each j.
extern "C" __global__ void __launch_bounds__(256) fold(float *__restrict__ y, const float *__restrict__ x, int n, int d) {
	float sum = 0.f;
	for (int i = blockIdx.x + d * threadIdx.x; i < n; i += d * 256) sum += x[i];
	sum = block_sum<256>(sum);
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

#define TYPES(x, X, y, Y)                                                                                                                             \
	extern "C" __global__ void __launch_bounds__(256) gate_##x##_##y(Y *out, const X *in, const float *g, int rows, int columns, int d) {         \
		gate(out, in, g, rows, columns, d);                                                                                                   \
	}                                                                                                                                             \
	extern "C" __global__ void __launch_bounds__(256) gate_grad_##x##_##y(X *dx, float *partial, const X *in, const float *g, const Y *dy,        \
	                                                                      int rows, int columns, int d, int strip) {                              \
		gate_grad(dx, partial, in, g, dy, rows, columns, d, strip);                                                                           \
	}                                                                                                                                             \
	extern "C" __global__ void __launch_bounds__(256) dyt_##x##_##y(Y *out, const X *in, const float *alpha, const float *gain,                   \
	                                                                const float *bias, int runs, int d) {                                         \
		dyt(out, in, alpha, gain, bias, runs, d);                                                                                             \
	}                                                                                                                                             \
	extern "C" __global__ void __launch_bounds__(256) dyt_grad_##x##_##y(X *dx, float *slope, float *gain, float *bias, const X *in,              \
	                                                                     const float *alpha, const float *g, const Y *dy, int runs, int d,        \
	                                                                     int strip) {                                                             \
		dyt_grad(dx, slope, gain, bias, in, alpha, g, dy, runs, d, strip);                                                                    \
	}
TYPES(f32, float, f32, float)
TYPES(f32, float, bf16, bf16)
TYPES(bf16, bf16, f32, float)
TYPES(bf16, bf16, bf16, bf16)
