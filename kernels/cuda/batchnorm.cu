// Batch norm: statistics of each of d elements over the runs of x. Sums are taken in two fixed stages, as in reduce.cu.
#include "columns.cuh"

// Values are given 4 columns at a time; many says that they can be moved at once.
struct Plain {
	const float *x;
	int d;
	bool many;
	__device__ __forceinline__ void operator()(float (&v)[4], int run, int i) const { load_columns(v, x + (ll)run * d + i, d - i, many); }
};

// partial[strip, i] = the sum over the strip's runs of x
extern "C" __global__ void __launch_bounds__(256) batch_sum(float *__restrict__ partial, const float *__restrict__ x, int runs, int d, int strip) {
	column_partial<4>(partial, Plain{x, d, d % 4 == 0 && aligned<4>(x)}, runs, d, strip);
}

// Deviation is (x - sum/runs)².
struct Deviation {
	const float *x, *sum;
	int runs, d;
	bool many;
	__device__ __forceinline__ void operator()(float (&v)[4], int run, int i) const {
		float s[4];
		load_columns(v, x + (ll)run * d + i, d - i, many);
		load_columns(s, sum + i, d - i, many);
#pragma unroll
		for (int k = 0; k < 4; k++) {
			const float h = v[k] - s[k] / runs;
			v[k] = h * h;
		}
	}
};

// partial[strip, i] = the sum over the strip's runs of (x - sum/runs)²
extern "C" __global__ void __launch_bounds__(256) batch_squares(float *__restrict__ partial, const float *__restrict__ x, const float *__restrict__ sum,
                                                               int runs, int d, int strip) {
	column_partial<4>(partial, Deviation{x, sum, runs, d, d % 4 == 0 && aligned<4>(x, sum)}, runs, d, strip);
}

// mean = sum/runs and rstd = 1/sqrt(squares/runs + eps)
extern "C" __global__ void batch_statistics(float *__restrict__ mean, float *__restrict__ rstd, const float *__restrict__ sum,
                                            const float *__restrict__ squares, float eps, int runs, int d) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= d) return;
	mean[i] = sum[i] / runs;
	rstd[i] = 1.f / sqrtf(squares[i] / runs + eps);
}

// next = running + momentum (statistic - running), means first and then variances; next may be running.
extern "C" __global__ void batch_running(float *next, const float *running, const float *__restrict__ sum, const float *__restrict__ squares,
                                         float momentum, int runs, int d) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= 2 * d) return;
	const float r = running[i], s = (i < d ? sum[i] : squares[i - d]) / runs;
	next[i] = runs > 0 ? r + momentum * (s - r) : r;
}

// y = (x - mean) r (unit + gain) + bias with r = rstd, or 1/sqrt(rstd + eps) where it holds variances
extern "C" __global__ void batch_norm(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ gain, const float *__restrict__ bias,
                                      const float *__restrict__ mean, const float *__restrict__ rstd, float eps, int variances, float unit, int d, ll n) {
	ELEMENTS(e, n) {
		const int i = e % d;
		const float r = variances ? 1.f / sqrtf(rstd[i] + eps) : rstd[i];
		y[e] = (x[e] - mean[i]) * r * (unit + gain[i]) + bias[i];
	}
}

// Normal is dy h with h = (x - mean) rstd.
struct Normal {
	const float *x, *dy, *mean, *rstd;
	int d;
	bool many;
	__device__ __forceinline__ void operator()(float (&v)[4], int run, int i) const {
		const ll at = (ll)run * d + i;
		float h[4], m[4], r[4];
		load_columns(v, dy + at, d - i, many);
		load_columns(h, x + at, d - i, many);
		load_columns(m, mean + i, d - i, many);
		load_columns(r, rstd + i, d - i, many);
#pragma unroll
		for (int k = 0; k < 4; k++) v[k] *= (h[k] - m[k]) * r[k];
	}
};

// partial[strip, i] = the sum over the strip's runs of dy h
extern "C" __global__ void __launch_bounds__(256) batch_gain(float *__restrict__ partial, const float *__restrict__ x, const float *__restrict__ dy,
                                                            const float *__restrict__ mean, const float *__restrict__ rstd, int runs, int d, int strip) {
	column_partial<4>(partial, Normal{x, dy, mean, rstd, d, d % 4 == 0 && aligned<4>(x, dy, mean, rstd)}, runs, d, strip);
}

// dx = rstd (unit + gain) (dy - dbias/runs - h dgain/runs)
extern "C" __global__ void batch_dx(float *__restrict__ dx, const float *__restrict__ x, const float *__restrict__ gain, const float *__restrict__ dy,
                                    const float *__restrict__ mean, const float *__restrict__ rstd, const float *__restrict__ dgain,
                                    const float *__restrict__ dbias, float unit, int runs, int d, ll n) {
	ELEMENTS(e, n) {
		const int i = e % d;
		const float h = (x[e] - mean[i]) * rstd[i];
		dx[e] = rstd[i] * (unit + gain[i]) * (dy[e] - dbias[i] / runs - h * (dgain[i] / runs));
	}
}
