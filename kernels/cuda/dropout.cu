// Dropout by Philox4x32-10 (Salmon et al., SC 2011), the same counters as on the host.
#include "philox.cuh"
#include "vectors.cuh"

// y = x scale where the element's random number of 24 bits is at least threshold, else 0. counter holds seed low, seed high, step and
// micro-batch; four elements share one block of random bits. y may be x.
template <class T>
__device__ __forceinline__ void dropout(T *y, const T *x, const int *__restrict__ counter, u32 site, u32 threshold, float scale, ll n) {
	const uint2 key = make_uint2(counter[0], counter[1]);
	const u32 step = counter[2], micro = counter[3];
	constexpr int N = wide<T>;
	each<N>(n, aligned<N>(y, x), [=](auto width, ll i) {
		float a[width.value];
		load(a, x + i);
#pragma unroll
		for (int k = 0; k < width.value; k += 4) {
			const uint4 r = philox(make_uint4((u32)(i / 4) + k / 4, site, step, micro), key);
			const u32 bits[4] = {r.x, r.y, r.z, r.w};
			if constexpr (width.value == 1) {
				const u32 mine = i % 4 == 0 ? r.x : i % 4 == 1 ? r.y : i % 4 == 2 ? r.z : r.w;
				a[0] = mine >> 8 >= threshold ? a[0] * scale : 0.f;
			} else {
#pragma unroll
				for (int j = 0; j < 4; j++) a[k + j] = bits[j] >> 8 >= threshold ? a[k + j] * scale : 0.f;
			}
		}
		store(y + i, a);
	});
}
#define DROPOUT(T)                                                                                                                                      \
	extern "C" __global__ void dropout_##T(TYPE_##T *y, const TYPE_##T *x, const int *counter, u32 site, u32 threshold, float scale, ll n) {        \
		dropout(y, x, counter, site, threshold, scale, n);                                                                                      \
	}
ONE_TYPE(DROPOUT)
