// Activations, their gradients, and the gated forms.
#include "vectors.cuh"

// The functions in full precision, for float32 operands.
struct Full {
	static __device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
};

// The functions by the hardware's exponential and reciprocal, good to about 2^-21: far below the rounding of bfloat16 operands, for which full
// precision would take longer than the memory does.
struct Fast {
	static __device__ __forceinline__ float sigmoid(float x) {
		float e, y;
		asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * -1.4426950408889634f));
		asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(1.f + e));
		return y;
	}
};

template <class T> struct Functions;
template <> struct Functions<float> { typedef Full Best; };
template <> struct Functions<bf16> { typedef Fast Best; };

// gelu_tanh: 0.5 x (1 + tanh(u)) with u = sqrt(2/π)(x + 0.044715 x³), as x sigmoid(2u): that does not cancel where u is negative. Nor does the
// other half of the sigmoid, sigmoid(-2u), by which the slope falls off.
struct GeluTanh {
	static constexpr float Cubic = 0.044715f, Twice = 1.59576912160573071176f;
	template <class F> static __device__ __forceinline__ void both(float &value, float &slope, float x) {
		const float z = Twice * (x + Cubic * x * x * x), s = F::sigmoid(z);
		value = x * s;
		slope = s + x * s * F::sigmoid(-z) * Twice * (1.f + 3.f * Cubic * x * x);
	}
};

// silu: x sigmoid(x)
struct Silu {
	template <class F> static __device__ __forceinline__ void both(float &value, float &slope, float x) {
		const float s = F::sigmoid(x);
		value = x * s;
		slope = s * (1.f + x * (1.f - s));
	}
};

// y = act(x)
template <class Act, class T> __device__ __forceinline__ void activation(T *__restrict__ y, const T *__restrict__ x, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(y, x), [=](auto width, ll i) {
		float a[width.value], slope;
		load(a, x + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) Act::template both<typename Functions<T>::Best>(a[k], slope, a[k]);
		store(y + i, a);
	});
}

// dx = dy act'(x); dx may be dy
template <class Act, class T> __device__ __forceinline__ void activation_grad(T *dx, const T *__restrict__ x, const T *dy, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(dx, x, dy), [=](auto width, ll i) {
		float a[width.value], d[width.value], value, slope;
		load(a, x + i), load(d, dy + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) {
			Act::template both<typename Functions<T>::Best>(value, slope, a[k]);
			d[k] *= slope;
		}
		store(dx + i, d);
	});
}

// y = act(gate) up
template <class Act, class T> __device__ __forceinline__ void gated(T *__restrict__ y, const T *__restrict__ gate, const T *__restrict__ up, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(y, gate, up), [=](auto width, ll i) {
		float g[width.value], u[width.value], value, slope;
		load(g, gate + i), load(u, up + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) {
			Act::template both<typename Functions<T>::Best>(value, slope, g[k]);
			u[k] *= value;
		}
		store(y + i, u);
	});
}

// dgate = dy up act'(gate), dup = dy act(gate)
template <class Act, class T>
__device__ __forceinline__ void gated_grad(T *__restrict__ dgate, T *__restrict__ dup, const T *__restrict__ gate, const T *__restrict__ up,
                                           const T *__restrict__ dy, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(dgate, dup, gate, up, dy), [=](auto width, ll i) {
		float g[width.value], u[width.value], d[width.value], value, slope;
		load(g, gate + i), load(u, up + i), load(d, dy + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) {
			Act::template both<typename Functions<T>::Best>(value, slope, g[k]);
			u[k] = d[k] * u[k] * slope;
			d[k] *= value;
		}
		store(dgate + i, u), store(dup + i, d);
	});
}

#define KIND(kind, Act, T)                                                                                                                   \
	extern "C" __global__ void activation_##kind##_##T(TYPE_##T *y, const TYPE_##T *x, ll n) { activation<Act>(y, x, n); }               \
	extern "C" __global__ void activation_grad_##kind##_##T(TYPE_##T *dx, const TYPE_##T *x, const TYPE_##T *dy, ll n) {                 \
		activation_grad<Act>(dx, x, dy, n);                                                                                          \
	}                                                                                                                                    \
	extern "C" __global__ void gated_##kind##_##T(TYPE_##T *y, const TYPE_##T *gate, const TYPE_##T *up, ll n) {                         \
		gated<Act>(y, gate, up, n);                                                                                                  \
	}                                                                                                                                    \
	extern "C" __global__ void gated_grad_##kind##_##T(TYPE_##T *dgate, TYPE_##T *dup, const TYPE_##T *gate, const TYPE_##T *up,         \
	                                                   const TYPE_##T *dy, ll n) {                                                       \
		gated_grad<Act>(dgate, dup, gate, up, dy, n);                                                                                \
	}
KIND(gelu_tanh, GeluTanh, f)
KIND(gelu_tanh, GeluTanh, b)
KIND(silu, Silu, f)
KIND(silu, Silu, b)
