// Activations, their gradients, and the gated forms.
#include "common.cuh"

// gelu_tanh: 0.5 x (1 + tanh(sqrt(2/π)(x + 0.044715 x³)))
struct GeluTanh {
	static constexpr float Cubic = 0.044715f, Scale = 0.79788456080286535588f;
	static __device__ __forceinline__ float value(float x) { return 0.5f * x * (1.f + tanhf(Scale * (x + Cubic * x * x * x))); }
	static __device__ __forceinline__ float slope(float x) {
		const float t = tanhf(Scale * (x + Cubic * x * x * x));
		return 0.5f * (1.f + t) + 0.5f * x * (1.f - t * t) * Scale * (1.f + 3.f * Cubic * x * x);
	}
};

// silu: x sigmoid(x)
struct Silu {
	static __device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
	static __device__ __forceinline__ float value(float x) { return x * sigmoid(x); }
	static __device__ __forceinline__ float slope(float x) {
		const float s = sigmoid(x);
		return s * (1.f + x * (1.f - s));
	}
};

// y = act(x)
template <class Act> __device__ __forceinline__ void activation(float *__restrict__ y, const float *__restrict__ x, ll n) {
	ELEMENTS(i, n) y[i] = Act::value(x[i]);
}

// dx = dy act'(x); dx may be dy
template <class Act> __device__ __forceinline__ void activation_grad(float *dx, const float *__restrict__ x, const float *dy, ll n) {
	ELEMENTS(i, n) dx[i] = dy[i] * Act::slope(x[i]);
}

// y = act(gate) up
template <class Act>
__device__ __forceinline__ void gated(float *__restrict__ y, const float *__restrict__ gate, const float *__restrict__ up, ll n) {
	ELEMENTS(i, n) y[i] = Act::value(gate[i]) * up[i];
}

// dgate = dy up act'(gate), dup = dy act(gate)
template <class Act>
__device__ __forceinline__ void gated_grad(float *__restrict__ dgate, float *__restrict__ dup, const float *__restrict__ gate,
                                           const float *__restrict__ up, const float *__restrict__ dy, ll n) {
	ELEMENTS(i, n) {
		const float g = gate[i], d = dy[i];
		dgate[i] = d * up[i] * Act::slope(g);
		dup[i] = d * Act::value(g);
	}
}

#define KIND(kind, Act)                                                                                                                      \
	extern "C" __global__ void activation_##kind(float *y, const float *x, ll n) { activation<Act>(y, x, n); }                           \
	extern "C" __global__ void activation_grad_##kind(float *dx, const float *x, const float *dy, ll n) {                                \
		activation_grad<Act>(dx, x, dy, n);                                                                                          \
	}                                                                                                                                    \
	extern "C" __global__ void gated_##kind(float *y, const float *gate, const float *up, ll n) { gated<Act>(y, gate, up, n); }          \
	extern "C" __global__ void gated_grad_##kind(float *dgate, float *dup, const float *gate, const float *up, const float *dy, ll n) {  \
		gated_grad<Act>(dgate, dup, gate, up, dy, n);                                                                                \
	}
KIND(gelu_tanh, GeluTanh)
KIND(silu, Silu)
