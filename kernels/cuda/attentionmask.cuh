// What all attention kernels share: the shape of a call, and which row sees which.
#pragma once
#include "common.cuh"

// Problem is the shape of an attention call. Rows of q have heads * dim elements, rows of k and v kv_heads * dim.
struct Problem {
	int heads, kv_heads, dim, t, window;
	float scale, softcap;
	const int *documents; // [rows], or null
};

// MASK defines a comparison that decides whether a row sees another: seen_NAME gives its result, and keep_NAME x where it holds and minus
// infinity elsewhere. The instruction bears the name, so that a test can find it and take it away (mutation_test.go).
#define MASK(NAME, COMPARE)                                                                                                                      \
	__device__ __forceinline__ bool seen_##NAME(int a, int b) {                                                                                  \
		u32 y;                                                                                                                                   \
		asm("{\n\t.reg .pred seen;\n\tsetp." COMPARE ".s32 seen, %1, %2; // mask " #NAME "\n\tselp.u32 %0, 1, 0, seen;\n\t}"                    \
		    : "=r"(y)                                                                                                                            \
		    : "r"(a), "r"(b));                                                                                                                   \
		return y;                                                                                                                                \
	}                                                                                                                                            \
	__device__ __forceinline__ float keep_##NAME(float x, int a, int b) {                                                                        \
		float y;                                                                                                                                 \
		asm("{\n\t.reg .pred seen;\n\tsetp." COMPARE ".s32 seen, %2, %3; // mask " #NAME "\n\tselp.f32 %0, %1, 0fFF800000, seen;\n\t}"          \
		    : "=f"(y)                                                                                                                            \
		    : "f"(x), "r"(a), "r"(b));                                                                                                           \
		return y;                                                                                                                                \
	}
MASK(order, "le")        // key, query
MASK(window, "lt")       // their distance, window
MASK(document, "eq")     // their documents
MASK(lonedocument, "eq") // the same in what computes one row again

// sees says whether row i sees row j of the same sequence, whose first row is base.
__device__ __forceinline__ bool sees(const Problem &p, int base, int i, int j) {
	return i < p.t && seen_order(j, i) && (p.window <= 0 || seen_window(i - j, p.window)) &&
	       (!p.documents || seen_document(p.documents[base + i], p.documents[base + j]));
}

// first_seen is the first row that any of the rows from i on sees, rounded down to a tile.
template <int Tile> __device__ __forceinline__ int first_seen(const Problem &p, int i) {
	return p.window > 0 ? max(0, i - p.window + 1) / Tile * Tile : 0;
}
