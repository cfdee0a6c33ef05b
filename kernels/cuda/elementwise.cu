// convert, fill, add, scale, softcap, addbias.
#include "vectors.cuh"

// x = value in every element, 16 bytes at a time where they are aligned
template <class T> __device__ __forceinline__ void fill(T *x, T value, ll n) {
	constexpr int N = 16 / sizeof(T);
	union {
		T elements[N];
		uint4 all;
	} many;
#pragma unroll
	for (int k = 0; k < N; k++) many.elements[k] = value;
	const ll whole = ((u64)x & 15) == 0 ? n / N : 0;
	ELEMENTS(i, whole) ((uint4 *)x)[i] = many.all;
	ELEMENTS(i, n - whole * N) x[whole * N + i] = value;
}
extern "C" __global__ void fill_1(unsigned char *x, u32 bits, ll n) { fill(x, (unsigned char)bits, n); }
extern "C" __global__ void fill_2(unsigned short *x, u32 bits, ll n) { fill(x, (unsigned short)bits, n); }
extern "C" __global__ void fill_4(u32 *x, u32 bits, ll n) { fill(x, bits, n); }
extern "C" __global__ void fill_8(u64 *x, u64 bits, ll n) { fill(x, bits, n); }

// y = x
template <class Y, class X> __device__ __forceinline__ void convert(Y *__restrict__ y, const X *__restrict__ x, ll n) {
	constexpr int N = wide<Y, X>;
	each<N>(n, aligned<N>(y, x), [=](auto width, ll i) {
		float a[width.value];
		load(a, x + i);
		store(y + i, a);
	});
}
#define CONVERT(Y, X) \
	extern "C" __global__ void convert_##Y##X(TYPE_##Y *y, const TYPE_##X *x, ll n) { convert(y, x, n); }
TWO_TYPES(CONVERT)

// z = x + y; z may be x or y
template <class Z, class X, class Y> __device__ __forceinline__ void add(Z *z, const X *x, const Y *y, ll n) {
	constexpr int N = wide<Z, X, Y>;
	each<N>(n, aligned<N>(z, x, y), [=](auto width, ll i) {
		float a[width.value], b[width.value];
		load(a, x + i), load(b, y + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) a[k] += b[k];
		store(z + i, a);
	});
}
#define ADD(Z, X, Y) \
	extern "C" __global__ void add_##Z##X##Y(TYPE_##Z *z, const TYPE_##X *x, const TYPE_##Y *y, ll n) { add(z, x, y, n); }
#define ADD_TO_FLOAT(X, Y) ADD(f, X, Y)
#define ADD_TO_BF16(X, Y) ADD(b, X, Y)
TWO_TYPES(ADD_TO_FLOAT)
TWO_TYPES(ADD_TO_BF16)

// y = factor x; y may be x
template <class T> __device__ __forceinline__ void scale(T *y, const T *x, float factor, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(y, x), [=](auto width, ll i) {
		float a[width.value];
		load(a, x + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) a[k] *= factor;
		store(y + i, a);
	});
}
#define SCALE(T) \
	extern "C" __global__ void scale_##T(TYPE_##T *y, const TYPE_##T *x, float factor, ll n) { scale(y, x, factor, n); }
ONE_TYPE(SCALE)

// y = limit tanh(x / limit); y may be x
extern "C" __global__ void softcap(float *y, const float *x, float limit, ll n) {
	each<4>(n, aligned<4>(y, x), [=](auto width, ll i) {
		float a[width.value];
		load(a, x + i);
#pragma unroll
		for (int k = 0; k < width.value; k++) a[k] = capped(a[k], limit);
		store(y + i, a);
	});
}

// y[i, c] = x[i, c] + b[c]
template <class T>
__device__ __forceinline__ void addbias(T *__restrict__ y, const T *__restrict__ x, const float *__restrict__ b, int columns, ll n) {
	constexpr int N = wide<T>;
	each<N>(n, columns % N == 0 && aligned<N>(y, x) && aligned<N>(b), [=](auto width, ll i) {
		float a[width.value], c[width.value];
		int column;
		split(i, columns, column);
		load(a, x + i), load(c, b + column);
#pragma unroll
		for (int k = 0; k < width.value; k++) a[k] += c[k];
		store(y + i, a);
	});
}
#define ADDBIAS(T)                                                                                                              \
	extern "C" __global__ void addbias_##T(TYPE_##T *y, const TYPE_##T *x, const float *b, int columns, ll n) {              \
		addbias(y, x, b, columns, n);                                                                                   \
	}
ONE_TYPE(ADDBIAS)
