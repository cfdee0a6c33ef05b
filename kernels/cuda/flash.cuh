// What the bfloat16 attention kernels share: tiles in shared memory, their products on tensor cores, and scores.
//
// A block of four warps owns a tile of rows, each warp 16 M of them, and lets tiles of other rows pass. Products are held as mma.cuh says of
// fragments: with g = lane / 4 and t = lane % 4, x[m][n][2h+e] is the element of row 16m + 8h + g and column 8n + 2t + e.
#pragma once
#include "attentionmask.cuh"
#include "mma.cuh"

#define THREADS 128
#define LANE (threadIdx.x % 32)
#define WARP (threadIdx.x / 32)
#define INFINITE __int_as_float(0x7f800000)
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

// EACH runs over the elements of fragments.
#define EACH(M, N, RUN)                                                                             \
	_Pragma("unroll") for (int m = 0; m < M; m++) _Pragma("unroll") for (int n = 0; n < N; n++) \
	    _Pragma("unroll") for (int e = 0; e < 4; e++) {                                         \
		RUN;                                                                                    \
	}

// spot is where 16 bytes of a tile of D columns lie: chunk c of row r. Chunks of a row trade places with its number, so that the eight rows
// that ldmatrix reads at once lie in different banks.
template <int D> __device__ __forceinline__ int spot(int r, int c) { return (r * (D / 8) + (c ^ (D % 64 == 0 ? r & 7 : r >> 1 & 3))) * 8; }

// Rows are the rows of one head of a sequence of t. aligned says that 16 bytes can be copied at once: the dimension is a multiple of 8, and
// the addresses of 16.
struct Rows {
	const bf16 *x;
	int t, stride, dim;
	bool aligned;
};

// gather_8 is n of 8 elements that lie anywhere, and zeros.
__device__ __forceinline__ uint4 gather_8(const bf16 *__restrict__ x, int n) {
	u32 w[4];
#pragma unroll
	for (int i = 0; i < 4; i++) w[i] = (2 * i < n ? (u32)x[2 * i] : 0) | (2 * i + 1 < n ? (u32)x[2 * i + 1] << 16 : 0);
	return make_uint4(w[0], w[1], w[2], w[3]);
}

// load starts to copy rows first … first+N-1 to a tile of D columns, zeros past the sequence and past the head dimension. Threads keep their
// column. Rows that are not aligned are copied at once.
template <int D, int N> __device__ __forceinline__ void load(bf16 *to, const Rows &from, int first) {
	constexpr int Chunks = D / 8, Step = THREADS / Chunks;
	const int c = threadIdx.x % Chunks, have = min(max(from.dim - 8 * c, 0), 8);
	if (THREADS % Chunks && threadIdx.x >= Step * Chunks) return;
	int r = threadIdx.x / Chunks;
	const bf16 *x = from.x + (ll)(first + r) * from.stride + 8 * c;
	if (from.aligned) {
#pragma unroll
		for (int i = 0; i < ceil_div(N, Step); i++, r += Step, x += (ll)Step * from.stride) {
			const int n = first + r < from.t ? have : 0;
			if (N % Step == 0 || r < N) copy_16(to + spot<D>(r, c), n > 0 ? x : from.x, 2 * n);
		}
	} else
#pragma unroll 1
		for (; r < N; r += Step, x += (ll)Step * from.stride) *(uint4 *)(to + spot<D>(r, c)) = gather_8(x, first + r < from.t ? have : 0);
}

// products sets s to the inner products of a warp's rows of a tile, from row `own` on, with the 8N rows of another.
template <int D, int M, int N> __device__ __forceinline__ void products(float (&s)[M][N][4], const bf16 *own, const bf16 *other) {
	EACH(M, N, s[m][n][e] = 0.f)
#pragma unroll 4
	for (int k = 0; k < D / 16; k++) {
		u32 a[M][4], b[4];
#pragma unroll
		for (int m = 0; m < M; m++) ldmatrix_4(a[m], own + spot<D>(WARP * 16 * M + 16 * m + LANE % 16, 2 * k + LANE / 16));
#pragma unroll
		for (int n = 0; n < N; n += 2) {
			ldmatrix_4(b, other + spot<D>(8 * n + LANE / 16 * 8 + LANE % 8, 2 * k + LANE / 8 % 2));
#pragma unroll
			for (int m = 0; m < M; m++) {
				mma_bf16(s[m][n], a[m], b[0], b[1]);
				mma_bf16(s[m][n + 1], a[m], b[2], b[3]);
			}
		}
	}
}

