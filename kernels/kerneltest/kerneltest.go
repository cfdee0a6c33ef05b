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
	"strings"
	"testing"

	"prenorm/kernels"
)

// Options say what a backend claims beyond float32.
type Options struct {
	// F64: the backend computes in float64 too.
	F64 bool
	// Narrow says of which calls the backend takes BF16 views where [kernels.TypesOf] allows them; the others it must refuse. nil = of none.
	Narrow func(kernels.Call) bool
	// Workers opens the backend with n workers, for a backend whose results must not depend on them. nil = it has none.
	Workers func(n int) (kernels.Backend, error)
}

// maxReports is the number of failing cases after which a kernel's test stops.
const maxReports = 5

// Calls returns a zero value of every call of package kernels.
func Calls() []kernels.Call {
	return []kernels.Call{
		kernels.MatMul{}, kernels.Convert{}, kernels.AddBias{}, kernels.SumRows{}, kernels.Add{}, kernels.Scale{}, kernels.Softcap{},
		kernels.Embed{}, kernels.EmbedGrad{}, kernels.RMSNorm{}, kernels.RMSNormGrad{}, kernels.LayerNorm{}, kernels.LayerNormGrad{},
		kernels.AddRMSNorm{}, kernels.AddRMSNormGrad{}, kernels.AddLayerNorm{}, kernels.AddLayerNormGrad{},
		kernels.DyT{}, kernels.DyTGrad{}, kernels.Gate{}, kernels.GateGrad{}, kernels.GradScale{},
		kernels.BatchNorm{}, kernels.BatchNormGrad{}, kernels.BatchNormUpdate{}, kernels.BatchNormInference{},
		kernels.Rope{}, kernels.Attention{}, kernels.AttentionGrad{}, kernels.CacheWrite{}, kernels.CachedAttention{},
		kernels.Activation{}, kernels.ActivationGrad{}, kernels.GatedActivation{}, kernels.GatedActivationGrad{}, kernels.Dropout{},
		kernels.LinearCrossEntropy{}, kernels.LinearCrossEntropyGrad{},
		kernels.SampleTokens{},
		kernels.PackWeights{}, kernels.RoundWeights{}, kernels.PackedMatMul{},
		kernels.Fill{}, kernels.GlobalNorm{}, kernels.Moments{}, kernels.ClipFactor{}, kernels.AdamW{}, kernels.SGD{},
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
		if len(patterns(call, 8, 4)) > 0 {
			check := refuseNarrow
			if opt.Narrow != nil && opt.Narrow(call) {
				check = checkNarrow
			}
			t.Run(call.Kernel()+"/bf16", func(t *testing.T) { report(t, check(be, call.Kernel())...) })
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

// checkNarrow runs every case of one kernel with BF16 views, each with one of the ways to choose them, and returns what failed.
func checkNarrow(be kernels.Backend, name string) []error {
	f := families[name]
	var errs []error
	counts := map[string]int{}
	cases := f.cases(newGenerator(name, kernels.F32))
	for _, c := range cases {
		ways := patterns(c.call, len(c.in), outputs(c))
		if len(ways) == 0 {
			continue
		}
		key := fmt.Sprint(ways)
		h := &harness{be: be, dtype: kernels.F32, family: f, types: ways[counts[key]%len(ways)]}
		counts[key]++
		if err := h.check(h.types.round(c)); err != nil {
			errs = append(errs, fmt.Errorf("%s %+v as %v: %w", c.name, c.call, h.types, err))
			if len(errs) == maxReports {
				return append(errs, fmt.Errorf("stopped after %d failing cases of %d", maxReports, len(cases)))
			}
		}
	}
	for key, n := range counts {
		if ways := strings.Count(key, "<-"); n < ways {
			errs = append(errs, fmt.Errorf("%d cases for %d choices of types", n, ways))
		}
	}
	return errs
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
