package cpu

import (
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
)

func TestConformance(t *testing.T) {
	workers := func(n int) (kernels.Backend, error) { return kernels.Open("cpu", kernels.Options{Workers: n}) }
	kerneltest.Run(t, func() (kernels.Backend, error) { return workers(0) }, kerneltest.Options{Workers: workers})
}
