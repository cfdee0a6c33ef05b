// Products of bfloat16: the operands are exact, sums are float32.
#include "matmulmma.cuh"

SHAPES(matmul_bf16, bf16)
