// fill, add, scale, softcap, addbias: one element a thread.
#include "common.cuh"

template <class T> __device__ __forceinline__ void fill(T *x, T value, ll n) {
	ELEMENTS(i, n) x[i] = value;
}
extern "C" __global__ void fill_1(unsigned char *x, u32 bits, ll n) { fill(x, (unsigned char)bits, n); }
extern "C" __global__ void fill_2(unsigned short *x, u32 bits, ll n) { fill(x, (unsigned short)bits, n); }
extern "C" __global__ void fill_4(u32 *x, u32 bits, ll n) { fill(x, bits, n); }
extern "C" __global__ void fill_8(u64 *x, u64 bits, ll n) { fill(x, bits, n); }

// z = x + y
extern "C" __global__ void add(float *z, const float *x, const float *y, ll n) {
	ELEMENTS(i, n) z[i] = x[i] + y[i];
}

// y = factor x
extern "C" __global__ void scale(float *y, const float *x, float factor, ll n) {
	ELEMENTS(i, n) y[i] = factor * x[i];
}

// y = limit tanh(x / limit)
extern "C" __global__ void softcap(float *y, const float *x, float limit, ll n) {
	ELEMENTS(i, n) y[i] = capped(x[i], limit);
}

// y[i, c] = x[i, c] + b[c]
extern "C" __global__ void addbias(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ b, int columns, ll n) {
	ELEMENTS(i, n) y[i] = x[i] + b[i % columns];
}
