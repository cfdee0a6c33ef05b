// Products on tensor cores, of bfloat16 or of float rounded to tf32, summed in float32. A block of four warps computes Tile × Tile elements from
// tiles of 64 bytes of k, of which three are in shared memory: two on their way while one is multiplied. Operands are taken as they are
// stored, in any of the four layouts: nothing is transposed in memory. Every element is summed over k in order, 16 or 8 at a time,
// whatever the tile.
#pragma once
#include "matmul.cuh"
#include "mma.cuh"

constexpr int Stages = 3;

// Side is one operand as a tile in shared memory, cut into pieces of 16 bytes. Deep says that it is stored [k, rows], and then so is the
// tile; else both are [rows, k]. Pieces are permuted within their row so that neither the copies nor the reads of a fragment meet in a bank.
template <class T, bool Deep, int Tile> struct Side {
	static constexpr int Piece = 16 / sizeof(T), Depth = 64 / sizeof(T), PerRow = Deep ? Tile / Piece : 4, Bytes = Tile * 64;

	// place is where a piece of a row lies.
	static __device__ __forceinline__ int place(int row, int piece) {
		const int turn = !Deep ? row >> 1 & 3 : sizeof(T) == 2 ? row & 7 : (row & 3) << 1;
		return (row * PerRow + (piece ^ turn)) * 16;
	}

	// copy starts the copies of a tile: rows from `row` on, of k … end. What is outside becomes zero.
	static __device__ __forceinline__ void copy(char *to, const T *__restrict__ x, int row, int rows, int k, int end, int ld) {
#pragma unroll
		for (int i = 0; i < Tile / 32; i++) {
			const int e = threadIdx.x + 128 * i, along = e / PerRow, piece = e % PerRow;
			int valid;
			const T *from = source(x, along, piece, row, rows, k, end, ld, valid);
			copy_16(to + place(along, piece), valid > 0 ? from : x, valid * (int)sizeof(T));
		}
	}

	// copy_elements does it at once, for an operand that is not aligned to pieces.
	static __device__ __forceinline__ void copy_elements(char *to, const T *__restrict__ x, int row, int rows, int k, int end, int ld) {
#pragma unroll 1
		for (int e = threadIdx.x; e < Tile * 4; e += 128) {
			const int along = e / PerRow, piece = e % PerRow;
			int valid;
			const T *from = source(x, along, piece, row, rows, k, end, ld, valid);
			__align__(16) T values[Piece];
#pragma unroll
			for (int j = 0; j < Piece; j++) values[j] = j < valid ? from[j] : T(0);
			*(uint4 *)(to + place(along, piece)) = *(const uint4 *)values;
		}
	}

	// source is where a piece comes from, and how many of its elements are inside.
	static __device__ __forceinline__ const T *source(const T *x, int along, int piece, int row, int rows, int k, int end, int ld, int &valid) {
		const int r = Deep ? row + piece * Piece : row + along, d = Deep ? k + along : k + piece * Piece;
		valid = Deep ? (d < end ? rows - r : 0) : (r < rows ? end - d : 0);
		valid = max(0, min(Piece, valid));
		return Deep ? x + (ll)d * ld + r : x + (ll)r * ld + d;
	}

	// fragment loads op(X)[row … row+15][32 bytes of k]: {low rows, high rows} × {low k, high k}, which is A of an mma, and B of two.
	static __device__ __forceinline__ void fragment(u32 (&f)[4], const char *tile, int row, int step) {
		const int lane = threadIdx.x % 32, in = lane % 8, matrix = lane / 8;
		if (!Deep) {
			ldmatrix_4(f, tile + place(row + (matrix & 1) * 8 + in, 2 * step + (matrix >> 1)));
		} else if (sizeof(T) == 2) {
			ldmatrix_4_trans(f, tile + place(16 * step + (matrix >> 1) * 8 + in, row / 8 + (matrix & 1)));
		} else {
			const int g = lane / 4, t = lane % 4;
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const int r = row + (i & 1) * 8 + g;
				f[i] = *(const u32 *)(tile + place(8 * step + (i >> 1) * 4 + t, r / 4) + r % 4 * 4);
			}
		}
		if (sizeof(T) == 4) {
#pragma unroll
			for (int i = 0; i < 4; i++) f[i] = to_tf32(__uint_as_float(f[i]));
		}
	}
};