// accumulate adds to acc the product of weights, rounded to bfloat16, with 8W columns of a tile of 8N rows, from chunk `from` on.
template <int D, int M, int N, int W>
__device__ __forceinline__ void accumulate(float (&acc)[M][W][4], const float (&weights)[M][N][4], const bf16 *tile, int from = 0) {
#pragma unroll
	for (int k = 0; k < N; k += 2) {
		u32 a[M][4], b[4];
#pragma unroll
		for (int m = 0; m < M; m++) {
			const float *x = weights[m][k], *y = weights[m][k + 1];
			a[m][0] = pack(x[0], x[1]), a[m][1] = pack(x[2], x[3]), a[m][2] = pack(y[0], y[1]), a[m][3] = pack(y[2], y[3]);
		}
#pragma unroll
		for (int n = 0; n < W; n += 2) {
			ldmatrix_4_trans(b, tile + spot<D>(8 * k + LANE % 16, from + n + LANE / 16));
#pragma unroll
			for (int m = 0; m < M; m++) {
				mma_bf16(acc[m][n], a[m], b[0], b[1]);
				mma_bf16(acc[m][n + 1], a[m], b[2], b[3]);
			}
		}
	}
}

__device__ __forceinline__ float exp2_fast(float x) {
	float y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

__device__ __forceinline__ float reciprocal_fast(float x) {
	float y;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

// Scores are in units of ln 2: 2 to their power is e to the score. With a cap, cap tanh(x) = cap - 2 cap / (1 + e^2x), which is good to a few
// epsilons of the cap.
struct Scores {
	float factor, cap, inverse; // cap = 0: none
	__device__ __forceinline__ explicit Scores(const Problem &p)
	    : factor(p.softcap > 0.f ? 2.f * LOG2E * p.scale / p.softcap : LOG2E * p.scale), cap(p.softcap > 0.f ? LOG2E * p.softcap : 0.f),
	      inverse(p.softcap > 0.f ? 1.f / (LOG2E * p.softcap) : 0.f) {}
	// of is the score of an inner product.
	__device__ __forceinline__ float of(float s) const { return cap > 0.f ? capped(s) : s * factor; }
	__device__ __forceinline__ float capped(float s) const { return cap - 2.f * cap * reciprocal_fast(1.f + exp2_fast(s * factor)); }
	template <int M, int N> __device__ __forceinline__ void all(float (&s)[M][N][4]) const {
		if (cap > 0.f)
			EACH(M, N, s[m][n][e] = capped(s[m][n][e]))
		else
			EACH(M, N, s[m][n][e] *= factor)
	}
	// slope is the derivative of the capped score by the one before, 1 without a cap.
	__device__ __forceinline__ float slope(float score) const {
		const float t = score * inverse;
		return 1.f - t * t;
	}
};

// Ids is the range of the document ids of some rows.
struct Ids {
	int lo, hi;
	__device__ __forceinline__ bool one() const { return lo == hi; }
};

// ids_of is the range over N rows, those inside the sequence. All lanes of a warp call it and get the same.
template <int N> __device__ __forceinline__ Ids ids_of(const Problem &p, int base, int first) {
	int lo = 0x7fffffff, hi = ~lo;
	for (int r = first + LANE; r < first + N; r += 32) {
		const int id = p.documents[base + min(r, p.t - 1)];
		lo = min(lo, id), hi = max(hi, id);
	}
	return Ids{__reduce_min_sync(FULL, lo), __reduce_max_sync(FULL, hi)};
}

// Pass is a tile of N rows that passes by, and whether documents hide some pairs of rows in it.
template <int N> struct Pass {
	int at;
	bool mixed;
	// seek goes on to the first tile from at on and before end that shares a document with the own tile. All warps find the same.
	__device__ __forceinline__ void seek(const Problem &p, int base, const Ids &own, int end) {
		mixed = false;
		for (; p.documents && at < end; at += N) {
			const Ids ids = ids_of<N>(p, base, at);
			mixed = !(own.one() && ids.one());
			if (ids.lo <= own.hi && own.lo <= ids.hi) return;
		}
	}
};

// far says whether no query of i … i+I-1 sees a key of j … j+J-1, by their places.
__device__ __forceinline__ bool far(const Problem &p, int i, int I, int j, int J) { return j >= i + I || (p.window > 0 && i - (j + J - 1) >= p.window); }

// edged says whether some of those queries do not see some of the keys, by their places.
__device__ __forceinline__ bool edged(const Problem &p, int i, int I, int j, int J) { return j + J - 1 > i || (p.window > 0 && i + I - 1 - j >= p.window); }

// mask sets the scores of pairs that do not see each other to minus infinity. The thread's first row is `row`, its first column `column`; rows
// are queries and columns keys, or with Turned the other way round.
template <bool Turned, int M, int N>
__device__ __forceinline__ void mask(float (&z)[M][N][4], const Problem &p, int base, int row, int column, bool edge, bool mixed) {
	const int ahead = Turned ? row - column : column - row; // of the key before the query, for the first elements
#define AHEAD (ahead + (Turned ? -1 : 1) * (8 * n + e % 2 - 16 * m - e / 2 * 8))
	if (edge) EACH(M, N, z[m][n][e] = keep_order(z[m][n][e], AHEAD, 0))
	if (edge && p.window > 0) EACH(M, N, z[m][n][e] = keep_window(z[m][n][e], -(AHEAD), p.window))
#undef AHEAD
	if (!mixed) return;
	int ids[M][2];
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) ids[m][h] = p.documents[base + min(row + 16 * m + 8 * h, p.t - 1)];
#pragma unroll
	for (int n = 0; n < N; n++)
#pragma unroll
		for (int c = 0; c < 2; c++) {
			const int id = p.documents[base + min(column + 8 * n + c, p.t - 1)];
#pragma unroll
			for (int m = 0; m < M; m++)
#pragma unroll
				for (int h = 0; h < 2; h++) z[m][n][2 * h + c] = keep_document(z[m][n][2 * h + c], ids[m][h], id);
		}
}

// broken says which of a warp's rows, one bit each, hold sums that are not finite.
template <int M, int W> __device__ __forceinline__ u32 broken(const float (&acc)[M][W][4]) {
	u32 rows = 0;
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			float zero = 0.f;
#pragma unroll
			for (int n = 0; n < W; n++) zero += 0.f * acc[m][n][2 * h] + 0.f * acc[m][n][2 * h + 1];
			const u32 lanes = __ballot_sync(FULL, zero != 0.f); // NaN is not zero
#pragma unroll
			for (int g = 0; g < 8; g++) rows |= (u32)((lanes >> 4 * g & 15) != 0) << (16 * m + 8 * h + g);
		}
	return rows;
}

