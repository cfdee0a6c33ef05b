// Rows of a matrix, each the work of a team of threads.
#pragma once
#include "vectors.cuh"

// held is how many elements of a row a thread keeps in registers at most.
constexpr int held = 16;

// Team is the part of a block that works on one row: `threads` threads, a power of two up to 32, or whole warps, up to 16 of them.
struct Team {
	int threads, lane;  // of the team
	int number, count;  // of teams in the block
	__device__ __forceinline__ Team(int threads)
	    : threads(threads), lane(threadIdx.x % threads), number(threadIdx.x / threads), count(blockDim.x / threads) {}

	// sum gives every thread the sums over its team. All threads of the block must call it. Each call of a kernel has its own Slot; a call
	// that is repeated has two Turns, taken one after the other, so that its one barrier guards what the turn before left.
	template <int Slot, int Turns = 1, int M> __device__ __forceinline__ void sum(float (&v)[M], int turn = 0) const {
		for (int o = min(threads, 32) / 2; o > 0; o >>= 1) {
#pragma unroll
			for (int m = 0; m < M; m++) v[m] += __shfl_xor_sync(FULL, v[m], o);
		}
		if (threads <= 32) return;
		__shared__ float part[Turns][M][16];
		if (threadIdx.x % 32 == 0) {
#pragma unroll
			for (int m = 0; m < M; m++) part[turn][m][threadIdx.x / 32] = v[m];
		}
		__syncthreads();
		const int warps = threads / 32, first = number * warps;
#pragma unroll
		for (int m = 0; m < M; m++) {
			v[m] = part[turn][m][first];
			for (int w = 1; w < warps; w++) v[m] += part[turn][m][first + w];
		}
	}

	// chunks calls f(chunk, i) for the chunks of N elements of a row of d that this thread holds; N divides d, and d is at most held * threads.
	template <int N, class F> __device__ __forceinline__ void chunks(int d, F f) const {
#pragma unroll
		for (int c = 0; c < held / N; c++) {
			const int i = (c * threads + lane) * N;
			if (i < d) f(c, i);
		}
	}

	// sweep calls f(width, i) for this thread's elements of a row of any size: N at a time if many, else one. Every sweep gives a thread the
	// same elements.
	template <int N, class F> __device__ __forceinline__ void sweep(int d, bool many, F f) const {
		if (many)
			for (int i = lane * N; i < d; i += threads * N) f(Width<N>{}, i);
		else
			for (int i = lane; i < d; i += threads) f(Width<1>{}, i);
	}
};
