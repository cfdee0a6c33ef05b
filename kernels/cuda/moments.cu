// Moments of two tensors, in two fixed stages: each of up to 256 blocks sums its elements, then one block adds theirs in order.
#include "vectors.cuh"

// Moments are the sums of x², y² and x y, and the largest |x|, numbers before NaN.
struct Moments {
	float xx, yy, xy, top;
};

// partial[block] = the moments of the block's elements
template <class X, class Y> __device__ __forceinline__ void moments(float4 *__restrict__ partial, const X *__restrict__ x, const Y *__restrict__ y, ll n) {
	Moments m = {0.f, 0.f, 0.f, 0.f};
	ELEMENTS(i, n) {
		const float a = widen(x[i]), b = widen(y[i]);
		m.xx += a * a;
		m.yy += b * b;
		m.xy += a * b;
		m.top = fmaxf(m.top, fabsf(a));
	}
	const float xx = block_sum<256, 0>(m.xx), yy = block_sum<256, 1>(m.yy), xy = block_sum<256, 2>(m.xy), top = block_max<256>(m.top);
	if (threadIdx.x == 0) partial[blockIdx.x] = make_float4(xx, yy, xy, top);
}

#define MOMENTS(X, Y)                                                                                                                              \
	extern "C" __global__ void __launch_bounds__(256) moments_##X##Y(float4 *partial, const TYPE_##X *x, const TYPE_##Y *y, ll n) { \
		moments(partial, x, y, n);                                                                                              \
	}
TWO_TYPES(MOMENTS)

// m = the moments of all blocks, at most 256 of them. A sum of squares is NaN exactly where an element is, and so is the largest then.
extern "C" __global__ void __launch_bounds__(256) moments_total(float *__restrict__ m, const float4 *__restrict__ partial, int blocks) {
	const float4 p = threadIdx.x < blocks ? partial[threadIdx.x] : make_float4(0.f, 0.f, 0.f, 0.f);
	const float xx = block_sum<256, 0>(p.x), yy = block_sum<256, 1>(p.y), xy = block_sum<256, 2>(p.z), top = block_max<256>(p.w);
	if (threadIdx.x == 0) m[0] = xx, m[1] = yy, m[2] = xy, m[3] = xx != xx ? xx : top;
}