// store writes sums times factors, one for each row of a thread, as bfloat16 to rows that start at `first`, through the warp's own rows of a tile.
// It leaves the rows out whose bit of `broken` is set. The lanes of the warp must be done with reading the tile: a __syncwarp goes before.
template <int D, int M, int W>
__device__ __forceinline__ void store(const Rows &to, int first, const float (&acc)[M][W][4], const float (&factor)[M][2], u32 broken, bf16 *tile, int from = 0) {
	const int own = WARP * 16 * M;
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int n = 0; n < W; n++)
#pragma unroll
			for (int h = 0; h < 2; h++)
				*(u32 *)(tile + spot<D>(own + 16 * m + 8 * h + LANE / 4, from + n) + LANE % 4 * 2) =
				    pack(acc[m][n][2 * h] * factor[m][h], acc[m][n][2 * h + 1] * factor[m][h]);
	__syncwarp();
	for (int e = LANE; e < 16 * M * W; e += 32) {
		const int row = own + e / W, c = from + e % W, n = min(to.dim - 8 * c, 8);
		if (first + row >= to.t || n <= 0 || broken >> e / W & 1) continue;
		bf16 *y = (bf16 *)to.x + (ll)(first + row) * to.stride + 8 * c;
		const bf16 *x = tile + spot<D>(row, c);
		if (to.aligned)
			*(uint4 *)y = *(const uint4 *)x;
		else
			for (int d = 0; d < n; d++) y[d] = x[d];
	}
}
