// What all kernels share: index types, sums over a warp and over a block, and the report of a bad index.
//
// Rules: no kernel adds floating-point numbers atomically, so that the same inputs give the same bits; a block's size is a multiple of 32;
// a grid never changes the order of a sum. Sizes are long long where elements are counted, int where rows, columns or tokens are.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long ll;

#define FULL 0xffffffffu

// LOWEST is where the largest score of a softmax starts. It is not minus infinity, whose difference from a score of minus infinity is no number.
#define LOWEST -3.402823466e38f

// bf16 is the bits of a bfloat16: the upper half of a float.
typedef unsigned short bf16;

// widen is the float that an element of either type stands for.
__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(bf16 x) { return __uint_as_float((u32)x << 16); }

// narrow is the element of a type that is nearest to a float, the even one of two.
template <class T> __device__ __forceinline__ T narrow(float x);
template <> __device__ __forceinline__ float narrow<float>(float x) { return x; }
template <> __device__ __forceinline__ bf16 narrow<bf16>(float x) {
	bf16 y;
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
	return y;
}

// pack is two floats as bfloat16, lo in the low half.
__device__ __forceinline__ u32 pack(float lo, float hi) {
	u32 y;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
	return y;
}

// ELEMENTS runs over i < n in steps of the whole grid.
#define ELEMENTS(i, n) for (ll i = blockIdx.x * (ll)blockDim.x + threadIdx.x; i < (n); i += (ll)gridDim.x * blockDim.x)

// warp_sum gives every lane the sum over the lanes of its group of Width lanes.
template <int Width = 32, class T> __device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
	for (int o = Width / 2; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
	return v;
}

// warp_max is the largest value of a group of Width lanes, numbers before NaN.
template <int Width = 32> __device__ __forceinline__ float warp_max(float v) {
#pragma unroll
	for (int o = Width / 2; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL, v, o));
	return v;
}

// block_sum gives every thread the sum over a block of Threads threads. All of them must call it. Each call of a kernel has its own Slot of
// shared memory, and none is called twice, so that no barrier has to guard what an earlier call left.
template <int Threads, int Slot = 0, class T> __device__ __forceinline__ T block_sum(T v) {
	__shared__ T part[Threads / 32];
	v = warp_sum(v);
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
	__syncthreads();
	T sum = part[0];
#pragma unroll
	for (int w = 1; w < Threads / 32; w++) sum += part[w];
	return sum;
}

// block_max is the largest value over a block of Threads threads, numbers before NaN. It is called once in a kernel.
template <int Threads> __device__ __forceinline__ float block_max(float v) {
	__shared__ float part[Threads / 32];
	v = warp_max(v);
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
	__syncthreads();
	float top = part[0];
#pragma unroll
	for (int w = 1; w < Threads / 32; w++) top = fmaxf(top, part[w]);
	return top;
}

// report records a value that is out of range: the one of the smallest index stays, whatever the order of threads.
__device__ __forceinline__ void report(u64 *slot, int index, int value) { atomicMin(slot, (u64)(u32)index << 32 | (u32)value); }

// capped is limit tanh(x / limit), or x when there is no limit.
__device__ __forceinline__ float capped(float x, float limit) { return limit > 0.f ? limit * tanhf(x / limit) : x; }

// capped_slope is the derivative of capped by its argument, where y is its result.
__device__ __forceinline__ float capped_slope(float y, float limit) {
	if (limit <= 0.f) return 1.f;
	const float t = y / limit;
	return 1.f - t * t;
}

__device__ __forceinline__ int ceil_div(int a, int b) { return (a + b - 1) / b; }
