//go:build gpu

#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// The parts of cuBLAS's interface that are the same in versions 11, 12 and 13.
enum { real_float = 0, real_bfloat = 14, compute_float = 68, compute_tf32 = 77, default_algorithm = -1, no_narrow_sums = 16 };

static int (*create)(void **);
static int (*destroy)(void *);
static int (*set_stream)(void *, void *);
static int (*set_math_mode)(void *, int);
static int (*gemm_ex)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);

static char text[1024];

// load opens the library of the environment, or else the first of the usual names. Where there is none, text says of each why.
static void *load(void) {
	const char *named = getenv("PRENORM_LIBCUBLAS");
	const char *const usual[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
	const int one = named && *named;
	const char *const *names = one ? &named : usual;
	size_t used = 0;
	for (int i = 0; i < (one ? 1 : 3); i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library) return library;
		int wrote = snprintf(text + used, sizeof text - used, "%s%s", i ? "; " : "", dlerror());
		if (wrote > 0) used += (size_t)wrote;
		if (used >= sizeof text) used = sizeof text - 1; // it was cut
	}
	return NULL;
}

void *prenorm_blas_open(void *stream, const char **why) {
	*why = text;
	void *library = load();
	if (!library) return NULL;
	create = (int (*)(void **))dlsym(library, "cublasCreate_v2");
	destroy = (int (*)(void *))dlsym(library, "cublasDestroy_v2");
	set_stream = (int (*)(void *, void *))dlsym(library, "cublasSetStream_v2");
	set_math_mode = (int (*)(void *, int))dlsym(library, "cublasSetMathMode");
	*(void **)&gemm_ex = dlsym(library, "cublasGemmEx");
	if (!create || !destroy || !set_stream || !set_math_mode || !gemm_ex) {
		snprintf(text, sizeof text, "the library lacks a function of cuBLAS");
		return NULL;
	}
	void *handle = NULL;
	int status = create(&handle);
	if (status == 0 && ((status = set_stream(handle, stream)) != 0 || (status = set_math_mode(handle, no_narrow_sums)) != 0)) destroy(handle);
	if (status == 0) return handle;
	snprintf(text, sizeof text, "cublasCreate: status %d", status);
	return NULL;
}

int prenorm_blas_gemm(void *handle, const struct prenorm_gemm *g) {
	const float one = 1;
	const int operands = g->narrow ? real_bfloat : real_float, result = g->narrow_out ? real_bfloat : real_float;
	return gemm_ex(handle, g->trans_a, g->trans_b, g->m, g->n, g->k, &one, (const void *)g->a, operands, g->lda, (const void *)g->b, operands, g->ldb,
	               &g->beta, (void *)g->c, result, g->ldc, g->tf32 ? compute_tf32 : compute_float, default_algorithm);
}

void prenorm_blas_close(void *handle) { destroy(handle); }