__device__ __forceinline__ void multiply(bf16, float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { mma_bf16(c, a, b0, b1); }
__device__ __forceinline__ void multiply(float, float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) { mma_tf32(c, a, b0, b1); }

extern __shared__ __align__(16) char stages[];

// The four warps share the tile as 2 × 2 squares of Tile/2, each of fragments of 16 × 8.
template <class T, bool DeepA, bool DeepB, int Tile>
__device__ __forceinline__ void matmul(const Result &r, const T *__restrict__ a, const T *__restrict__ b, int lda, int ldb, int vector, Slice slice) {
	using A = Side<T, DeepA, Tile>;
	using B = Side<T, DeepB, Tile>;
	constexpr int Half = Tile / 2, Down = Half / 16, Across = Half / 8, Stage = A::Bytes + B::Bytes;
	const int warp = threadIdx.x / 32, down = warp / 2 * Half, across = warp % 2 * Half;
	const Block block = block_of(Tile, r.m, r.n);
	float sum[Down][Across][4];
#pragma unroll
	for (int i = 0; i < Down; i++)
#pragma unroll
		for (int j = 0; j < Across; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) sum[i][j][e] = 0.f;
	auto copy = [&](int k, int stage) {
		if (k < slice.end) {
			char *to = stages + stage * Stage;
			if (Tile == 128 || vector & 1)
				A::copy(to, a, block.row, r.m, k, slice.end, lda);
			else
				A::copy_elements(to, a, block.row, r.m, k, slice.end, lda);
			if (Tile == 128 || vector & 2)
				B::copy(to + A::Bytes, b, block.column, r.n, k, slice.end, ldb);
			else
				B::copy_elements(to + A::Bytes, b, block.column, r.n, k, slice.end, ldb);
		}
		copies_commit();
	};
#pragma unroll 1
	for (int s = 0; s < Stages - 1; s++) copy(slice.begin + s * A::Depth, s);
	int stage = 0;
	for (int k = slice.begin; k < slice.end; k += A::Depth) {
		copies_wait<Stages - 2>();
		__syncthreads(); // the stage is there for all, and all have done with the one before it
		copy(k + (Stages - 1) * A::Depth, stage == 0 ? Stages - 1 : stage - 1);
		const char *tile = stages + stage * Stage;
#pragma unroll
		for (int step = 0; step < 2; step++) {
			u32 x[Down][4], y[Across / 2][4];
#pragma unroll
			for (int i = 0; i < Down; i++) A::fragment(x[i], tile, down + 16 * i, step);
#pragma unroll
			for (int j = 0; j < Across / 2; j++) B::fragment(y[j], tile + A::Bytes, across + 16 * j, step);
#pragma unroll
			for (int i = 0; i < Down; i++)
#pragma unroll
				for (int j = 0; j < Across; j++) multiply(T(), sum[i][j], x[i], y[j / 2][j % 2], y[j / 2][2 + j % 2]);
		}
		stage = stage == Stages - 1 ? 0 : stage + 1;
	}
	constexpr int Pitch = Tile + 8; // keeps the stores of a fragment in different banks
	float *sums = (float *)stages;
	const int lane = threadIdx.x % 32;
#pragma unroll
	for (int pass = 0; pass < Tile / 64; pass++) { // 32 rows of each warp
		__syncthreads(); // the stages, or the rows before, have been read
#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int j = 0; j < Across; j++) {
				const float *v = sum[2 * pass + i][j];
				float *to = sums + (warp / 2 * 32 + 16 * i + lane / 4) * Pitch + across + 8 * j + lane % 4 * 2;
				*(float2 *)to = make_float2(v[0], v[1]);
				*(float2 *)(to + 8 * Pitch) = make_float2(v[2], v[3]);
			}
		__syncthreads();
		finish<Tile, Pitch, 128>(r, sums, block.row + 32 * pass, Half, block.column);
	}
}

// Blocks with blockIdx.y > 0 write what their slice of k gives, m × n floats further. The tile of 128 wants both operands aligned.
#define SHAPE(family, T, name, DeepA, DeepB, Tile)                                                                                              \
	extern "C" __global__ void __launch_bounds__(128, Tile == 128 ? 2 : 4)                                                                 \
	    family##_##name##_##Tile(char *c, const T *a, const T *b, const float *bias, const float *residual, int m, int n, int k, int lda,   \
	                             int ldb, int ldc, int bfloat, int vector, int length) {                                                   \
		const Result r = result_of(c + 4 * (ll)blockIdx.y * m * n, bias, residual, m, n, ldc, bfloat);                                  \
		matmul<T, DeepA, DeepB, Tile>(r, a, b, lda, ldb, vector, slice_of(k, length));                                                  \
	}
#define SHAPES(family, T)                       \
	SHAPE(family, T, nn, false, true, 128)  \
	SHAPE(family, T, nt, false, false, 128) \
	SHAPE(family, T, tn, true, true, 128)   \
	SHAPE(family, T, nn, false, true, 64)   \
	SHAPE(family, T, nt, false, false, 64)  \
	SHAPE(family, T, tn, true, true, 64)    \
	SHAPE(family, T, tt, true, false, 64)
