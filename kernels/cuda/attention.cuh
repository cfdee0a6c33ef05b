// What the float32 attention kernels share: tiles in shared memory, and the layout of a block.
//
// A block of Tile * 8 threads (at most 128) works on Tile rows of one head. Eight neighbouring lanes, a group, own Rows of them: lane g holds
// the scores of columns g, g+8, … and the elements g, g+8, … of the rows' vectors. A group lies in one warp, so __syncwarp orders what it
// writes to shared memory for itself.
#pragma once
#include "attentionmask.cuh"

// Layout of a block for head dimensions up to D, padded with zeros.
template <int D> struct Layout {
	static constexpr int Tile = D <= 64 ? 32 : D <= 128 ? 16 : 8;
	static constexpr int Threads = Tile * 8 < 128 ? Tile * 8 : 128;
	static constexpr int Rows = Tile * 8 / Threads; // of a group
	static constexpr int Columns = Tile / 8;        // scores of a row that a lane holds
	static constexpr int Each = D / 8;              // elements of a vector that a lane holds
	static constexpr int Pitch = D + 1;
};

// load_tile copies rows first … first+Tile-1 of one head of a sequence to shared memory, zeros past the sequence and past dim.
template <int D>
__device__ __forceinline__ void load_tile(float (*to)[D + 1], const float *__restrict__ x, int base, int first, int t, int width, int offset, int dim) {
	typedef Layout<D> L;
	for (int e = threadIdx.x; e < L::Tile * D; e += L::Threads) {
		const int r = e / D, c = e % D;
		to[r][c] = first + r < t && c < dim ? x[((ll)base + first + r) * width + offset + c] : 0.f;
	}
}

// products sets s[r][c] to the inner product of row own+r of x with row lane+8c of y.
template <int D>
__device__ __forceinline__ void products(float (&s)[Layout<D>::Rows][Layout<D>::Columns], const float (*x)[D + 1], const float (*y)[D + 1], int own, int lane) {
	typedef Layout<D> L;
#pragma unroll
	for (int r = 0; r < L::Rows; r++)
#pragma unroll
		for (int c = 0; c < L::Columns; c++) s[r][c] = 0.f;
#pragma unroll 4
	for (int d = 0; d < D; d++)
#pragma unroll
		for (int r = 0; r < L::Rows; r++) {
			const float a = x[own + r][d];
#pragma unroll
			for (int c = 0; c < L::Columns; c++) s[r][c] = fmaf(a, y[lane + 8 * c][d], s[r][c]);
		}
}

// gather joins the bits of a group's eight lanes.
__device__ __forceinline__ u32 gather(u32 bits) {
#pragma unroll
	for (int o = 4; o > 0; o >>= 1) bits |= __shfl_xor_sync(FULL, bits, o);
	return bits;
}

// accumulate adds to acc[r] the sum of weights[own+r][j] y[j] over the j whose bit of seen[r] is set: an element that a row does not see
// must not reach it even as zero times infinity.
template <int D>
__device__ __forceinline__ void accumulate(float (&acc)[Layout<D>::Rows][Layout<D>::Each], const float (*weights)[Layout<D>::Tile + 1], const float (*y)[D + 1],
                                           const u32 (&seen)[Layout<D>::Rows], int own, int lane) {
	typedef Layout<D> L;
#pragma unroll 2
	for (int j = 0; j < L::Tile; j++)
#pragma unroll
		for (int r = 0; r < L::Rows; r++)
			if (seen[r] >> j & 1) {
				const float w = weights[own + r][j];
#pragma unroll
				for (int e = 0; e < L::Each; e++) acc[r][e] = fmaf(w, y[j][lane + 8 * e], acc[r][e]);
			}
}

template <int R, int E> __device__ __forceinline__ void zero(float (&acc)[R][E]) {
#pragma unroll
	for (int r = 0; r < R; r++)
#pragma unroll
		for (int e = 0; e < E; e++) acc[r][e] = 0.f;
}

// store_tile writes the rows of a group, those inside the sequence, elements below dim.
template <int D>
__device__ __forceinline__ void store_tile(float *__restrict__ to, const float (&acc)[Layout<D>::Rows][Layout<D>::Each], int base, int row, int t, int width,
                                           int offset, int dim, int lane) {
	typedef Layout<D> L;
#pragma unroll
	for (int r = 0; r < L::Rows; r++)
#pragma unroll
		for (int e = 0; e < L::Each; e++)
			if (row + r < t && lane + 8 * e < dim) to[((ll)base + row + r) * width + offset + lane + 8 * e] = acc[r][e];
}
