// Products of float32 whose factors are rounded to tf32, 10 bits of mantissa; sums are float32.
#include "matmulmma.cuh"

SHAPES(matmul_tf32, float)
