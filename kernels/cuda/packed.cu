// Weights packed in bfloat16 or in 8 bits with a scale for each run of 32, and products of few rows with them: these wait for the weights to be
// read, so that fewer bytes are faster in proportion. Kernels whose name ends in 0 are of bfloat16, in 1 of 8 bits.
#include "common.cuh"

#define RUN 32

// rounded is the bfloat16 nearest to x, the even one of two; a NaN keeps its upper bits and becomes quiet.
__device__ __forceinline__ u32 rounded(float x) {
	const u32 bits = __float_as_uint(x);
	return x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// words[i] = elements 2i and 2i+1 of w
extern "C" __global__ void pack_0(u32 *words, const float *w, ll n) {
	ELEMENTS(i, n) words[i] = rounded(w[2 * i]) | rounded(w[2 * i + 1]) << 16;
}

extern "C" __global__ void round_0(float *y, const float *w, ll n) {
	ELEMENTS(i, n) y[i] = __uint_as_float(rounded(w[i]) << 16);
}

// run_scale is the scale of the run whose weights the lanes hold, as bfloat16 bits.
__device__ __forceinline__ u32 run_scale(float w) {
	const bool finite = __all_sync(FULL, w - w == 0.f);
	const float top = warp_max(fabsf(w));
	return finite ? (__float_as_uint(top / 127.f) + 0xffff) >> 16 : 0x7fc0;
}

// run_integer is the integer that stands for a weight.
__device__ __forceinline__ int run_integer(float w, u32 scale) {
	const float s = __uint_as_float(scale << 16);
	return s > 0.f ? __float2int_rn(w / s) : 0;
}

// A warp packs a run of the `runs` in each row. lds is the distance of rows of scales in words.
extern "C" __global__ void pack_1(u32 *words, u32 *scales, const float *w, ll all, int runs, int lds) {
	const int lane = threadIdx.x % 32;
	for (ll r = (blockIdx.x * (ll)blockDim.x + threadIdx.x) / 32; r < all; r += (ll)gridDim.x * blockDim.x / 32) {
		const float x = w[r * RUN + lane];
		const u32 scale = run_scale(x);
		u32 word = (u32)run_integer(x, scale) & 0xff;
		word |= __shfl_down_sync(FULL, word, 1) << 8;
		word |= __shfl_down_sync(FULL, word, 2) << 16;
		if (lane % 4 == 0) words[(r * RUN + lane) / 4] = word;
		const int i = (int)(r % runs);
		unsigned short *halves = (unsigned short *)(scales + r / runs * lds) + i;
		if (lane == 0) halves[0] = (unsigned short)scale;
		if (lane == 1 && i + 1 == runs && i % 2 == 0) halves[1] = 0; // no run's
	}
}

extern "C" __global__ void round_1(float *y, const float *w, ll all) {
	const int lane = threadIdx.x % 32;
	for (ll r = (blockIdx.x * (ll)blockDim.x + threadIdx.x) / 32; r < all; r += (ll)gridDim.x * blockDim.x / 32) {
		const float x = w[r * RUN + lane];
		const u32 scale = run_scale(x);
		y[r * RUN + lane] = (float)run_integer(x, scale) * __uint_as_float(scale << 16);
	}
}

// signed_byte is byte e of a word: 128 more than that as an unsigned one, and 128 less again, which is exact.
__device__ __forceinline__ float signed_byte(u32 word, int e) { return (float)((word ^ 0x80808080u) >> 8 * e & 0xff) - 128.f; }

// y[m,n] = x[m,k] times the rows of the packed matrix, plus the bias and the residual unless they are null. A warp takes one row of the matrix
// and Rows rows of x. ldw and lds are distances of rows in words; quads says whether rows begin at multiples of 16 bytes.
template <bool Bytes, int Rows>
__device__ __forceinline__ void multiply(float *__restrict__ y, const float *__restrict__ x, const u32 *__restrict__ w, const u32 *__restrict__ scales,
                                         const float *__restrict__ bias, const float *__restrict__ residual, int m, int n, int k, int ldw, int lds, int quads) {
	const int lane = threadIdx.x % 32, columns = ceil_div(n, 4), column = blockIdx.x % columns * 4 + threadIdx.x / 32, first = blockIdx.x / columns * Rows;
	if (column >= n) return;
	w += (ll)column * ldw;
	const unsigned short *halves = (const unsigned short *)(scales + (ll)column * lds);
	const float *rows[Rows];
	float sum[Rows];
#pragma unroll
	for (int i = 0; i < Rows; i++) rows[i] = x + (ll)min(first + i, m - 1) * k, sum[i] = 0.f;
	const int per = Bytes ? 4 : 2; // elements of a word
	for (int at = lane * 4; at < ldw; at += 128) {
		u32 word[4];
		if (quads) {
			const uint4 q = *(const uint4 *)(w + at);
			word[0] = q.x, word[1] = q.y, word[2] = q.z, word[3] = q.w;
		} else {
#pragma unroll
			for (int u = 0; u < 4; u++) word[u] = w[at + u];
		}
		const float factor = Bytes ? __uint_as_float((u32)halves[at * per / RUN] << 16) : 1.f;
#pragma unroll
		for (int u = 0; u < 4; u++) {
#pragma unroll
			for (int e = 0; e < per; e++) {
				const float v = Bytes ? signed_byte(word[u], e) * factor : __uint_as_float(e ? word[u] & 0xffff0000u : word[u] << 16);
#pragma unroll
				for (int i = 0; i < Rows; i++) sum[i] = fmaf(rows[i][(at + u) * per + e], v, sum[i]);
			}
		}
	}
#pragma unroll
	for (int i = 0; i < Rows; i++) {
		const float all = warp_sum(sum[i]);
		if (lane == i) sum[0] = all; // lane i stores row i
	}
	if (lane >= Rows || first + lane >= m) return;
	const ll at = (ll)(first + lane) * n + column;
	float v = sum[0];
	if (bias) v += bias[column];
	if (residual) v += residual[at];
	y[at] = v;
}

#define MULTIPLY(Bytes, Rows)                                                                                                                          \
	extern "C" __global__ void __launch_bounds__(128)                                                                                             \
	    multiply_##Rows##_##Bytes(float *y, const float *x, const u32 *w, const u32 *scales, const float *bias, const float *residual, int m, int n, \
	                              int k, int ldw, int lds, int quads) {                                                                             \
		multiply<Bytes != 0, Rows>(y, x, w, scales, bias, residual, m, n, k, ldw, lds, quads);                                                 \
	}
MULTIPLY(0, 1)
MULTIPLY(0, 4)
MULTIPLY(0, 8)
MULTIPLY(1, 1)
MULTIPLY(1, 4)
MULTIPLY(1, 8)
