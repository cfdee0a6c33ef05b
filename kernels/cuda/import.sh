#!/usr/bin/env bash
# Makes the archive that the linker wants for the -lcuda of gorgonia.org/cu, and prints the settings that build with it:
#
#	settings=$(kernels/cuda/import.sh DIR) && eval "$settings" && go build -tags gpu ./cmd/prenorm
#
# (eval "$(...)" alone would go on after an error.) The archive is empty: the program brings its own jumps to the CUDA driver, which it looks for
# when it starts, and so needs none to build or to start. A second argument is the folder of cuda.h, of CUDA 11.8 to 12.x; without it CUDA_HOME,
# the usual places and the packages of python3 are searched for one.
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: import.sh DIR [FOLDER OF cuda.h]" >&2
	exit 2
fi

# Prints CUDA_VERSION of the headers in a folder.
version() { sed -n 's/^#define CUDA_VERSION \([0-9]*\)$/\1/p' "$1/cuda.h"; }

# Prints where pip puts the headers of nvidia-cuda-runtime-cu12 and -cu11: below a folder of sys.path.
pip_places() {
	command -v python3 >/dev/null || return 0
	python3 -c 'import os, sys
for folder in sys.path: print(os.path.join(folder, "nvidia/cuda_runtime/include"))' 2>/dev/null || true
}

headers=
refused=
try() {
	[ -z "$headers" ] && [ -f "$1/cuda.h" ] || return 0
	local found
	found=$(version "$1")
	if [ "${found:-0}" -ge 11080 ] && [ "$found" -lt 13000 ]; then
		headers=$1
	else
		refused="$refused; $1/cuda.h is of CUDA version ${found:-unknown}, wants 11080 to 12999"
	fi
}

if [ -n "${2:-}" ]; then
	try "$2"
else
	for place in "${CUDA_HOME:-}/include" /usr/local/cuda/include /usr/include; do try "$place"; done
	while read -r place; do try "$place"; done < <(pip_places)
fi
if [ -z "$headers" ]; then
	echo "import.sh: no cuda.h of CUDA 11.8 to 12.x${2:+ in $2}$refused (python3 -m pip install nvidia-cuda-runtime-cu12 puts it at nvidia/cuda_runtime/include in site-packages," \
		"where import.sh looks by itself; so does Debian's nvidia-cuda-dev at /usr/include; or name its folder as the second argument)" >&2
	exit 1
fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)
headers=$(cd "$headers" && pwd)
rm -f "$dir/libcuda.a"
ar rcs "$dir/libcuda.a"
printf 'export CGO_ENABLED=1 CGO_CFLAGS=%q CGO_LDFLAGS=%q\n' "-I$headers" "-L$dir"
