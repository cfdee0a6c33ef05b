package main

import (
	"fmt"
	"io"
	"slices"

	"prenorm/kernels"
)

// openKernels starts a backend by its registered name.
var openKernels = kernels.Open

// openBackend starts the backend that a run's device means: auto is cuda where the build has it and it starts, else cpu.
func openBackend(device string, workers int, notes io.Writer) (kernels.Backend, error) {
	options := kernels.Options{Workers: workers}
	if !slices.Contains(kernels.Names(), "cuda") {
		switch device {
		case "cuda":
			return nil, usageError{fmt.Errorf("device cuda: this build has no CUDA backend. Build one with a C compiler, the CUDA headers and\n" +
				"  go build -tags gpu ./cmd/prenorm\nor use --device cpu")}
		case "auto":
			device = "cpu"
		}
	}
	if device != "auto" {
		return openKernels(device, options)
	}
	be, err := openKernels("cuda", options)
	if err != nil {
		fmt.Fprintf(notes, "note: the GPU cannot be used, so this runs on the CPU: %v\n", err)
		be, err = openKernels("cpu", options)
	}
	return be, err
}
