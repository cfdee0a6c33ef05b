// What the program knows about the CUDA driver's library.
#ifndef PRENORM_CUDA_LOAD_H
#define PRENORM_CUDA_LOAD_H

// prenorm_cuda_status returns cuInit's own result, or -1 when there is no library. *text says what the dynamic linker had against it, and is
// empty otherwise.
int prenorm_cuda_status(const char **text);

#endif
