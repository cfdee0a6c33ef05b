package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
)

// examineBackends trains a tiny model for one step on every backend and compares it with the reference.
func examineBackends() []finding {
	names := knownKernels()
	f := finding{fine, "backends", strings.Join(names, ", "), ""}
	if !slices.Contains(names, "cuda") {
		f.found += " (no cuda: that needs go build -tags gpu, a C compiler and the CUDA headers)"
	}
	found := []finding{f}
	want, err := tinyStep("ref", kernels.Options{})
	if err != nil {
		return append(found, finding{failed, "ref", err.Error(), reportBug})
	}
	for _, name := range names {
		switch name {
		case "ref":
		case "cuda":
			found = append(found, examineGPU(want)...)
		default:
			found = append(found, examineBackend(name, kernels.PrecisionFP32, want))
		}
	}
	return found
}

const reportBug = "this is a fault of the build or of the hardware: please report it with this output"

// examineBackend trains the tiny model for one step in a precision.
func examineBackend(name string, p kernels.Precision, want tinyResult) finding {
	what := name
	if p != kernels.PrecisionFP32 {
		what += " " + string(p)
	}
	got, err := tinyStep(name, kernels.Options{Precision: p})
	if err != nil {
		return finding{failed, what, err.Error(), reportBug}
	}
	limit := tinyLimits[p]
	worst := got.worstError(want)
	if !(worst <= limit) {
		return finding{failed, what, fmt.Sprintf("a training step differs from the reference by %.2g, more than %.2g", worst, limit), reportBug}
	}
	return finding{fine, what, fmt.Sprintf("a training step agrees with the reference within %.1g (allowed: %.1g)", worst, limit), ""}
}

// tinyLimits bound that error: some hundred roundings of float32, and of bfloat16 about four times what the reference shows in that precision.
var tinyLimits = map[kernels.Precision]float64{kernels.PrecisionFP32: 2e-5, kernels.PrecisionBF16: 1e-2}

// tinyResult is what a training step says of itself.
type tinyResult struct {
	loss      float64
	gradients []float32
}

// worstError is the error of the loss or of the gradients, relative to their size, whichever is larger.
func (r tinyResult) worstError(want tinyResult) float64 {
	if len(r.gradients) != len(want.gradients) {
		return math.Inf(1)
	}
	var difference, size float64
	for i, w := range want.gradients {
		d := float64(r.gradients[i]) - float64(w)
		difference += d * d
		size += float64(w) * float64(w)
	}
	return max(math.Abs(r.loss-want.loss)/want.loss, math.Sqrt(difference/size))
}

// tinyModel has grouped queries, RoPE, a gated MLP and biases. It starts as GPT-2 does: weights that are larger for being few would make the
// error of a gradient in bfloat16 larger too.
func tinyModel() model.Config {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab, c.Bias = 2, 32, 4, 2, 48, 24, 61, "all"
	c.Init.Kind, c.Init.Residual = "gpt2", "scaled"
	return c
}

// tinyStep trains the tiny model for one step.
func tinyStep(backend string, options kernels.Options) (result tinyResult, err error) {
	be, err := openKernels(backend, options)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, be.Close()) }()
	w, err := model.NewWeights(be, tinyModel())
	if err != nil {
		return result, err
	}
	defer w.Free()
	if err := w.Initialise(1); err != nil {
		return result, err
	}
	b := &batch.Batch{B: 2, T: w.Config.Context}
	for i := range b.B * b.T {
		b.Inputs = append(b.Inputs, int32(i*i%w.Config.Vocab))
		b.Targets = append(b.Targets, int32((i*i+7*i+3)%w.Config.Vocab))
	}
	o := train.Default()
	s, err := train.NewStepper(w, train.StepOptions{Batch: b.B, Context: b.T, Accumulate: 1, Optimizer: o.Optimizer, Clip: o.Clip})
	if err != nil {
		return result, err
	}
	defer s.Free()
	r, err := s.Step(context.Background(), 1, 1e-3, []*batch.Batch{b})
	if err != nil {
		return result, err
	}
	all := s.Grads().All()
	result = tinyResult{r.Loss, make([]float32, all.Len())}
	return result, be.Download(result.gradients, all)
}
