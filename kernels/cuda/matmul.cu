// C = op(A) op(B) in float32: tiles in shared memory, a square of results in each thread's registers. Every element is one sum over k in
// order, whatever the tile.
#include "common.cuh"

// Operand reads op(X)[row, k] for a tile: TransX says that X is stored [k, rows].
template <bool Trans> __device__ __forceinline__ float operand(const float *__restrict__ x, int row, int k, int rows, int depth) {
	if (row >= rows || k >= depth) return 0.f;
	return Trans ? x[(ll)k * rows + row] : x[(ll)row * depth + k];
}

// load copies Tile rows of Depth elements of an operand to shared memory, transposed; neighbouring threads read neighbouring addresses.
template <bool Trans, int Tile, int Depth, int Threads>
__device__ __forceinline__ void load(float (*__restrict__ to)[Tile + 4], const float *__restrict__ x, int row, int k, int rows, int depth) {
#pragma unroll
	for (int e = threadIdx.x; e < Tile * Depth; e += Threads) {
		const int r = Trans ? e % Tile : e / Depth, d = Trans ? e / Tile : e % Depth;
		to[d][r] = operand<Trans>(x, row + r, k + d, rows, depth);
	}
}

// A block of 256 threads computes Tile x Tile elements, (Tile/16)² a thread.
template <bool TransA, bool TransB, int Tile>
__device__ __forceinline__ void matmul(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int n, int k, int accumulate) {
	constexpr int Depth = 16, Each = Tile / 16;
	__shared__ float as[Depth][Tile + 4], bs[Depth][Tile + 4];
	const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, tiles = ceil_div(n, Tile);
	const int row = blockIdx.x / tiles * Tile, column = blockIdx.x % tiles * Tile;
	float sum[Each][Each];
#pragma unroll
	for (int i = 0; i < Each; i++)
#pragma unroll
		for (int j = 0; j < Each; j++) sum[i][j] = 0.f;
	for (int at = 0; at < k; at += Depth) {
		load<TransA, Tile, Depth, 256>(as, a, row, at, m, k);
		load<!TransB, Tile, Depth, 256>(bs, b, column, at, n, k);
		__syncthreads();
#pragma unroll 4
		for (int d = 0; d < Depth; d++) {
			float x[Each], y[Each];
#pragma unroll
			for (int i = 0; i < Each; i++) x[i] = as[d][ty + 16 * i], y[i] = bs[d][tx + 16 * i];
#pragma unroll
			for (int i = 0; i < Each; i++)
#pragma unroll
				for (int j = 0; j < Each; j++) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < Each; i++)
#pragma unroll
		for (int j = 0; j < Each; j++) {
			const int r = row + ty + 16 * i, q = column + tx + 16 * j;
			if (r < m && q < n) {
				const ll o = (ll)r * n + q;
				c[o] = accumulate ? c[o] + sum[i][j] : sum[i][j];
			}
		}
}

#define SHAPE(name, TransA, TransB, Tile)                                                                                                    \
	extern "C" __global__ void __launch_bounds__(256) matmul_##name##_##Tile(float *c, const float *a, const float *b, int m, int n,     \
	                                                                         int k, int accumulate) {                                    \
		matmul<TransA, TransB, Tile>(c, a, b, m, n, k, accumulate);                                                                  \
	}
#define TILES(Tile)                   \
	SHAPE(nn, false, false, Tile) \
	SHAPE(nt, false, true, Tile)  \
	SHAPE(tn, true, false, Tile)  \
	SHAPE(tt, true, true, Tile)
TILES(32)
TILES(128)
