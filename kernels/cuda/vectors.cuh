// Several elements at once, for kernels whose time is that of their memory traffic: loads and stores of 128 bits where all operands are aligned
// to them, single elements otherwise.
#pragma once
#include "common.cuh"

// The letters by which kernels that serve several element types are named.
#define TYPE_f float
#define TYPE_b bf16
#define ONE_TYPE(M) M(f) M(b)
#define TWO_TYPES(M) M(f, f) M(f, b) M(b, f) M(b, b)

// wide is how many elements are moved at once: 128 bits of the widest of the types.
template <class... T> constexpr int wide = ((sizeof(T) == sizeof(bf16)) && ...) ? 8 : 4;

// aligned says whether N elements can be moved at once from each pointer on.
template <int N, class... T> __device__ __forceinline__ bool aligned(const T *...p) {
	return ((((u64)p & ((N * sizeof(T) < 16 ? N * sizeof(T) : 16) - 1)) == 0) && ...);
}

// load reads N elements of either type as floats.
template <int N> __device__ __forceinline__ void load(float (&v)[N], const float *p) {
	if constexpr (N == 1) {
		v[0] = *p;
	} else {
#pragma unroll
		for (int k = 0; k < N; k += 4) {
			const float4 q = *(const float4 *)(p + k);
			v[k] = q.x, v[k + 1] = q.y, v[k + 2] = q.z, v[k + 3] = q.w;
		}
	}
}

// unpack is the two floats of a pair of bfloat16.
__device__ __forceinline__ void unpack(float &lo, float &hi, u32 pair) { lo = __uint_as_float(pair << 16), hi = __uint_as_float(pair & 0xffff0000u); }

template <int N> __device__ __forceinline__ void load(float (&v)[N], const bf16 *p) {
	if constexpr (N == 1) {
		v[0] = widen(*p);
	} else if constexpr (N == 4) {
		const uint2 q = *(const uint2 *)p;
		unpack(v[0], v[1], q.x), unpack(v[2], v[3], q.y);
	} else {
		static_assert(N == 8, "1, 4 or 8 elements");
		const uint4 q = *(const uint4 *)p;
		unpack(v[0], v[1], q.x), unpack(v[2], v[3], q.y), unpack(v[4], v[5], q.z), unpack(v[6], v[7], q.w);
	}
}

// store writes N floats as elements of either type.
template <int N> __device__ __forceinline__ void store(float *p, const float (&v)[N]) {
	if constexpr (N == 1) {
		*p = v[0];
	} else {
#pragma unroll
		for (int k = 0; k < N; k += 4) *(float4 *)(p + k) = make_float4(v[k], v[k + 1], v[k + 2], v[k + 3]);
	}
}

template <int N> __device__ __forceinline__ void store(bf16 *p, const float (&v)[N]) {
	if constexpr (N == 1) {
		*p = narrow<bf16>(v[0]);
	} else if constexpr (N == 4) {
		*(uint2 *)p = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
	} else {
		static_assert(N == 8, "1, 4 or 8 elements");
		*(uint4 *)p = make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
	}
}

// Width is a number of elements as a type, to be handed to a lambda.
template <int N> struct Width { static constexpr int value = N; };

// each calls f(width, first) for n elements in steps of the whole grid: N at a time where `many` allows it, one at a time what is left.
template <int N, class F> __device__ __forceinline__ void each(ll n, bool many, F f) {
	const ll whole = many ? n / N : 0;
	ELEMENTS(i, whole) f(Width<N>{}, i * N);
	ELEMENTS(i, n - whole * N) f(Width<1>{}, whole * N + i);
}

// split is i / d, with i % d in rest, by the short division where it serves.
__device__ __forceinline__ ll split(ll i, int d, int &rest) {
	if (i >> 32) {
		rest = (int)(i % d);
		return i / d;
	}
	const u32 quotient = (u32)i / (u32)d;
	rest = (int)((u32)i - quotient * (u32)d);
	return quotient;
}
