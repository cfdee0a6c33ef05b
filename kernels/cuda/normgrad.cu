// Gradients of RMSNorm and LayerNorm over rows of d elements. Where a row is aligned and not too long, one kernel reads x and dy once for dx and
// for the sums over rows (norm_grad_held); elsewhere one kernel gives dx (norm_grad_long) and another the sums (norm_partial).
#include "columns.cuh"
#include "team.cuh"

// Operands of a gradient, with h = (x - mean) rstd and g = unit + gain:
//
//	LayerNorm: dx = rstd (g dy - mean(g dy) - h mean(g dy h));  RMSNorm, where the mean of x is 0: dx = rstd (g dy - h mean(g dy h))
//
// plus the gradient that came past the norm. dx may be past.
template <bool Layer, bool Past, class X, class D> struct Backward {
	static constexpr int N = wide<X, D>, M = Layer ? 2 : 1;
	X *dx;
	const X *x;
	const float *gain;
	const D *dy;
	const float *past, *mean, *rstd;
	float unit;
	int rows, d;

	// moments are the mean and the rstd of a row.
	__device__ __forceinline__ void moments(float &m, float &scale, int row) const { m = Layer ? mean[row] : 0.f, scale = rstd[row]; }

	// products adds to the row's sums: of g dy h and, for a LayerNorm, of g dy, which it returns.
	__device__ __forceinline__ float products(float (&sum)[M], float g, float dy, float h) const {
		const float t = (unit + g) * dy;
		sum[0] += t * h;
		if constexpr (Layer) sum[1] += t;
		return t;
	}

	// value is an element of dx; gdy is g dy.
	__device__ __forceinline__ float value(const float (&mean)[M], float gdy, float h, float scale) const {
		const float t = gdy - h * mean[0];
		return scale * (Layer ? t - mean[M - 1] : t);
	}
};

// A block does a strip of rows, each team one row at a time, and keeps the sums over them in registers: total[strip, i] = the sum of dy h, and
// behind all of those, for a LayerNorm, the sum of dy.
template <bool Layer, bool Past, class X, class D>
__device__ __forceinline__ void norm_grad_held(const Backward<Layer, Past, X, D> &f, float *__restrict__ total, int strip, int threads) {
	typedef Backward<Layer, Past, X, D> B;
	constexpr int N = B::N, M = B::M, C = held / N;
	const Team t(threads);
	float sums[M][C][N] = {};
	const int first = blockIdx.x * strip, end = min(f.rows, first + strip);
	for (int base = first, turn = 0; base < end; base += t.count, turn ^= 1) {
		const int row = base + t.number, size = row < end ? f.d : 0;
		const ll at = (ll)row * f.d;
		float h[C][N], dy[C][N], past[C][N], m = 0.f, scale = 0.f, sum[M] = {};
		if (row < end) f.moments(m, scale, row);
		t.chunks<N>(size, [&](int c, int i) {
			load(h[c], f.x + at + i), load(dy[c], f.dy + at + i);
			if constexpr (Past) load(past[c], f.past + at + i);
		});
		t.chunks<N>(size, [&](int c, int i) {
			float g[N];
			load(g, f.gain + i);
#pragma unroll
			for (int k = 0; k < N; k++) {
				h[c][k] = (h[c][k] - m) * scale;
				sums[0][c][k] += dy[c][k] * h[c][k];
				if constexpr (Layer) sums[1][c][k] += dy[c][k];
				dy[c][k] = f.products(sum, g[k], dy[c][k], h[c][k]);
			}
		});
		t.sum<0, 2>(sum, turn);
#pragma unroll
		for (int j = 0; j < M; j++) sum[j] /= f.d;
		t.chunks<N>(size, [&](int c, int i) {
#pragma unroll
			for (int k = 0; k < N; k++) {
				dy[c][k] = f.value(sum, dy[c][k], h[c][k], scale);
				if constexpr (Past) dy[c][k] += past[c][k];
			}
			store(f.dx + at + i, dy[c]);
		});
	}
	total += (ll)blockIdx.x * f.d;
	const ll behind = (ll)gridDim.x * f.d;
	if (t.count == 1) {
#pragma unroll
		for (int j = 0; j < M; j++) t.chunks<N>(f.d, [&](int c, int i) { store(total + j * behind + i, sums[j][c]); });
		return;
	}
	__shared__ __align__(16) float part[M][256 * held]; // more teams than one: a block of 256 threads
#pragma unroll
	for (int j = 0; j < M; j++) t.chunks<N>(f.d, [&](int c, int i) { store(&part[j][t.number * t.threads * held + i], sums[j][c]); });
	__syncthreads();
	for (int i = threadIdx.x; i < f.d; i += 256) {
#pragma unroll
		for (int j = 0; j < M; j++) {
			float sum = part[j][i];
			for (int k = 1; k < t.count; k++) sum += part[j][k * t.threads * held + i];
			total[j * behind + i] = sum;
		}
	}
}

