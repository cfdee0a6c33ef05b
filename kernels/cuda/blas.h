// Matrix products by cuBLAS, whose library is loaded when it is first wanted.
#ifndef PRENORM_CUDA_BLAS_H
#define PRENORM_CUDA_BLAS_H

// prenorm_blas_open loads the library and makes a handle whose work runs on a CUstream. It returns NULL when that fails, *text saying why.
void *prenorm_blas_open(void *stream, const char **text);

// prenorm_blas_gemm enqueues the column-major product C[m,n] = op(A) op(B) + beta C in float32 and returns cuBLAS's status.
int prenorm_blas_gemm(void *handle, int trans_a, int trans_b, int m, int n, int k, unsigned long long a, int lda, unsigned long long b, int ldb,
                      float beta, unsigned long long c, int ldc);

void prenorm_blas_close(void *handle);

#endif
