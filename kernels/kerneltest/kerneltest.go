// Package kerneltest is the conformance suite of kernel backends: every call of package kernels, on shapes chosen to sit on and beside
// the edges of tiles and vectors, held against kernels/ref run in float64 on the same inputs.
//
// Beside the numbers, with a tolerance stated for each kernel, the suite looks at what a kernel must not do: read an output before
// writing it, write outside its views, change an input, depend on the workspace, on an earlier launch or on the number of workers,
// allocate, hide a NaN, or accept views that do not fit.
//
// All memory goes through the backend's own arena, Upload and Download, so a device is tested as the host is.
package kerneltest

import (
	"fmt"
	"testing"

	"prenorm/kernels"
)

// Options say what a backend claims beyond float32.
type Options struct {
	// F64: the backend computes in float64 too.
	F64 bool
	// Workers opens the backend with n workers, for a backend whose results must not depend on them. nil = it has none.
	Workers func(n int) (kernels.Backend, error)
}

// maxReports is the number of failing cases after which a kernel's test stops.
const maxReports = 5

// Calls returns a zero value of every call of package kernels.
func Calls() []kernels.Call {
	return []kernels.Call{
		kernels.MatMul{}, kernels.AddBias{}, kernels.SumRows{}, kernels.Add{}, kernels.Scale{}, kernels.Softcap{},
		kernels.Embed{}, kernels.EmbedGrad{}, kernels.RMSNorm{}, kernels.RMSNormGrad{}, kernels.LayerNorm{}, kernels.LayerNormGrad{},
		kernels.Rope{}, kernels.Attention{}, kernels.AttentionGrad{}, kernels.CacheWrite{}, kernels.CachedAttention{},
		kernels.Activation{}, kernels.ActivationGrad{}, kernels.GatedActivation{}, kernels.GatedActivationGrad{}, kernels.Dropout{},
		kernels.LinearCrossEntropy{}, kernels.LinearCrossEntropyGrad{},
		kernels.Fill{}, kernels.GlobalNorm{}, kernels.ClipFactor{}, kernels.AdamW{}, kernels.SGD{},
	}
}

// Run holds the backend that open returns against the reference, one subtest a kernel and element type. A call without cases is a
// failure.
func Run(t *testing.T, open func() (kernels.Backend, error), opt Options) {
	be, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := be.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	workers := openWorkers(t, opt)
	t.Run("memory", func(t *testing.T) { report(t, checkMemory(be)) })
	t.Run("unknown", func(t *testing.T) { report(t, checkUnknown(be)) })
	types := []kernels.DType{kernels.F32}
	if opt.F64 {
		types = append(types, kernels.F64)
	}
	for _, call := range Calls() {
		for _, dtype := range types {
			t.Run(fmt.Sprintf("%s/%v", call.Kernel(), dtype), func(t *testing.T) {
				report(t, checkKernel(be, workers, call.Kernel(), dtype)...)
			})
		}
	}
}

// openWorkers opens the backend with 1, 2 and 3 workers.
func openWorkers(t *testing.T, opt Options) []kernels.Backend {
	t.Helper()
	if opt.Workers == nil {
		return nil
	}
	var all []kernels.Backend
	for n := 1; n <= 3; n++ {
		be, err := opt.Workers(n)
		if err != nil {
			t.Fatalf("open with %d workers: %v", n, err)
		}
		t.Cleanup(func() {
			if err := be.Close(); err != nil {
				t.Errorf("close with %d workers: %v", n, err)
			}
		})
		all = append(all, be)
	}
	return all
}

func report(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// checkKernel runs every case of one kernel and returns what failed.
func checkKernel(be kernels.Backend, workers []kernels.Backend, name string, dtype kernels.DType) []error {
	f, ok := families[name]
	if !ok {
		return []error{fmt.Errorf("the suite has no cases for kernel %q", name)}
	}
	h := &harness{be: be, workers: workers, dtype: dtype, family: f}
	cases := f.cases(newGenerator(name, dtype))
	if len(cases) == 0 {
		return []error{fmt.Errorf("the suite has no cases for kernel %q in %v", name, dtype)}
	}
	var errs []error
	for _, c := range cases {
		if err := h.check(c); err != nil {
			errs = append(errs, fmt.Errorf("%s %+v: %w", c.name, c.call, err))
			if len(errs) == maxReports {
				return append(errs, fmt.Errorf("stopped after %d failing cases of %d", maxReports, len(cases)))
			}
		}
	}
	return append(errs, h.checkAllocations(cases), h.checkRefusals(cases))
}
