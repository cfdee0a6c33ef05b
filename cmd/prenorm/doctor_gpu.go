package main

import (
	"errors"

	"prenorm/kernels"
)

// examineGPU looks at the driver, the GPU and cuBLAS, and holds training steps in float32 and bfloat16 against the reference.
func examineGPU(want tinyResult) []finding {
	be, err := openKernels("cuda", kernels.Options{})
	if errors.Is(err, kernels.ErrUnsuitable) {
		return []finding{{failed, "cuda", err.Error(), "use --device cpu, or a newer GPU"}}
	}
	if errors.Is(err, kernels.ErrNoDriver) {
		return []finding{{warning, "cuda", err.Error(), "without it training runs on the CPU: install NVIDIA's driver where there is a GPU"}}
	}
	if err != nil {
		return []finding{{warning, "cuda", err.Error(), "without it training runs on the CPU: look at the driver with nvidia-smi"}}
	}
	found := describeGPU(be)
	if err := be.Close(); err != nil {
		found = append(found, finding{failed, "cuda", err.Error(), reportBug})
	}
	return append(found, examineBackend("cuda", kernels.PrecisionFP32, want), examineBackend("cuda", kernels.PrecisionBF16, want))
}

// describeGPU is what the backend knows of its device, a finding for each fact.
func describeGPU(be kernels.Backend) []finding {
	d, ok := be.(kernels.Describer)
	if !ok {
		return nil
	}
	facts, err := d.Describe()
	if err != nil {
		return []finding{{failed, "cuda", err.Error(), "look at the driver with nvidia-smi"}}
	}
	var found []finding
	for _, f := range facts {
		status := fine
		if f.Remedy != "" {
			status = warning
		}
		found = append(found, finding{status, "cuda " + f.Name, f.Value, f.Remedy})
	}
	return found
}
