#!/usr/bin/env bash
# All checks of the tag gpu, on a machine without a GPU: the build, the PTX made again and compared, its assembly for real chips, and the tests
# on a software CUDA driver, when its sources are there. Installs what it needs. Run from anywhere.
#
#	ci.sh        everything
#	ci.sh ptx    make the .ptx files again
#	ci.sh env    print the settings for go build -tags gpu and go test -tags gpu
#
# Variables: PRENORM_CUDA_TOOLS, where tools are kept; PRENORM_SOFTGPU, the software driver's sources.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tools=${PRENORM_CUDA_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/prenorm-cuda}
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
softgpu=${PRENORM_SOFTGPU:-$root/../shared/softgpu}

# The smallest set that has CUDA 11.8's headers (1 MB), its compiler from CUDA C++ to PTX (23 MB) and ptxas (20 MB). A later compiler would
# write PTX that drivers of 11.8 cannot read.
packages="nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-nvrtc-cu11==11.8.89 nvidia-cuda-nvcc-cu11==11.8.89"
headers=$tools/nvidia/cuda_runtime/include
export PRENORM_NVRTC=$tools/nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2
ptxas=$tools/nvidia/cuda_nvcc/bin/ptxas

loud() { printf '\n***\n*** %s\n***\n' "$*" >&2; }

# need installs Debian packages for a command that is missing.
need() {
	local command=$1
	shift
	command -v "$command" >/dev/null && return
	loud "$command is missing: installing $*"
	[ "$(id -u)" = 0 ] || { loud "not root: install $*, then run this again"; return 1; }
	apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

install_tools() {
	need gcc gcc libc6-dev
	need ar binutils
	if [ ! -f "$headers/cuda.h" ] || [ ! -f "$PRENORM_NVRTC" ] || [ ! -f "$ptxas" ]; then
		need python3 python3
		python3 -m pip --version >/dev/null 2>&1 || need pip3 python3-pip
		# shellcheck disable=SC2086
		python3 -m pip install --quiet --no-deps --upgrade --target "$tools" $packages >&2 ||
			{ loud "pip cannot install $packages: the tag gpu is NOT checked"; return 1; }
	fi
	chmod +x "$ptxas"
	local settings
	settings=$("$here/import.sh" "$tools/link" "$headers")
	eval "$settings"
}

# build_driver compiles the software driver, once for each state of its sources.
build_driver() {
	need g++ g++
	local state out flags fast
	state=$(cat "$softgpu"/*.cc "$softgpu"/*.h "$here"/testdata/softblas/*.h | sha256sum | cut -c1-16)
	out=$tools/softgpu-$state
	export PRENORM_LIBCUDA=$out/libcuda.so.1 PRENORM_LIBCUBLAS=$out/libcublas.so
	[ -f "$PRENORM_LIBCUBLAS" ] && return
	mkdir -p "$out.new"
	flags="-std=c++17 -fPIC -g1 -w -fno-strict-aliasing -fvisibility=hidden"
	fast="-O3 -mavx2 -mfma -mf16c -fno-math-errno -ffp-contract=off -frounding-math"
	# shellcheck disable=SC2086
	(
		cd "$out.new"
		g++ $flags $fast -c "$softgpu/ptx.cc" -o ptx.o
		g++ $flags $fast -c "$softgpu/exec.cc" -o exec.o
		g++ $flags -O2 "-I$headers" -c "$softgpu/driver.cc" -o driver.o
		g++ -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -o libcuda.so.1 driver.o exec.o ptx.o -lpthread
		g++ $flags -O3 -mavx2 -mfma "-I$headers" "-I$here/testdata/softblas" -c "$softgpu/cublas.cc" -o cublas.o
		g++ -shared -Wl,-z,defs -o libcublas.so cublas.o libcuda.so.1 -lpthread '-Wl,-rpath,$ORIGIN'
	)
	rm -rf "$out" && mv "$out.new" "$out"
}

assemble() {
	local arch file
	for arch in 80 86 89 90; do
		for file in "$here"/*.ptx; do
			"$ptxas" -arch="sm_$arch" -o /dev/null "$file" || { loud "ptxas refuses $(basename "$file") for sm_$arch"; return 1; }
		done
	done
}

test_ptx() { (cd "$root" && go test -tags gpu ./kernels/cuda -count=1 -run TestPTX "$@"); }

# run_tests runs the package's tests on the software driver with all of its checks, warps and blocks in two orders; then, without the check for
# races, which the kernels have passed by then, those of training that want a GPU and the program's own, all of them; and these once more
# without a driver.
run_tests() {
	if [ ! -d "$softgpu" ]; then
		loud "$softgpu is not there: no kernel of kernels/cuda is run, only built and assembled"
		(cd "$root" && go test -tags gpu ./kernels/cuda -count=1)
		test_program_alone
		return
	fi
	build_driver
	local seed
	for seed in 0 3; do
		(cd "$root" && EMU_RACECHECK=1 EMU_INITCHECK=1 EMU_FUZZ=$seed EMU_CC=80 go test -tags gpu ./kernels/cuda -count=1 -timeout 30m)
	done
	(cd "$root" && EMU_RACECHECK=0 EMU_CC=80 go test -tags gpu ./train -run GPU -count=1 -timeout 30m)
	(cd "$root" && EMU_RACECHECK=0 EMU_CC=80 go test -tags gpu ./cmd/prenorm -count=1 -timeout 30m)
	test_program_alone
}

# test_program_alone runs the program's tests where no driver is found.
test_program_alone() { (cd "$root" && PRENORM_LIBCUDA=/nowhere/libcuda.so.1 go test -tags gpu ./cmd/prenorm -count=1 -timeout 30m); }

install_tools
case ${1:-all} in
ptx) test_ptx -write ;;
env)
	if [ -d "$softgpu" ]; then
		build_driver
		printf 'export PRENORM_LIBCUDA=%q PRENORM_LIBCUBLAS=%q\n' "$PRENORM_LIBCUDA" "$PRENORM_LIBCUBLAS"
	fi
	printf 'export CGO_ENABLED=1 CGO_CFLAGS=%q CGO_LDFLAGS=%q PRENORM_NVRTC=%q\n' "$CGO_CFLAGS" "$CGO_LDFLAGS" "$PRENORM_NVRTC"
	;;
all)
	(cd "$root" && go build -tags gpu ./... && go vet -tags gpu ./...)
	[ ! -x "$root/bin/staticcheck" ] || (cd "$root" && bin/staticcheck -tags gpu ./kernels/cuda/...)
	test_ptx
	assemble
	run_tests
	;;
*)
	echo "usage: ci.sh [ptx|env]" >&2
	exit 2
	;;
esac
