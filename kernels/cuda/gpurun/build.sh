#!/usr/bin/env bash
# Makes the folder that is copied to a machine with a GPU: the program, the tests, the figures that these compare with, and the scripts.
#
#	settings=$(kernels/cuda/import.sh /tmp/prenorm-cuda) && eval "$settings" && kernels/cuda/gpurun/build.sh gpurun
#
# Then copy the folder gpurun, and there: ./run.sh. What that machine needs is in docs/gpu-results.md.
set -euo pipefail
[ $# = 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
# Tests look for files by their path in the repository, so that the folder has its shape.
mkdir -p "$out/kernels/cuda" "$out/cmd/prenorm" "$out/train/parity/testdata"
cd "$root"
go build -tags gpu -o "$out/prenorm" ./cmd/prenorm
go test -c -tags gpu -o "$out/kernels/cuda/cuda.test" ./kernels/cuda
go test -c -tags gpu -o "$out/cmd/prenorm/prenorm.test" ./cmd/prenorm
cp train/parity/testdata/*.safetensors "$out/train/parity/testdata/"
cp "$here/run.sh" "$here/torch_bench.py" "$here/report.py" "$out/"
git rev-parse HEAD >"$out/commit" 2>/dev/null || echo unknown >"$out/commit"
du -sh "$out"
if command -v objdump >/dev/null; then
	needs=$(objdump -T "$out/prenorm" "$out"/*/*/*.test | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
	echo "it runs on $(uname -m) with glibc ${needs#GLIBC_} or newer"
fi
