package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/kernels"
)

// openKernels starts a backend by its registered name, which is one of knownKernels.
var (
	openKernels  = kernels.Open
	knownKernels = kernels.Names
)

// errNoCUDA is what a build without the tag gpu says of a GPU.
var errNoCUDA = errors.New("this build has no CUDA backend. Build one with a C compiler, the CUDA headers and\n  go build -tags gpu ./cmd/prenorm")

// openBackend starts the backend that a run's device means: auto is cuda where the build has it and it starts, else cpu. A precision that the
// CPU lacks is an error there, so that no run computes in another one than its file says.
func openBackend(device string, o kernels.Options, notes io.Writer) (kernels.Backend, error) {
	if device != "cuda" && device != "auto" {
		return openKernels(device, o)
	}
	be, err := openCUDA(o)
	switch {
	case err == nil:
		return be, nil
	case device == "cuda":
		return nil, unusable(fmt.Errorf("device cuda: %w\n%s", err, toCPU(o)))
	case needsGPU(o):
		return nil, unusable(fmt.Errorf("precision %s needs a GPU, and there is none to use: %w\nTo run on the CPU: --set precision=fp32", o.Precision, err))
	case !errors.Is(err, errNoCUDA):
		fmt.Fprintf(notes, "note: the GPU cannot be used, so this runs on the CPU: %v\n", err)
	}
	return openKernels("cpu", o)
}

// unusable is the error of a GPU that cannot be used: of the command line where no machine would make it right, as the build has none.
func unusable(err error) error {
	if errors.Is(err, errNoCUDA) {
		return usageError{err}
	}
	return err
}

// toCPU says how a run goes on without a GPU.
func toCPU(o kernels.Options) string {
	if needsGPU(o) {
		return "To run on the CPU: --device cpu --set precision=fp32"
	}
	return "To run on the CPU: --device cpu"
}

// openSettled is openBackend for commands that can do without the run's precision: without a GPU they take float32, and say so.
func openSettled(device string, o kernels.Options, notes io.Writer) (kernels.Backend, error) {
	if !needsGPU(o) || device != "cpu" && device != "auto" {
		return openBackend(device, o, notes)
	}
	if device == "auto" {
		be, err := openCUDA(o)
		if err == nil {
			return be, nil
		}
		if !errors.Is(err, errNoCUDA) {
			fmt.Fprintf(notes, "note: the GPU cannot be used: %v\n", err)
		}
	}
	fmt.Fprintf(notes, "note: the run's precision is %s, which needs a GPU; this is fp32 on the CPU\n", o.Precision)
	o.Precision = kernels.PrecisionFP32
	return openKernels("cpu", o)
}

func openCUDA(o kernels.Options) (kernels.Backend, error) {
	if !slices.Contains(knownKernels(), "cuda") {
		return nil, errNoCUDA
	}
	return openKernels("cuda", o)
}

// openPlanner is openSettled for plans, which need no GPU to plan for one.
func openPlanner(device string, o kernels.Options, notes io.Writer) (kernels.Backend, error) {
	if device == "cuda" && slices.Contains(knownKernels(), "cuda") {
		if be, known, err := kernels.OpenPlanner(device, o); known {
			return be, err
		}
	}
	return openSettled(device, o, notes)
}

// warnMatMul says that a choice of who multiplies on a GPU is not used where device auto has become the CPU. Of device cpu the run file's
// own warnings say it.
func warnMatMul(cmd *cobra.Command, be kernels.Backend, l *configs.Loaded) {
	if be.Name() != "cpu" || l.Run.Device != "auto" || l.Run.Kernels.MatMul == configs.Default().Kernels.MatMul {
		return
	}
	var p problem.List
	p.Addf("kernels.matmul", "is not used on the CPU, which device auto has come to")
	note(cmd.ErrOrStderr(), "warning: %v", l.Locate(p))
}

// needsGPU says whether a precision is one that the CPU lacks.
func needsGPU(o kernels.Options) bool {
	return o.Precision != "" && o.Precision != kernels.PrecisionFP32
}
