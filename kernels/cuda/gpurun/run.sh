#!/usr/bin/env bash
# Does everything that is to be known of a GPU, in ten minutes: doctor, the tests of every kernel and of whole models, measurements of training
# and sampling with prenorm's own matrix products and with cuBLAS's, and PyTorch with the same models. Writes report.md in a new folder
# results-DATE-TIME. It runs in the folder that build.sh makes. The exit code is 1 where no GPU can be used or anything failed; the report is
# written all the same. What the machine lacks, cuBLAS or PyTorch, is left out, and the report says why; that is no failure.
#
# Variables, all optional:
#	GPURUN_MINUTES   how long all of it may take (9); the limits of the phases grow and shrink with it
#	GPURUN_SECONDS   how long each part of a measurement takes (6)
#	GPURUN_PYTHON    the Python that has torch (python3)
#	GPURUN_TINY=1    models of a few thousand parameters and a few tests: a rehearsal, on whatever driver PRENORM_LIBCUDA names
#	GPURUN_TORCH     more words for torch_bench.py, such as --no-compile, or --device cpu where the Python has no CUDA
#	PRENORM_LIBCUBLAS, PRENORM_LIBCUDA  the libraries' files; without the first, cuBLAS is looked for among the packages of pip, then by the loader
set -uo pipefail
cd "$(dirname "$0")" || exit 1
minutes=${GPURUN_MINUTES:-9}
seconds=${GPURUN_SECONDS:-6}
python=${GPURUN_PYTHON:-python3}
case $minutes in
'' | 0* | *[!0-9]*)
	echo "GPURUN_MINUTES=$minutes: wants a whole number of minutes, at least 1" >&2
	exit 2
	;;
esac
results=$PWD/results-$(date +%Y%m%d-%H%M%S)
mkdir "$results" || exit 1

# Tests skip themselves without a driver unless its file is named: then a missing GPU is a failure, as it must be here.
export PRENORM_LIBCUDA=${PRENORM_LIBCUDA:-libcuda.so.1}

# The models: sizes for both programs, and what only the run file has. One micro-batch is one step.
gpt2="layers=12 width=768 heads=12 ffn=3072 context=1024 vocab=50257"
gpt2_batch=12
llama="layers=6 width=288 heads=6 ffn=768 context=256 vocab=32000"
llama_batch=128
byte=()
kernels='.'
without='TestPTX|TestMutations|TestOrderOfBlocks|TestOldGPU|TestNoDevice'
program='^TestGPU'
if [ -n "${GPURUN_TINY:-}" ]; then
	gpt2="layers=1 width=32 heads=2 ffn=64 context=16 vocab=300"
	llama="layers=1 width=32 heads=2 ffn=64 context=16 vocab=300"
	gpt2_batch=2 llama_batch=2
	byte=(--set data.tokenizer.kind=byte)
	kernels='TestConformance/^(add|matmul|rmsnorm)$|TestGolden/own/ignore-index'
	program='^TestGPU(Doctor|OutOfMemory)$'
fi

# skip NAME LIMIT WHY: leaves a phase out. Its time goes to those after it.
allotted=0
skip() {
	allotted=$((allotted + $2 * minutes / 9))
	echo "left out: $3" >"$results/$1.status"
	say "$1"
}

# phase NAME LIMIT COMMAND...: runs a command as try does, and says what came of it.
phase() {
	try "$@"
	say "$1"
}

say() { sed "s/^/$1: /" "$results/$1.status"; }

# try NAME LIMIT COMMAND...: runs a command with a limit in seconds, and what the phases before it left of theirs. The limits below add up to
# nine minutes. Its output goes to NAME.log, its outcome to NAME.status. A phase that fails does not end the run.
try() {
	local name=$1 began=$SECONDS code=0
	allotted=$((allotted + $2 * minutes / 9))
	local limit=$((allotted - SECONDS))
	shift 2
	[ "$limit" -lt 5 ] && limit=5
	timeout -k 5 "$limit" "$@" >"$results/$name.log" 2>&1 </dev/null || code=$?
	case $code in
	0) echo "ok, $((SECONDS - began)) s" >"$results/$name.status" ;;
	124 | 137) fail "$name" "stopped after $limit s" ;;
	*) fail "$name" "exit code $code, $((SECONDS - began)) s: $(tail -n 1 "$results/$name.log")" ;;
	esac
}

# fail NAME WHY: marks a phase as failed, and so the run.
fail() { echo "FAILED: $2" >"$results/$1.status"; }

