// Package cuda is the backend for NVIDIA GPUs: every call of package kernels in float32, and with bfloat16 views where [kernels.TypesOf] allows
// them, but for caches of keys and values, which are float32, through gorgonia.org/cu, in programs that are built with the tag gpu. Matrix products and attention of bfloat16 views, and products of
// float32 views in the precision tf32, run on tensor cores with sums in float32. Without the tag the package is empty and registers nothing, so that any program may import it.
//
// A program built with the tag starts on every machine: its CUDA symbols are jumps through a table that is filled from libcuda.so.1 when the
// program starts, or from the library that PRENORM_LIBCUDA names. Where there is none, opening the backend is an error that says so.
//
// One goroutine, locked to its thread, owns the CUDA context. A launch puts the kernels of a call into its queue and returns; uploads and
// downloads go through page-locked memory on a stream of their own, ordered with the launches by events. What a launch finds wrong, such as a
// token outside the vocabulary, comes back from the next Sync or Download. PRENORM_CUDA_SYNC=1 waits after every call, so that a fault of the
// device is blamed on the call that made it.
//
// One family of calls is one .cu file, the .ptx file made from it, and one .go file that binds its calls. No kernel adds floating-point
// numbers atomically and no sum depends on the device's size, so the same seed gives the same bytes.
//
// To build: import.sh DIR writes an empty archive for cu's -lcuda and prints the settings of CGO_CFLAGS and CGO_LDFLAGS; CUDA's headers must be
// of a version from 11.8 to 12.x. To make the .ptx files again: ci.sh ptx.
package cuda
