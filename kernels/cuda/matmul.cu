// Products of float32 in float32: tiles in shared memory, a square of results in each thread's registers. Every element is one sum over k in
// order, whatever the tile; where k is cut into slices, each slice is, and the slices are added in order.
#include "matmul.cuh"

// Side is one operand as a tile of shared memory, [Depth][Tile + 4], of which each of 256 threads copies a quad. Deep says that the operand is
// stored [k, rows]; else it is [rows, k].
template <bool Deep, int Tile> struct Side {
	static constexpr int Pitch = Tile + 4, Depth = 1024 / Tile;
	float4 held; // of the next tile, on its way

	__device__ __forceinline__ void load(const float *__restrict__ x, int row, int rows, int k, int end, int ld, bool vector) {
		const int r = row + (Deep ? threadIdx.x % (Tile / 4) * 4 : threadIdx.x / (Depth / 4));
		const int d = k + (Deep ? threadIdx.x / (Tile / 4) : threadIdx.x % (Depth / 4) * 4);
		held = Deep ? quad(x + (ll)d * ld + r, d < end ? rows - r : 0, vector) : quad(x + (ll)r * ld + d, r < rows ? end - d : 0, vector);
	}

	__device__ __forceinline__ void store(float *to) const {
		if (Deep) {
			*(float4 *)(to + threadIdx.x / (Tile / 4) * Pitch + threadIdx.x % (Tile / 4) * 4) = held;
		} else {
			float *at = to + threadIdx.x % (Depth / 4) * 4 * Pitch + threadIdx.x / (Depth / 4);
			at[0] = held.x, at[Pitch] = held.y, at[2 * Pitch] = held.z, at[3 * Pitch] = held.w;
		}
	}
};

// fragment is a thread's elements of a row of a tile: four from 4 × (its place among 16), and four more 64 on where the tile is that wide. The
// instruction is written out because the compiler joins single reads to it in an order that varies from run to run.
template <int Each> __device__ __forceinline__ void fragment(float (&x)[Each], const float *row, int place) {
#pragma unroll
	for (int i = 0; i < Each; i += 4)
		asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
		             : "=f"(x[i]), "=f"(x[i + 1]), "=f"(x[i + 2]), "=f"(x[i + 3])
		             : "r"((u32)__cvta_generic_to_shared(row + place * 4 + i * 16))
		             : "memory");
}

// A block of 256 threads computes Tile × Tile elements, (Tile/16)² a thread. While it works on one pair of tiles, the next is on its way.
template <bool DeepA, bool DeepB, int Tile>
__device__ __forceinline__ void matmul(const Result &r, const float *__restrict__ a, const float *__restrict__ b, int lda, int ldb, int vector, Slice slice) {
	constexpr int Each = Tile / 16, Depth = 1024 / Tile, Pitch = Tile + 4, Size = Depth * Pitch;
	__shared__ __align__(16) float tiles[64 * Pitch]; // A's two and B's two; in the end 64 rows of sums
	const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
	const Block block = block_of(Tile, r.m, r.n);
	Side<DeepA, Tile> left;
	Side<DeepB, Tile> right;
	float sum[Each][Each];
#pragma unroll
	for (int i = 0; i < Each; i++)
#pragma unroll
		for (int j = 0; j < Each; j++) sum[i][j] = 0.f;
	auto load = [&](int k) {
		left.load(a, block.row, r.m, k, slice.end, lda, vector & 1);
		right.load(b, block.column, r.n, k, slice.end, ldb, vector & 2);
	};
	auto store = [&](int buffer) {
		left.store(tiles + buffer * Size);
		right.store(tiles + (2 + buffer) * Size);
	};
	load(slice.begin);
	store(0);
	__syncthreads();
	int buffer = 0;
	for (int k = slice.begin; k < slice.end; k += Depth, buffer ^= 1) {
		const bool more = k + Depth < slice.end;
		if (more) load(k + Depth);
#pragma unroll
		for (int d = 0; d < Depth; d++) {
			float x[Each], y[Each];
			fragment(x, tiles + buffer * Size + d * Pitch, ty);
			fragment(y, tiles + (2 + buffer) * Size + d * Pitch, tx);
#pragma unroll
			for (int i = 0; i < Each; i++)
#pragma unroll
				for (int j = 0; j < Each; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
		}
		if (more) store(buffer ^ 1);
		__syncthreads();
	}
#pragma unroll
	for (int half = 0; half < Each / 4; half++) {
		if (half > 0) __syncthreads(); // the rows before have been read
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int j = 0; j < Each; j += 4) {
				const float *v = &sum[4 * half + i][j];
				*(float4 *)(tiles + (ty * 4 + i) * Pitch + tx * 4 + j * 16) = make_float4(v[0], v[1], v[2], v[3]);
			}
		__syncthreads();
		finish<Tile, Pitch, 256>(r, tiles, block.row + 64 * half, 32, block.column);
	}
}

