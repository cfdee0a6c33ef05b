//go:build gpu

package train

import (
	"math"
	"os"
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cuda"
)

// openGPU opens the GPU, or the software driver, and skips the test where there is neither.
func openGPU(t *testing.T, o kernels.Options) kernels.Backend {
	t.Helper()
	be, err := kernels.Open("cuda", o)
	if err != nil {
		if os.Getenv("PRENORM_LIBCUDA") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return be
}

// onGPU gives a backend that wraps the GPU's what a run asks that for.
type onGPU struct {
	kernels.Backend
	gpu kernels.Backend
}

func (g onGPU) Precision() kernels.Precision { return kernels.PrecisionOf(g.gpu) }
func (g onGPU) Device() string               { return g.gpu.(kernels.Remote).Device() }
func (g onGPU) Multiplies() string           { return g.gpu.(kernels.Multiplier).Multiplies() }

// gpuFaults opens the GPU with the faults of [faulty].
func gpuFaults(t *testing.T, o kernels.Options) func(workers int) kernels.Backend {
	return func(int) kernels.Backend {
		gpu := openGPU(t, o)
		return onGPU{faulty{gpu, 13, float32(math.NaN())}, gpu}
	}
}
