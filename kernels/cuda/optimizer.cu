// Global norm, clip factor, AdamW and SGD over a slab.
#include "vectors.cuh"

// partial[block] = the sum of squares, in float64, of the block's part of g; a part is a multiple of 4 elements
extern "C" __global__ void __launch_bounds__(256) norm_squares(double *__restrict__ partial, const float *__restrict__ g, ll part, ll n) {
	const ll first = blockIdx.x * part, end = min(n, first + part);
	double sum = 0.;
	const ll whole = aligned<4>(g) && first < end ? (end - first) / 4 * 4 : 0;
#pragma unroll 4
	for (ll i = first + 4 * threadIdx.x; i < first + whole; i += 4 * 256) {
		float v[4];
		load(v, g + i);
#pragma unroll
		for (int k = 0; k < 4; k++) sum += (double)v[k] * (double)v[k];
	}
	for (ll i = first + whole + threadIdx.x; i < end; i += 256) sum += (double)g[i] * (double)g[i];
	sum = block_sum<256>(sum);
	if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// norm = sqrt of the sum of the partial sums
extern "C" __global__ void __launch_bounds__(256) norm_root(float *__restrict__ norm, const double *__restrict__ partial, int parts) {
	double sum = 0.;
	for (int i = threadIdx.x; i < parts; i += 256) sum += partial[i];
	sum = block_sum<256>(sum);
	if (threadIdx.x == 0) *norm = (float)sqrt(sum);
}

// factor = min(1, limit/(norm + 1e-6)), 1 without a limit, and not a number when norm or loss is not finite, loss > limits[0] or norm > limits[1]
extern "C" __global__ void clip_factor(float *__restrict__ factor, const float *__restrict__ norm, const float *__restrict__ loss,
                                       const float *__restrict__ limits, double limit) {
	const double n = *norm, l = *loss;
	double f = 1.;
	if (!(n - n == 0.) || !(l - l == 0.) || l > (double)limits[0] || n > (double)limits[1])
		f = __longlong_as_double(0x7ff8000000000000ll);
	else if (limit != 0.)
		f = min(1., limit / (n + 1e-6));
	*factor = (float)f;
}

// One step of AdamW; hyper = {learning rate, 1-beta1^step, 1-beta2^step, clip factor}. Outputs may be the inputs' memory.
extern "C" __global__ void adamw(float *out_p, float *out_m, float *out_v, const float *p, const float *m, const float *v, const float *__restrict__ g,
                                 const float *__restrict__ hyper, float beta1, float rest1, float beta2, float rest2, float eps, float decay, ll n) {
	const float rate = hyper[0], clip = hyper[3];
	const bool skip = clip != clip; // the gradient was not finite
	const float step = rate / hyper[1], root = 1.f / sqrtf(hyper[2]), keep = 1.f - rate * decay;
	each<4>(n, aligned<4>(out_p, out_m, out_v, p, m, v, g), [=](auto many, ll i) {
		float p0[many.value], m0[many.value], v0[many.value], gi[many.value];
		load(p0, p + i), load(m0, m + i), load(v0, v + i), load(gi, g + i);
#pragma unroll
		for (int k = 0; k < many.value; k++) {
			const float gk = clip * gi[k], m1 = beta1 * m0[k] + rest1 * gk, v1 = beta2 * v0[k] + rest2 * gk * gk;
			if (skip) continue;
			m0[k] = m1, v0[k] = v1;
			p0[k] = p0[k] * keep - step * m1 / (sqrtf(v1) * root + eps);
		}
		store(out_p + i, p0), store(out_m + i, m0), store(out_v + i, v0);
	});
}

// One step of SGD with momentum. Outputs may be the inputs' memory.
extern "C" __global__ void sgd(float *out_p, float *out_m, const float *p, const float *m, const float *__restrict__ g, const float *__restrict__ hyper,
                               float momentum, float decay, ll n) {
	const float rate = hyper[0], clip = hyper[3];
	const bool skip = clip != clip;
	const float keep = 1.f - rate * decay;
	each<4>(n, aligned<4>(out_p, out_m, p, m, g), [=](auto many, ll i) {
		float p0[many.value], m0[many.value], gi[many.value];
		load(p0, p + i), load(m0, m + i), load(gi, g + i);
#pragma unroll
		for (int k = 0; k < many.value; k++) {
			if (skip) continue;
			m0[k] = momentum * m0[k] + clip * gi[k];
			p0[k] = p0[k] * keep - rate * m0[k];
		}
		store(out_p + i, p0), store(out_m + i, m0);
	});
}
