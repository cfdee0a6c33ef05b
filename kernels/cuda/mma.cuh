// Tensor cores by inline PTX: matrix fragments, products of them, and copies to shared memory that run beside the arithmetic. All of it wants
// sm_80. Fragments are laid out as the PTX manual says of mma.m16n8k16 and mma.m16n8k8: with g = lane / 4 and t = lane % 4, a lane holds of
// C[16][8] the elements [g][2t], [g][2t+1], [g+8][2t], [g+8][2t+1].
#pragma once
#include "common.cuh"

// shared_address is a pointer into shared memory as the instructions want it.
__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// ldmatrix_4 loads four 8x8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8, aligned to 16 bytes.
__device__ __forceinline__ void ldmatrix_4(u32 (&r)[4], const void *row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// ldmatrix_4_trans loads them transposed.
__device__ __forceinline__ void ldmatrix_4_trans(u32 (&r)[4], const void *row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// mma_bf16 is c[16][8] += a[16][16] b[16][8] of bfloat16, summed in float.
__device__ __forceinline__ void mma_bf16(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma_tf32 is c[16][8] += a[16][8] b[8][8] of tf32, summed in float.
__device__ __forceinline__ void mma_tf32(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// to_tf32 rounds a float to the nearest tf32.
__device__ __forceinline__ u32 to_tf32(float x) {
	u32 y;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
	return y;
}

// copy_16 starts a copy of 16 bytes to shared memory, both addresses aligned to 16; only the first `bytes` are read, the rest are zeros.
__device__ __forceinline__ void copy_16(void *to, const void *from, int bytes) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
}

// copy_4 starts a copy of 4 bytes, both addresses aligned to 4; with bytes = 0 zeros are written.
__device__ __forceinline__ void copy_4(void *to, const void *from, int bytes) {
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes) : "memory");
}

// copies_commit ends a group of copies.
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// copies_wait waits until at most Pending of the last groups of this thread are under way. What other threads copied needs a barrier after it.
template <int Pending> __device__ __forceinline__ void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }
