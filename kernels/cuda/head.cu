// The language-model head's loss on a chunk of logits: softmax cross-entropy row by row, and the gradient by the logits. Logits are float32
// whatever the operands are. Where those are bfloat16 the gradient is rounded to bfloat16, once, as an operand of the two products that follow;
// nothing else is rounded.
#include "common.cuh"

// Softmax is the largest of some numbers and the sum of e to the power of their differences from it, kept in one pass.
struct Softmax {
	float top, sum;

	__device__ __forceinline__ void add(float4 y) {
		const float above = fmaxf(fmaxf(top, fmaxf(y.x, y.y)), fmaxf(y.z, y.w));
		sum = sum * expf(top - above) + ((expf(y.x - above) + expf(y.y - above)) + (expf(y.z - above) + expf(y.w - above)));
		top = above;
	}

	__device__ __forceinline__ void add(float y) {
		const float above = fmaxf(top, y);
		sum = sum * expf(top - above) + expf(y - above);
		top = above;
	}
};

__device__ __forceinline__ float4 capped(float4 z, float limit) {
	return make_float4(capped(z.x, limit), capped(z.y, limit), capped(z.z, limit), capped(z.w, limit));
}

__device__ __forceinline__ void store(float *at, float4 v) { *(float4 *)at = v; }
__device__ __forceinline__ void store(bf16 *at, float4 v) { *(uint2 *)at = make_uint2(pack(v.x, v.y), pack(v.z, v.w)); }

// log_sum_exp is that of a row's capped logits. The row is aligned to quads.
__device__ __forceinline__ float log_sum_exp(const float *z, int vocab, float softcap) {
	const int quads = vocab / 4, rest = 4 * quads + threadIdx.x;
	Softmax own = {LOWEST, 0.f};
	for (int q = threadIdx.x; q < quads; q += 256) own.add(capped(((const float4 *)z)[q], softcap));
	if (rest < vocab) own.add(capped(z[rest], softcap));
	const float top = block_max<256>(own.top);
	return top + logf(block_sum<256>(own.sum * expf(own.top - top)));
}

// slope is the derivative of the loss by one logit, of which y is the capped value.
__device__ __forceinline__ float slope(float y, float lse, bool target, float softcap, float scale) {
	const float p = expf(y - lse);
	return (target ? p - 1.f : p) * capped_slope(y, softcap) * scale;
}

// For each row of logits [rows, vocab], ld apart: row_loss = logsumexp(z) - z[target], z the capped logits, or 0 when the target is negative.
// With a gradient, it becomes the derivative of loss·dloss by the logits; its rows are `pitch` apart, and when it is float it may be the
// logits' own memory. One block of 256 threads a row.
template <class G>
__device__ __forceinline__ void head_rows(const float *logits, G *gradient, float *__restrict__ row_loss, const int *__restrict__ targets,
                                          const float *__restrict__ normaliser, const float *__restrict__ dloss, u64 *bad, int first, int vocab, int ld,
                                          int pitch, float softcap) {
	const int row = blockIdx.x, target = targets[first + row], quads = vocab / 4, rest = 4 * quads + threadIdx.x;
	const float *z = logits + (ll)row * ld;
	G *g = gradient + (ll)row * pitch;
	if (target < 0 || target >= vocab) {
		if (threadIdx.x == 0) {
			row_loss[first + row] = 0.f;
			if (target >= vocab) report(bad, first + row, target);
		}
		if (!gradient) return;
		for (int q = threadIdx.x; q < quads; q += 256) store(g + 4 * q, make_float4(0.f, 0.f, 0.f, 0.f));
		if (rest < vocab) g[rest] = G(0);
		return;
	}
	const float lse = log_sum_exp(z, vocab, softcap);
	if (threadIdx.x == 0) row_loss[first + row] = lse - capped(z[target], softcap);
	if (!gradient) return;
	if (sizeof(G) == 4) __syncthreads(); // the target's logit has been read
	const float scale = *dloss / *normaliser;
	for (int q = threadIdx.x; q < quads; q += 256) {
		const float4 y = capped(((const float4 *)z)[q], softcap);
		const int v = target - 4 * q;
		store(g + 4 * q, make_float4(slope(y.x, lse, v == 0, softcap, scale), slope(y.y, lse, v == 1, softcap, scale),
		                             slope(y.z, lse, v == 2, softcap, scale), slope(y.w, lse, v == 3, softcap, scale)));
	}
	if (rest < vocab) g[rest] = narrow<G>(slope(capped(z[rest], softcap), lse, rest == target, softcap, scale));
}

// head_counted is y = x [rows, columns], and zeros where the row's target is ignored: such a row counts for nothing, whatever it holds. In dx,
// whose rows are some pairs of bytes long, it makes the ignored rows zero: their product with W is none where W is not finite. One block a row.
template <class T>
__device__ __forceinline__ void head_counted(T *__restrict__ y, unsigned short *__restrict__ dx, const T *__restrict__ x, const int *__restrict__ targets, int columns, int pairs) {
	constexpr int Piece = 16 / sizeof(T);
	const ll row = (ll)blockIdx.x * columns;
	const bool counts = targets[blockIdx.x] >= 0;
	for (int i = threadIdx.x; !counts && i < pairs; i += blockDim.x) dx[(ll)blockIdx.x * pairs + i] = 0;
	if ((((u64)x | (u64)y) & 15) == 0 && columns % Piece == 0) {
		for (int i = threadIdx.x; i < columns / Piece; i += blockDim.x)
			((uint4 *)(y + row))[i] = counts ? ((const uint4 *)(x + row))[i] : make_uint4(0, 0, 0, 0);
		return;
	}
	for (int i = threadIdx.x; i < columns; i += blockDim.x) y[row + i] = counts ? x[row + i] : T(0);
}

#define HEAD(type, T)                                                                                                                           \
	extern "C" __global__ void __launch_bounds__(256)                                                                                      \
	    head_rows_##type(const float *logits, T *gradient, float *row_loss, const int *targets, const float *normaliser,                   \
	                     const float *dloss, u64 *bad, int first, int vocab, int ld, int pitch, float softcap) {                           \
		head_rows<T>(logits, gradient, row_loss, targets, normaliser, dloss, bad, first, vocab, ld, pitch, softcap);                    \
	}                                                                                                                                       \
	extern "C" __global__ void __launch_bounds__(128)                                                                                       \
	    head_counted_##type(T *y, unsigned short *dx, const T *x, const int *targets, int columns, int pairs) {                             \
		head_counted<T>(y, dx, x, targets, columns, pairs);                                                                             \
	}
HEAD(f32, float)
HEAD(bf16, bf16)

// loss = the sum of row_loss, in float64, over the normaliser. One block of 256 threads.
extern "C" __global__ void __launch_bounds__(256) head_loss(float *__restrict__ loss, const float *__restrict__ row_loss, const float *__restrict__ normaliser, int rows) {
	double sum = 0.;
	for (int i = threadIdx.x; i < rows; i += 256) sum += row_loss[i];
	sum = block_sum<256>(sum);
	if (threadIdx.x == 0) *loss = (float)(sum / (double)*normaliser);
}
