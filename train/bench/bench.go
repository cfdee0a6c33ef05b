// Package bench measures kernels, training steps and sampling of a model on a backend, with random tokens and weights. Beside each figure
// stands what the device was seen to reach in the same call: the ceilings of matrix products and of memory traffic.
package bench

import (
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/profile"
)

// Options say what is measured.
type Options struct {
	Model   model.Config // with a vocabulary
	Train   train.Config // its batch, accumulation, optimizer and clipping
	Seconds float64      // about how long each part measures
	Seed    int64        // of weights and tokens
}

// Report is what was measured. Parts that were not asked for are nil.
type Report struct {
	Name       string   `json:"name"`
	Device     string   `json:"device"` // the backend
	GPU        string   `json:"gpu,omitempty"`
	Precision  string   `json:"precision"`
	MatMul     string   `json:"matmul,omitempty"` // who multiplies matrices on a GPU: cublas or own
	Workers    int      `json:"workers,omitempty"`
	Parameters int64    `json:"parameters"`
	Batch      int      `json:"batch"`
	Accumulate int      `json:"accumulate"`
	Context    int      `json:"context"`
	Ceilings   Ceilings `json:"ceilings"`
	Kernels    []Kernel `json:"kernels,omitempty"`
	Train      *Train   `json:"train,omitempty"`
	Sample     []Sample `json:"sample,omitempty"` // each way to store the weights
}

// Ceilings are the best that the device was seen to do.
type Ceilings struct {
	Copy   float64 `json:"copy_gb_s"`      // bytes read and written by a copy that no cache holds
	MatMul float64 `json:"matmul_gflop_s"` // of the best square product, in the precision of the backend
	Square int     `json:"matmul_size"`    // its size

	// Of backends that can probe their hardware, 0 of others.
	Peak float64 `json:"peak_gflop_s,omitempty"` // of multiply-adds in registers
	Read float64 `json:"read_gb_s,omitempty"`    // bytes read from memory, 0 also where there was no room to probe it
}

// Arithmetic is the ceiling of arithmetic: the hardware's where that was probed, and no less than that of products.
func (c Ceilings) Arithmetic() float64 { return max(c.Peak, c.MatMul) }

// Disturbed says whether something else took the machine while the hardware was probed: no product is faster than multiply-adds in registers.
func (c Ceilings) Disturbed() bool { return c.Peak > 0 && c.Peak < c.MatMul }

// Reading is the ceiling of what reads far more than it writes.
func (c Ceilings) Reading() float64 {
	if c.Read > 0 {
		return c.Read
	}
	return c.Copy
}

func (c Ceilings) profile() profile.Ceilings {
	return profile.Ceilings{FLOPs: 1e9 * c.Arithmetic(), Bytes: 1e9 * c.Copy, Read: 1e9 * c.Read}
}

// Kernel is one call at one shape.
type Kernel struct {
	Kernel   string  `json:"kernel"`
	Shape    string  `json:"shape"`
	Path     string  `json:"path"`     // the first place that it has in the step
	Launches int     `json:"launches"` // in one micro-batch, or one step
	Seconds  float64 `json:"seconds"`  // of one launch
	FLOPs    int64   `json:"flops"`
	Bytes    int64   `json:"bytes"`
	GFLOPs   float64 `json:"gflop_s"`
	GBs      float64 `json:"gb_s"`
	Share    float64 `json:"share_of_ceiling"`      // the least time at the ceilings, over the time it took
	Naive    float64 `json:"naive_ratio,omitempty"` // the reference kernel's time over this one's
}

// Train is the whole training step: forward, backward, clipping and update.
type Train struct {
	Steps       int         `json:"steps"`
	Median      float64     `json:"median_s"`
	Min         float64     `json:"min_s"`
	Tokens      float64     `json:"tokens_s"` // at the median
	GFLOPs      float64     `json:"gflop_s"`  // of the model, at the median
	ShareOfPeak float64     `json:"share_of_peak"`
	Memory      int64       `json:"memory_bytes"` // as planned
	Loss        float64     `json:"loss"`         // of the last step, so that nothing was left out
	Kernels     []StepShare `json:"kernels"`
}

// InKernels is the time in the kernels of a step, launch by launch. Timing each of them costs time, so that it may be more than the median.
func (t *Train) InKernels() float64 {
	var sum float64
	for _, k := range t.Kernels {
		sum += k.Seconds
	}
	return sum
}

// StepShare is a kernel's part of a step.
type StepShare struct {
	Kernel   string  `json:"kernel"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Of       float64 `json:"share_of_step"` // of the time in kernels
	GFLOPs   float64 `json:"gflop_s"`
	GBs      float64 `json:"gb_s"`
	Share    float64 `json:"share_of_ceiling"`
}

// Sample is writing with the model, one sequence at a time.
type Sample struct {
	Weights       string  `json:"weights"` // how they are stored
	Prompt        int     `json:"prompt_tokens"`
	Prefill       float64 `json:"prefill_tokens_s"`
	Decode        float64 `json:"decode_tokens_s"`
	BytesPerToken int64   `json:"bytes_per_token"` // that decoding one token reads and writes, on average over those written: the weights, and the keys and values so far
	GBs           float64 `json:"gb_s"`            // at that speed
	Reading       float64 `json:"read_gb_s"`       // from memory, the better of a probe before writing and one after it; the report's ceiling where a backend has no probe
	Share         float64 `json:"share_of_read"`   // of it
}

// New begins a report: what is measured on what, and the ceilings.
func New(be kernels.Backend, o Options) (*Report, error) {
	r := &Report{Device: be.Name(), Precision: string(kernels.PrecisionOf(be)), Batch: o.Train.Batch, Accumulate: o.Train.Accumulate, Context: o.Model.Context}
	if m, ok := be.(kernels.Multiplier); ok {
		r.MatMul = m.Multiplies()
	}
	table, err := model.Table(o.Model)
	if err != nil {
		return nil, err
	}
	r.Parameters = model.Count(table)
	r.Ceilings, err = ceilings(be, min(0.1, o.Seconds/20))
	return r, err
}
