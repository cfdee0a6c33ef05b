// The language-model head's loss on a chunk of logits: softmax cross-entropy row by row, and the gradient by the logits.
#include "common.cuh"

// For each row of logits [rows, vocab]: row_loss = logsumexp(z) - z[target], z the capped logits, or 0 when the target is negative. With
// gradient set the logits become the derivative of loss·dloss by them. One block of 256 threads a row.
extern "C" __global__ void __launch_bounds__(256) head_rows(float *__restrict__ logits, float *__restrict__ row_loss, const int *__restrict__ targets,
                                                            const float *__restrict__ normaliser, const float *__restrict__ dloss, u64 *bad, int first,
                                                            int vocab, float softcap, int gradient) {
	const int row = blockIdx.x, target = targets[first + row];
	float *z = logits + (ll)row * vocab;
	if (target < 0 || target >= vocab) {
		if (threadIdx.x == 0) {
			row_loss[first + row] = 0.f;
			if (target >= vocab) report(bad, first + row, target);
		}
		if (gradient)
			for (int v = threadIdx.x; v < vocab; v += 256) z[v] = 0.f;
		return;
	}
	const float inf = __int_as_float(0x7f800000);
	float top = -inf, sum = 0.f;
	for (int v = threadIdx.x; v < vocab; v += 256) top = fmaxf(top, capped(z[v], softcap));
	top = block_max<256>(top);
	for (int v = threadIdx.x; v < vocab; v += 256) sum += expf(capped(z[v], softcap) - top);
	sum = block_sum<256>(sum);
	const float lse = top + logf(sum);
	if (threadIdx.x == 0) row_loss[first + row] = lse - capped(z[target], softcap);
	if (!gradient) return;
	__syncthreads(); // the target's logit has been read
	const float scale = *dloss / *normaliser;
	for (int v = threadIdx.x; v < vocab; v += 256) {
		const float y = capped(z[v], softcap);
		float p = expf(y - lse);
		if (v == target) p -= 1.f;
		z[v] = p * capped_slope(y, softcap) * scale;
	}
}

// y = x [rows, columns], and zeros where the row's target is ignored: such a row counts for nothing, whatever it holds.
extern "C" __global__ void head_counted(float *__restrict__ y, const float *__restrict__ x, const int *__restrict__ targets, int columns, ll n) {
	ELEMENTS(i, n) y[i] = targets[i / columns] < 0 ? 0.f : x[i];
}

// loss = the sum of row_loss, in float64, over the normaliser. One block of 256 threads.
extern "C" __global__ void __launch_bounds__(256) head_loss(float *__restrict__ loss, const float *__restrict__ row_loss, const float *__restrict__ normaliser, int rows) {
	double sum = 0.;
	for (int i = threadIdx.x; i < rows; i += 256) sum += row_loss[i];
	sum = block_sum<256>(sum);
	if (threadIdx.x == 0) *loss = (float)(sum / (double)*normaliser);
}
