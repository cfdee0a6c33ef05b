//go:build gpu

package cuda

import (
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
)

// TestConformance holds every kernel against the reference. It needs a GPU, or the software driver.
func TestConformance(t *testing.T) {
	needDevice(t)
	kerneltest.Run(t, func() (kernels.Backend, error) { return kernels.Open("cuda", kernels.Options{}) }, kerneltest.Options{})
	if have, want := len(table), len(kerneltest.Calls()); have != want {
		t.Errorf("cuda has %d kernels, package kernels has %d calls", have, want)
	}
}
