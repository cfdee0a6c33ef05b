#!/usr/bin/env bash
# Makes the archive that the linker wants for the -lcuda of gorgonia.org/cu, and prints the settings that build with it:
#
#	eval "$(kernels/cuda/import.sh DIR [HEADERS])" && go build -tags gpu ./cmd/prenorm
#
# The archive is empty: the program brings its own jumps to the CUDA driver, which it looks for when it starts, and so needs none to build or
# to start. HEADERS is the folder of cuda.h, of CUDA 11.8 to 12.x; without it the usual places are tried.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: import.sh DIR [HEADERS]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
headers=${2:-}
if [ -z "$headers" ]; then
	for place in "${CUDA_HOME:-}/include" /usr/local/cuda/include /usr/include; do
		[ -f "$place/cuda.h" ] && headers=$place && break
	done
fi
[ -n "$headers" ] && [ -f "$headers/cuda.h" ] || {
	echo "import.sh: no cuda.h${headers:+ in $headers}: install CUDA's headers, 11.8 to 12.x (the package nvidia-cuda-runtime-cu12 of pip holds them, nvidia-cuda-dev of Debian too)" >&2
	exit 1
}
version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\)$/\1/p' "$headers/cuda.h")
if [ "${version:-0}" -lt 11080 ] || [ "$version" -ge 13000 ]; then
	echo "import.sh: $headers/cuda.h is of CUDA version ${version:-unknown}, wants 11080 to 12999" >&2
	exit 1
fi
rm -f "$dir/libcuda.a"
ar rcs "$dir/libcuda.a"
printf 'export CGO_ENABLED=1 CGO_CFLAGS=%q CGO_LDFLAGS=%q\n' "-I$headers" "-L$dir"
