// Matrix products by cuBLAS, whose library is loaded when it is first wanted.
#ifndef PRENORM_CUDA_BLAS_H
#define PRENORM_CUDA_BLAS_H

// prenorm_blas_open loads the library and makes a handle whose work runs on a CUstream. It returns NULL when that fails, *text saying why.
void *prenorm_blas_open(void *stream, const char **text);

// prenorm_gemm is the column-major product C[m,n] = op(A) op(B) + beta C, summed in float32. Operands are float32, or bfloat16 when narrow; C
// is float32, or bfloat16 when narrow_out. tf32 lets factors of float32 be rounded to 10 bits of mantissa.
struct prenorm_gemm {
	int trans_a, trans_b, m, n, k, lda, ldb, ldc, narrow, narrow_out, tf32;
	float beta;
	unsigned long long a, b, c;
};

// prenorm_blas_gemm enqueues it and returns cuBLAS's status.
int prenorm_blas_gemm(void *handle, const struct prenorm_gemm *g);

void prenorm_blas_close(void *handle);

#endif
