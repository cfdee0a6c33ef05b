#!/usr/bin/env bash
# Does everything that is to be known of a GPU, in ten minutes: doctor, the tests of every kernel and of whole models, measurements of training
# and sampling with prenorm's own matrix products and with cuBLAS's, and PyTorch with the same models. Writes results/report.md.
# It runs in the folder that build.sh makes.
#
# Variables, all optional:
#	GPURUN_MINUTES   when to stop starting things (9)
#	GPURUN_SECONDS   how long each part of a measurement takes (6)
#	GPURUN_PYTHON    the Python that has torch (python3)
#	GPURUN_TINY=1    models of a few thousand parameters and a few tests: a rehearsal, for a machine without a GPU
#	GPURUN_TORCH     more words for torch_bench.py, such as --no-compile
set -uo pipefail
cd "$(dirname "$0")" || exit 1
results=$PWD/results
rm -rf "$results" && mkdir -p "$results"
deadline=$((60 * ${GPURUN_MINUTES:-9}))
seconds=${GPURUN_SECONDS:-6}
python=${GPURUN_PYTHON:-python3}

# The models: sizes for both programs, and what only the run file has. One micro-batch is one step.
gpt2="layers=12 width=768 heads=12 ffn=3072 context=1024 vocab=50257"
gpt2_batch=12
llama="layers=6 width=288 heads=6 ffn=768 context=256 vocab=32000"
llama_batch=128
byte=()
tests='.'
without='TestPTX|TestMutations|TestOrderOfBlocks|TestOldGPU|TestNoDevice'
program='^TestGPU'
if [ -n "${GPURUN_TINY:-}" ]; then
	gpt2="layers=1 width=32 heads=2 ffn=64 context=16 vocab=300"
	llama="layers=1 width=32 heads=2 ffn=64 context=16 vocab=300"
	gpt2_batch=2 llama_batch=2
	byte=(--set data.tokenizer.kind=byte)
	tests='TestConformance/^(add|matmul|rmsnorm)$|TestGolden/own/ignore-index'
	program='^TestGPU(Doctor|OutOfMemory)$'
fi

# phase NAME LIMIT COMMAND...: runs a command with a limit in seconds, less where the time is nearly up. Its output goes to results/NAME.log,
# its exit code to results/NAME.status. A phase that fails does not end the run.
phase() {
	local name=$1 limit=$2 left=$((deadline - SECONDS))
	shift 2
	if [ "$left" -lt 5 ]; then
		echo "left out: no time" >"$results/$name.status"
		return
	fi
	[ "$left" -lt "$limit" ] && limit=$left
	local began=$SECONDS code=0
	timeout -k 5 "$limit" "$@" >"$results/$name.log" 2>&1 </dev/null || code=$?
	case $code in
	0) echo "ok, $((SECONDS - began)) s" ;;
	124 | 137) echo "stopped after $limit s" ;;
	*) echo "FAILED with exit code $code, $((SECONDS - began)) s" ;;
	esac | tee "$results/$name.status" | sed "s/^/$name: /"
}


# bench NAME PRESET SIZES BATCH PRODUCTS: measures a model in bf16.
bench() {
	local sizes=() size
	for size in $3; do sizes+=(--set "model.$size"); done
	# shellcheck disable=SC2016
	phase "$1" 75 bash -c 'file=$1 && shift && exec ./prenorm bench "$@" >"$file"' bench "$results/$1.json" --config "$2" --device cuda --json --seconds "$seconds" --set precision=bf16 \
		"${byte[@]}" "${sizes[@]}" --set "train.batch=$4" --set train.accumulate=1 --set "kernels.matmul=$5"
}

# torch NAME KIND SIZES BATCH: the same model in PyTorch.
torch() {
	local words=() size
	for size in $3; do words+=("--${size%%=*}" "${size#*=}"); done
	# shellcheck disable=SC2086
	phase "$1" 110 "$python" torch_bench.py --kind "$2" "${words[@]}" --batch "$4" --seconds "$seconds" --out "$results/$1.json" ${GPURUN_TORCH:-}
}

phase doctor 60 ./prenorm doctor
phase kernels 150 env -C kernels/cuda ./cuda.test -test.v -test.run "$tests" -test.skip "$without"
bench gpt2-cublas gpt2-124m "$gpt2" "$gpt2_batch" cublas
bench gpt2-own gpt2-124m "$gpt2" "$gpt2_batch" own
bench llama-cublas llama-15m "$llama" "$llama_batch" cublas
bench llama-own llama-15m "$llama" "$llama_batch" own
torch gpt2-torch gpt2 "$gpt2" "$gpt2_batch"
torch llama-torch llama "$llama" "$llama_batch"
phase program 90 env -C cmd/prenorm ./prenorm.test -test.v -test.run "$program"

command -v nvidia-smi >/dev/null && nvidia-smi >"$results/nvidia-smi.log" 2>&1
if "$python" report.py "$results" "$SECONDS" >"$results/report.md"; then
	echo "results/report.md is written, after $SECONDS s"
else
	echo "no report could be made; the figures are in results/*.json and results/*.log" >&2
	exit 1
fi
