//go:build gpu

// Fills the table of trampolines from the CUDA driver's library.

#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define SYMBOL(name) #name,
static const char *const names[] = {
#include "symbols.inc"
};
#undef SYMBOL

extern void *prenorm_cuda_slots[]; // of the trampolines, in the order of symbols.inc

static int status = -1;
static char text[512];

// prenorm_cuda_absent stands for every function that could not be loaded: CUDA_ERROR_NO_DEVICE without a working driver, and
// CUDA_ERROR_NOT_SUPPORTED where the driver lacks just this one.
int prenorm_cuda_absent(void) { return status == 0 ? 801 : 100; }

int prenorm_cuda_status(const char **why) {
	*why = text;
	return status;
}

// cuInit is called by gorgonia.org/cu when the package is initialised, which ends the process when it fails. A program must start without a
// GPU, so this one loads the driver, remembers what it said, and reports success; every other call tells the truth.
int cuInit(unsigned flags) {
	const char *path = getenv("PRENORM_LIBCUDA");
	void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		snprintf(text, sizeof text, "%s", dlerror());
		return 0;
	}
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
	if (!init) {
		snprintf(text, sizeof text, "%s has no cuInit", path && *path ? path : "libcuda.so.1");
		return 0;
	}
	status = init(flags);
	if (status != 0) return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *function = dlsym(library, names[i]);
		if (function) prenorm_cuda_slots[i] = function;
	}
	return 0;
}