template <bool Layer, bool Past, class X, class D> __device__ __forceinline__ void norm_grad_long(const Backward<Layer, Past, X, D> &f, int threads) {
	typedef Backward<Layer, Past, X, D> B;
	constexpr int N = B::N, M = B::M;
	const Team t(threads);
	const int row = blockIdx.x * t.count + t.number, size = row < f.rows ? f.d : 0;
	const ll at = (ll)row * f.d;
	const bool many = f.d % N == 0 && aligned<N>(f.dx, f.x) && aligned<N>(f.dy) && aligned<4>(f.gain, f.past);
	float m = 0.f, scale = 0.f, sum[M] = {};
	if (size > 0) f.moments(m, scale, row);
	t.sweep<N>(size, many, [&](auto width, int i) {
		float x[width.value], g[width.value], dy[width.value];
		load(x, f.x + at + i), load(g, f.gain + i), load(dy, f.dy + at + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) f.products(sum, g[k], dy[k], (x[k] - m) * scale);
	});
	t.sum<0>(sum);
#pragma unroll
	for (int j = 0; j < M; j++) sum[j] /= f.d;
	t.sweep<N>(size, many, [&](auto width, int i) {
		float x[width.value], g[width.value], dy[width.value], past[width.value];
		load(x, f.x + at + i), load(g, f.gain + i), load(dy, f.dy + at + i);
		if constexpr (Past) load(past, f.past + at + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) {
			dy[k] = f.value(sum, (f.unit + g[k]) * dy[k], (x[k] - m) * scale, scale);
			if constexpr (Past) dy[k] += past[k];
		}
		store(f.dx + at + i, dy);
	});
}

// Normal is dy h, or dy alone without rstd.
template <class X, class D> struct Normal {
	static constexpr int N = wide<X, D>;
	const X *x;
	const D *dy;
	const float *mean, *rstd;
	int d;
	bool many;
	__device__ __forceinline__ Normal(const X *x, const D *dy, const float *mean, const float *rstd, int d)
	    : x(x), dy(dy), mean(mean), rstd(rstd), d(d), many(d % N == 0 && aligned<N>(x) && aligned<N>(dy)) {}
	__device__ __forceinline__ void operator()(float (&v)[N], int row, int i) const {
		const ll at = (ll)row * d + i;
		load_columns(v, dy + at, d - i, many);
		if (!rstd) return;
		float h[N];
		load_columns(h, x + at, d - i, many);
		const float m = mean ? mean[row] : 0.f, scale = rstd[row];
#pragma unroll
		for (int k = 0; k < N; k++) v[k] *= (h[k] - m) * scale;
	}
};

// total as norm_grad_held gives it, for one strip a row of blocks; the planes of blocks are the sums of dy h and of dy.
#define PARTIAL(X, D)                                                                                                                                   \
	extern "C" __global__ void __launch_bounds__(256) norm_partial_##X##D(float *__restrict__ total, const TYPE_##X *x, const TYPE_##D *dy,         \
	                                                                      const float *mean, const float *rstd, int rows, int d, int strip) {       \
		const Normal<TYPE_##X, TYPE_##D> v(x, dy, mean, blockIdx.z ? nullptr : rstd, d);                                                       \
		column_partial<Normal<TYPE_##X, TYPE_##D>::N>(total + (ll)blockIdx.z * gridDim.y * d, v, rows, d, strip);                                                         \
	}
TWO_TYPES(PARTIAL)

#define GRADIENT(name, Layer, Past, X, D)                                                                                                               \
	extern "C" __global__ void __launch_bounds__(512) name##_held_##X##D(TYPE_##X *dx, const TYPE_##X *x, const float *gain, const TYPE_##D *dy,    \
	                                                                     const float *past, const float *mean, const float *rstd, float unit,       \
	                                                                     int rows, int d, int threads, float *total, int strip) {                   \
		norm_grad_held(Backward<Layer, Past, TYPE_##X, TYPE_##D>{dx, x, gain, dy, past, mean, rstd, unit, rows, d}, total, strip, threads);     \
	}                                                                                                                                               \
	extern "C" __global__ void __launch_bounds__(256) name##_long_##X##D(TYPE_##X *dx, const TYPE_##X *x, const float *gain, const TYPE_##D *dy,    \
	                                                                     const float *past, const float *mean, const float *rstd, float unit,       \
	                                                                     int rows, int d, int threads) {                                            \
		norm_grad_long(Backward<Layer, Past, TYPE_##X, TYPE_##D>{dx, x, gain, dy, past, mean, rstd, unit, rows, d}, threads);                   \
	}
#define GRADIENTS(X, D)                                  \
	GRADIENT(rmsnorm_grad, false, false, X, D)       \
	GRADIENT(layernorm_grad, true, false, X, D)
TWO_TYPES(GRADIENTS)
GRADIENT(add_rmsnorm_grad, false, true, f, f)
GRADIENT(add_rmsnorm_grad, false, true, f, b)
GRADIENT(add_layernorm_grad, true, true, f, f)
GRADIENT(add_layernorm_grad, true, true, f, b)