# tests NAME LIMIT FOLDER COMMAND...: a phase of tests. A program of tests that ran none, or skipped one because it found no device, did not pass.
tests() {
	local name=$1
	try "$name" "$2" env -C "$3" "${@:4}"
	if ! grep -q '^ok' "$results/$name.status"; then
		: # it failed by itself
	elif ! grep -q '^--- PASS' "$results/$name.log"; then
		fail "$name" "no test ran"
	elif grep -Eq 'no NVIDIA driver|found no usable GPU' "$results/$name.log"; then
		fail "$name" "tests found no GPU"
	fi
	say "$name"
}

# Prints the file of cuBLAS that pip installed, of CUDA 13 or of an earlier one.
pip_blas() {
	"$python" -c '
import glob, os, sys
for pattern in "nvidia/cu13/lib", "nvidia/cublas/lib":
    for folder in sys.path:
        for path in sorted(glob.glob(os.path.join(folder, pattern, "libcublas.so.1[123]"))):
            print(path)
            raise SystemExit
' 2>/dev/null
}

# bench NAME PRESET SIZES BATCH PRODUCTS: measures a model in bf16.
bench() {
	if [ "$5" = cublas ] && [ -n "$no_blas" ]; then
		skip "$1" 43 "$no_blas"
		return
	fi
	local sizes=() size
	for size in $3; do sizes+=(--set "model.$size"); done
	# shellcheck disable=SC2016
	phase "$1" 43 bash -c 'file=$1 && shift && exec ./prenorm bench "$@" >"$file"' bench "$results/$1.json" --config "$2" --device cuda --json --seconds "$seconds" --set precision=bf16 \
		"${byte[@]}" "${sizes[@]}" --set "train.batch=$4" --set train.accumulate=1 --set "kernels.matmul=$5"
}

# torch NAME KIND SIZES BATCH: the same model in PyTorch.
torch() {
	if [ -n "$no_torch" ]; then
		skip "$1" 59 "$no_torch"
		return
	fi
	local words=() size
	for size in $3; do words+=("--${size%%=*}" "${size#*=}"); done
	# shellcheck disable=SC2086
	phase "$1" 59 "$python" torch_bench.py --kind "$2" "${words[@]}" --batch "$4" --seconds "$seconds" --out "$results/$1.json" ${GPURUN_TORCH:-}
}

# finish writes the report and ends the run.
finish() {
	{
		command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
			head -n 1 /proc/driver/nvidia/version 2>/dev/null || echo "no version known: neither nvidia-smi nor /proc/driver/nvidia/version"
	} >"$results/driver.txt"
	command -v nvidia-smi >/dev/null && nvidia-smi >"$results/nvidia-smi.log" 2>&1
	if "$python" report.py "$results" "$SECONDS" >"$results/report.md"; then
		echo "$results/report.md is written, after $SECONDS s"
	else
		echo "no report could be made; the figures are in $results/*.json and $results/*.log" >&2
		exit 1
	fi
	if grep -l '^FAILED' "$results"/*.status >/dev/null; then
		echo "FAILED: see the phases above" >&2
		exit 1
	fi
	exit 0
}

if [ -z "${PRENORM_LIBCUBLAS:-}" ] && found=$(pip_blas) && [ -n "$found" ]; then
	# Its libcublasLt lies beside it.
	export PRENORM_LIBCUBLAS=$found LD_LIBRARY_PATH=$(dirname "$found")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

try doctor 60 ./prenorm doctor
# The doctor gets to the line of bf16 only where it opened a GPU; without one it warns, as training on the CPU is possible.
no_gpu=
if ! grep -Eq '^(ok|FAIL) +cuda bf16 ' "$results/doctor.log"; then
	no_gpu=yes
	fail doctor "no usable GPU: $(grep -E '^(warn|FAIL) +cuda ' "$results/doctor.log" || echo "see doctor.log")"
fi
say doctor
[ -n "$no_gpu" ] && finish
no_blas=
grep -Eq '^ok +cuda cuBLAS ' "$results/doctor.log" || no_blas=$(sed -nE 's/^warn +cuda cuBLAS +//p' "$results/doctor.log" | grep . || echo "the doctor says nothing of cuBLAS")
no_torch=
"$python" -c 'import torch' >"$results/torch.log" 2>&1 || no_torch="$python cannot import torch: $(tail -n 1 "$results/torch.log")"

tests kernels 140 kernels/cuda ./cuda.test -test.v -test.run "$kernels" -test.skip "$without"
tests program 50 cmd/prenorm ./prenorm.test -test.v -test.run "$program"
bench gpt2-own gpt2-124m "$gpt2" "$gpt2_batch" own
bench gpt2-cublas gpt2-124m "$gpt2" "$gpt2_batch" cublas
bench llama-own llama-15m "$llama" "$llama_batch" own
bench llama-cublas llama-15m "$llama" "$llama_batch" cublas
torch gpt2-torch gpt2 "$gpt2" "$gpt2_batch"
torch llama-torch llama "$llama" "$llama_batch"
finish
