// RMSNorm and LayerNorm over runs of d elements, and their gradients. A run has a warp when it is short, a block when it is long.
#include "columns.cuh"

// Run is the part of a grid that works on one run: Threads threads of a block of 256.
template <int Threads> struct Run {
	static_assert(Threads == 32 || Threads == 256, "a warp or a block");
	int run, lane;
	__device__ __forceinline__ Run() : run(blockIdx.x * (256 / Threads) + threadIdx.x / Threads), lane(threadIdx.x % Threads) {}
	// sum is over the run; each call of a kernel has its own Slot.
	template <int Slot> __device__ __forceinline__ float sum(float v) const { return Threads == 32 ? warp_sum(v) : block_sum<256, Slot>(v); }
};

#define OVER(i, d) for (int i = r.lane; i < (d); i += Threads)

// y = x rstd (unit + gain), rstd = 1/sqrt(mean(x²) + eps). y and rstd may be null.
template <int Threads>
__device__ __forceinline__ void rmsnorm(float *__restrict__ y, float *__restrict__ rstd, const float *__restrict__ x, const float *__restrict__ gain,
                                        float eps, float unit, int runs, int d) {
	const Run<Threads> r;
	if (r.run >= runs) return;
	x += (ll)r.run * d;
	float squares = 0.f;
	OVER(i, d) squares += x[i] * x[i];
	const float scale = 1.f / sqrtf(r.template sum<0>(squares) / d + eps);
	if (rstd && r.lane == 0) rstd[r.run] = scale;
	if (!y) return;
	y += (ll)r.run * d;
	OVER(i, d) y[i] = x[i] * scale * (unit + gain[i]);
}

// dx = rstd (g dy - x rstd² mean(g dy x)), g = unit + gain
template <int Threads>
__device__ __forceinline__ void rmsnorm_dx(float *__restrict__ dx, const float *__restrict__ x, const float *__restrict__ gain, const float *__restrict__ dy,
                                           const float *__restrict__ rstd, float unit, int runs, int d) {
	const Run<Threads> r;
	if (r.run >= runs) return;
	x += (ll)r.run * d, dy += (ll)r.run * d, dx += (ll)r.run * d;
	const float scale = rstd[r.run];
	float sum = 0.f;
	OVER(i, d) sum += (unit + gain[i]) * dy[i] * (x[i] * scale);
	const float mean = r.template sum<0>(sum) / d;
	OVER(i, d) dx[i] = scale * ((unit + gain[i]) * dy[i] - x[i] * scale * mean);
}

// y = (x - mean) rstd (unit + gain) + bias, rstd = 1/sqrt(var + eps). y and mean (with rstd) may be null.
template <int Threads>
__device__ __forceinline__ void layernorm(float *__restrict__ y, float *__restrict__ mean, float *__restrict__ rstd, const float *__restrict__ x,
                                          const float *__restrict__ gain, const float *__restrict__ bias, float eps, float unit, int runs, int d) {
	const Run<Threads> r;
	if (r.run >= runs) return;
	x += (ll)r.run * d;
	float sum = 0.f, squares = 0.f;
	OVER(i, d) sum += x[i];
	const float m = r.template sum<0>(sum) / d;
	OVER(i, d) squares += (x[i] - m) * (x[i] - m);
	const float scale = 1.f / sqrtf(r.template sum<1>(squares) / d + eps);
	if (mean && r.lane == 0) mean[r.run] = m, rstd[r.run] = scale;
	if (!y) return;
	y += (ll)r.run * d;
	OVER(i, d) y[i] = (x[i] - m) * scale * (unit + gain[i]) + bias[i];
}

// dx = rstd (g dy - mean(g dy) - h mean(g dy h)), h = (x - mean) rstd, g = unit + gain
template <int Threads>
__device__ __forceinline__ void layernorm_dx(float *__restrict__ dx, const float *__restrict__ x, const float *__restrict__ gain, const float *__restrict__ dy,
                                             const float *__restrict__ mean, const float *__restrict__ rstd, float unit, int runs, int d) {
	const Run<Threads> r;
	if (r.run >= runs) return;
	x += (ll)r.run * d, dy += (ll)r.run * d, dx += (ll)r.run * d;
	const float m = mean[r.run], scale = rstd[r.run];
	float sum = 0.f, product = 0.f;
	OVER(i, d) {
		const float g = (unit + gain[i]) * dy[i];
		sum += g;
		product += g * (x[i] - m) * scale;
	}
	const float mean_g = r.template sum<0>(sum) / d, mean_gh = r.template sum<1>(product) / d;
	OVER(i, d) dx[i] = scale * ((unit + gain[i]) * dy[i] - mean_g - (x[i] - m) * scale * mean_gh);
}

// Normal is dy h of one element, h = (x - mean) rstd, or x rstd without a mean.
struct Normal {
	const float *x, *dy, *mean, *rstd;
	int d;
	__device__ __forceinline__ float operator()(int run, int i) const {
		const ll at = (ll)run * d + i;
		return dy[at] * ((mean ? x[at] - mean[run] : x[at]) * rstd[run]);
	}
};

struct Upstream {
	const float *dy;
	int d;
	__device__ __forceinline__ float operator()(int run, int i) const { return dy[(ll)run * d + i]; }
};

// gain[strip, i] = the sum over the strip's runs of dy h; bias[strip, i], unless it is null, of dy.
extern "C" __global__ void __launch_bounds__(256) norm_partial(float *__restrict__ gain, float *__restrict__ bias, const float *__restrict__ x,
                                                               const float *__restrict__ dy, const float *__restrict__ mean, const float *__restrict__ rstd,
                                                               int runs, int d, int strip) {
	column_partial(gain, Normal{x, dy, mean, rstd, d}, runs, d, strip);
	if (bias) column_partial(bias, Upstream{dy, d}, runs, d, strip);
}

#define WIDTH(Threads)                                                                                                                              \
	extern "C" __global__ void __launch_bounds__(256) rmsnorm_##Threads(float *y, float *rstd, const float *x, const float *gain, float eps,    \
	                                                                    float unit, int runs, int d) {                                          \
		rmsnorm<Threads>(y, rstd, x, gain, eps, unit, runs, d);                                                                             \
	}                                                                                                                                           \
	extern "C" __global__ void __launch_bounds__(256) rmsnorm_dx_##Threads(float *dx, const float *x, const float *gain, const float *dy,       \
	                                                                       const float *rstd, float unit, int runs, int d) {                    \
		rmsnorm_dx<Threads>(dx, x, gain, dy, rstd, unit, runs, d);                                                                          \
	}                                                                                                                                           \
	extern "C" __global__ void __launch_bounds__(256) layernorm_##Threads(float *y, float *mean, float *rstd, const float *x, const float *gain, \
	                                                                      const float *bias, float eps, float unit, int runs, int d) {          \
		layernorm<Threads>(y, mean, rstd, x, gain, bias, eps, unit, runs, d);                                                               \
	}                                                                                                                                           \
	extern "C" __global__ void __launch_bounds__(256) layernorm_dx_##Threads(float *dx, const float *x, const float *gain, const float *dy,     \
	                                                                         const float *mean, const float *rstd, float unit, int runs, int d) { \
		layernorm_dx<Threads>(dx, x, gain, dy, mean, rstd, unit, runs, d);                                                                  \
	}
WIDTH(32)
WIDTH(256)
