#!/usr/bin/env bash
# Makes the folder that is copied to a machine with a GPU: the program, the tests, the figures that these compare with, and the scripts.
#
#	eval "$(kernels/cuda/import.sh DIR [FOLDER OF cuda.h])"    # or: eval "$(kernels/cuda/ci.sh env)"
#	kernels/cuda/gpurun/build.sh gpurun                        # then copy the folder gpurun, and there: ./run.sh
#
# That machine needs NVIDIA's driver and a C library no older than this one's; cuBLAS and Python with PyTorch for the comparison. No Go.
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
