// Global norm, clip factor, AdamW and SGD over a slab.
#include "common.cuh"

// partial[block] = the sum of squares, in float64, of the block's part of g
extern "C" __global__ void __launch_bounds__(256) norm_squares(double *__restrict__ partial, const float *__restrict__ g, ll part, ll n) {
	const ll first = blockIdx.x * part, end = min(n, first + part);
	double sum = 0.;
	for (ll i = first + threadIdx.x; i < end; i += 256) sum += (double)g[i] * (double)g[i];
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

// factor = min(1, limit/(norm + 1e-6)), 1 without a limit, and not a number when the norm is not finite
extern "C" __global__ void clip_factor(float *__restrict__ factor, const float *__restrict__ norm, double limit) {
	const double n = *norm;
	double f = 1.;
	if (!(n - n == 0.))
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
	ELEMENTS(i, n) {
		const float p0 = p[i], m0 = m[i], v0 = v[i], gi = clip * g[i];
		const float m1 = beta1 * m0 + rest1 * gi, v1 = beta2 * v0 + rest2 * gi * gi;
		out_m[i] = skip ? m0 : m1;
		out_v[i] = skip ? v0 : v1;
		out_p[i] = skip ? p0 : p0 * keep - step * m1 / (sqrtf(v1) * root + eps);
	}
}

// One step of SGD with momentum. Outputs may be the inputs' memory.
extern "C" __global__ void sgd(float *out_p, float *out_m, const float *p, const float *m, const float *__restrict__ g, const float *__restrict__ hyper,
                               float momentum, float decay, ll n) {
	const float rate = hyper[0], clip = hyper[3];
	const bool skip = clip != clip;
	const float keep = 1.f - rate * decay;
	ELEMENTS(i, n) {
		const float p0 = p[i], m0 = m[i], m1 = momentum * m0 + clip * g[i];
		out_m[i] = skip ? m0 : m1;
		out_p[i] = skip ? p0 : p0 * keep - rate * m1;
	}
}
