package ref_test

import (
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
	"prenorm/kernels/ref"
)

// TestConformance holds the reference in float32 against itself in float64, and both to what every backend must keep.
func TestConformance(t *testing.T) {
	open := func() (kernels.Backend, error) {
		return kernels.Open("ref", kernels.Options{Precision: kernels.PrecisionBF16})
	}
	kerneltest.Run(t, open, kerneltest.Options{F64: true, Narrow: func(kernels.Call) bool { return true }})
	if have, want := len(ref.Kernels()), len(kerneltest.Calls()); have != want {
		t.Errorf("ref defines %d kernels, package kernels has %d calls", have, want)
	}
}
