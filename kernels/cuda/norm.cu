// RMSNorm and LayerNorm over runs ("rows") of d elements, of x or of a sum x + r. A row is kept in registers between its statistics and its
// output where it is aligned and not too long (norm_held), and read again where it is not (norm_long).
#include "team.cuh"

// None is the type of r where there is none.
struct None {};
template <class R> constexpr bool added = true;
template <> constexpr bool added<None> = false;

// Operands of a forward: z = x + r where there is an r; y = (z - mean) rstd (unit + gain) + bias for a LayerNorm, with rstd =
// 1/sqrt(var + eps), and y = z rstd (unit + gain) for an RMSNorm, with rstd = 1/sqrt(mean(z²) + eps). y and the statistics may be null; z may be x.
template <class Y, class X, class R> struct Forward {
	static constexpr int N = wide<Y, X>; // x + r is of floats: 4, whatever r is
	Y *y;
	float *z, *mean, *rstd;
	const X *x;
	const R *r;
	const float *gain, *bias;
	float eps, unit;
	int rows, d;

	// source loads elements of x, or of the sum.
	template <int W> __device__ __forceinline__ void source(float (&v)[W], ll at) const {
		load(v, x + at);
		if constexpr (added<R>) {
			float more[W];
			load(more, r + at);
#pragma unroll
			for (int k = 0; k < W; k++) v[k] += more[k];
		}
	}

	// output makes elements of y of those of z.
	template <bool Layer, int W> __device__ __forceinline__ void output(float (&v)[W], int i, float m, float scale) const {
		float g[W], b[W];
		load(g, gain + i);
		if constexpr (Layer) load(b, bias + i);
#pragma unroll
		for (int k = 0; k < W; k++) v[k] = Layer ? (v[k] - m) * scale * (unit + g[k]) + b[k] : v[k] * scale * (unit + g[k]);
	}

	template <bool Layer> __device__ __forceinline__ void statistics(const Team &t, int row, float m, float scale) const {
		if (t.lane != 0 || row >= rows) return;
		if (Layer && mean) mean[row] = m;
		if (rstd) rstd[row] = scale;
	}
};

// All loads come before the stores, which the compiler could not move them across.
template <bool Layer, class Y, class X, class R> __device__ __forceinline__ void norm_held(const Forward<Y, X, R> &f, int threads) {
	constexpr int N = Forward<Y, X, R>::N;
	const Team t(threads);
	const int row = blockIdx.x * t.count + t.number, size = row < f.rows ? f.d : 0;
	const ll at = (ll)row * f.d;
	float v[held / N][N] = {}, m[1] = {}, squares[1] = {};
	t.chunks<N>(size, [&](int c, int i) { f.source(v[c], at + i); });
	if constexpr (added<R>) t.chunks<N>(size, [&](int c, int i) { store(f.z + at + i, v[c]); });
	if constexpr (Layer) {
#pragma unroll
		for (int e = 0; e < held; e++) m[0] += v[e / N][e % N];
		t.sum<0>(m);
		m[0] /= f.d;
	}
	t.chunks<N>(size, [&](int c, int) {
#pragma unroll
		for (int k = 0; k < N; k++) squares[0] += (v[c][k] - m[0]) * (v[c][k] - m[0]);
	});
	t.sum<1>(squares);
	const float scale = 1.f / sqrtf(squares[0] / f.d + f.eps);
	f.template statistics<Layer>(t, row, m[0], scale);
	if (!f.y) return;
	t.chunks<N>(size, [&](int c, int i) { f.template output<Layer>(v[c], i, m[0], scale); });
	t.chunks<N>(size, [&](int c, int i) { store(f.y + at + i, v[c]); });
}

template <bool Layer, class Y, class X, class R> __device__ __forceinline__ void norm_long(const Forward<Y, X, R> &f, int threads) {
	constexpr int N = Forward<Y, X, R>::N;
	const Team t(threads);
	const int row = blockIdx.x * t.count + t.number, size = row < f.rows ? f.d : 0;
	const ll at = (ll)row * f.d;
	bool many = f.d % N == 0 && aligned<N>(f.y, f.x) && aligned<4>(f.gain, f.bias, f.z);
	if constexpr (added<R>) many = many && aligned<N>(f.r);
	// again reads what source has read or stored.
	const auto again = [&](auto &v, int i) {
		if constexpr (added<R>)
			load(v, f.z + at + i);
		else
			load(v, f.x + at + i);
	};
	float m[1] = {}, squares[1] = {};
	t.sweep<N>(size, many, [&](auto width, int i) {
		float v[width.value];
		f.source(v, at + i);
		if constexpr (added<R>) store(f.z + at + i, v);
#pragma unroll
		for (int k = 0; k < width.value; k++) Layer ? m[0] += v[k] : squares[0] += v[k] * v[k];
	});
	if constexpr (Layer) {
		t.sum<0>(m);
		m[0] /= f.d;
		t.sweep<N>(size, many, [&](auto width, int i) {
			float v[width.value];
			again(v, i);
#pragma unroll
			for (int k = 0; k < width.value; k++) squares[0] += (v[k] - m[0]) * (v[k] - m[0]);
		});
	}
	t.sum<1>(squares);
	const float scale = 1.f / sqrtf(squares[0] / f.d + f.eps);
	f.template statistics<Layer>(t, row, m[0], scale);
	if (!f.y) return;
	t.sweep<N>(size, many, [&](auto width, int i) {
		float v[width.value];
		again(v, i);
		f.template output<Layer>(v, i, m[0], scale);
		store(f.y + at + i, v);
	});
}

#define NORM(name, how, Layer, Y, X, R, RType)                                                                                                          \
	extern "C" __global__ void __launch_bounds__(512, 2) name##_##how##_##Y##R(TYPE_##Y *y, float *z, float *mean, float *rstd, const TYPE_##X *x,     \
	                                                                       const RType *r, const float *gain, const float *bias, float eps, float unit, \
	                                                                       int rows, int d, int threads) {                                          \
		norm_##how<Layer>(Forward<TYPE_##Y, TYPE_##X, RType>{y, z, mean, rstd, x, r, gain, bias, eps, unit, rows, d}, threads);                 \
	}
#define NORMS(Y, X)                                              \
	NORM(rmsnorm, held, false, Y, X, X, None)                \
	NORM(rmsnorm, long, false, Y, X, X, None)                \
	NORM(layernorm, held, true, Y, X, X, None)               \
	NORM(layernorm, long, true, Y, X, X, None)
#define ADD_NORMS(Y, R)                                          \
	NORM(add_rmsnorm, held, false, Y, f, R, TYPE_##R)        \
	NORM(add_rmsnorm, long, false, Y, f, R, TYPE_##R)        \
	NORM(add_layernorm, held, true, Y, f, R, TYPE_##R)       \
	NORM(add_layernorm, long, true, Y, f, R, TYPE_##R)
TWO_TYPES(NORMS)
TWO_TYPES(ADD_NORMS)