// Blocks with blockIdx.y > 0 write what their slice of k gives, m × n elements further.
#define SHAPE(name, DeepA, DeepB, Tile)                                                                                                          \
	extern "C" __global__ void __launch_bounds__(256, 2)                                                                                    \
	    matmul_##name##_##Tile(float *c, const float *a, const float *b, const float *bias, const float *residual, int m, int n, int k,     \
	                           int lda, int ldb, int ldc, int bfloat, int vector, int length) {                                            \
		const Result r = result_of(c + (ll)blockIdx.y * m * n, bias, residual, m, n, ldc, bfloat);                                      \
		matmul<DeepA, DeepB, Tile>(r, a, b, lda, ldb, vector, slice_of(k, length));                                                     \
	}
SHAPE(nn, false, true, 128)
SHAPE(nt, false, false, 128)
SHAPE(tn, true, true, 128)
SHAPE(nn, false, true, 64)
SHAPE(nt, false, false, 64)
SHAPE(tn, true, true, 64)
SHAPE(tt, true, false, 64)

// Few rows: C = A Bᵀ with up to Rows rows of A. A warp makes one column of C, so that B, which is nearly all that is read, is read once. Lanes
// take every 32nd quad, or element where the operands are not aligned to quads; their sums are added in a fixed order.
template <int Rows>
__device__ __forceinline__ void few(const Result &r, const float *__restrict__ a, const float *__restrict__ b, int k, int lda, int ldb, int vector) {
	const int lane = threadIdx.x % 32, column = blockIdx.x * 4 + threadIdx.x / 32;
	if (column >= r.n) return;
	b += (ll)column * ldb;
	float sum[Rows];
#pragma unroll
	for (int i = 0; i < Rows; i++) sum[i] = 0.f;
	const int whole = vector == 3 ? k / 4 * 4 : 0;
#pragma unroll(Rows > 1 ? 2 : 4)
	for (int at = lane * 4; at < whole; at += 128) {
		const float4 y = *(const float4 *)(b + at);
#pragma unroll
		for (int i = 0; i < Rows; i++) {
			const float4 x = *(const float4 *)(a + (ll)min(i, r.m - 1) * lda + at);
			sum[i] = fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum[i]))));
		}
	}
#pragma unroll 1
	for (int at = whole + lane; at < k; at += 32) {
		const float y = b[at];
#pragma unroll
		for (int i = 0; i < Rows; i++) sum[i] = fmaf(a[(ll)min(i, r.m - 1) * lda + at], y, sum[i]);
	}
#pragma unroll
	for (int i = 0; i < Rows; i++) {
		const float all = warp_sum(sum[i]);
		if (lane == i) sum[0] = all; // lane i stores row i
	}
	if (lane >= min(Rows, r.m)) return;
	const ll at = (ll)lane * r.ld + column;
	float v = sum[0];
	if (r.bias) v += r.bias[column];
	if (r.residual) v += r.residual[at];
	store(r, at, v);
}

#define FEW(Rows)                                                                                                                               \
	extern "C" __global__ void __launch_bounds__(128)                                                                                      \
	    matmul_few_##Rows(float *c, const float *a, const float *b, const float *bias, const float *residual, int m, int n, int k, int lda, \
	                      int ldb, int ldc, int bfloat, int vector) {                                                                      \
		few<Rows>(result_of(c, bias, residual, m, n, ldc, bfloat), a, b, k, lda, ldb, vector);                                          \
	}
FEW(1)
FEW(4)
FEW(8)

// c = the sum of `count` products of [m, n] that lie one after the other, in order, plus the bias and the residual. With one product, which may
// be c, it adds the bias and the residual to what cuBLAS gave.
extern "C" __global__ void matmul_finish(void *c, const float *sums, const float *bias, const float *residual, int m, int n, int bfloat, int count) {
	const Result r = result_of(c, bias, residual, m, n, n, bfloat);
	const ll all = (ll)m * n, quads = (all + 3) / 4;
	if (!r.vector) {
		ELEMENTS(i, all) {
			float v = sums[i];
			for (int p = 1; p < count; p++) v += sums[p * all + i];
			if (bias) v += bias[i % n];
			if (residual) v += residual[i];
			store(r, i, v);
		}
		return;
	}
	ELEMENTS(i, quads) { // n is a multiple of four here
		float4 v = *(const float4 *)(sums + 4 * i);
		for (int p = 1; p < count; p++) v = v + *(const float4 *)(sums + p * all + 4 * i);
		if (bias) v = v + *(const float4 *)(bias + (all >> 31 ? 4 * i % n : (u32)(4 * i) % (u32)n));
		if (residual) v = v + *(const float4 *)(residual + 4 * i);
		store_quad(r, 4 * i, v);
	}
}
