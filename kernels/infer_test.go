package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
)

var (
	f32 = func(shape ...int) kernels.View { return kernels.Shaped(kernels.F32, shape...) }
	i32 = func(shape ...int) kernels.View { return kernels.Shaped(kernels.I32, shape...) }
)

// inference is a call with inputs that fit, what it gives for them, and its arithmetic.
type inference struct {
	call     kernels.Call
	in       []kernels.View
	out, aux string
	flops    int64
	optional int // inputs that may be left away
}

var inferences = []inference{
	{call: kernels.MatMul{}, in: []kernels.View{f32(2, 3), f32(3, 5)}, out: "[f32[2 5]]", flops: 60},
	{call: kernels.MatMul{TransA: true}, in: []kernels.View{f32(3, 2), f32(3, 5)}, out: "[f32[2 5]]", flops: 60},
	{call: kernels.MatMul{TransB: true}, in: []kernels.View{f32(2, 3), f32(5, 3)}, out: "[f32[2 5]]", flops: 60},
	{call: kernels.MatMul{TransA: true, TransB: true}, in: []kernels.View{f32(3, 2), f32(5, 3)}, out: "[f32[2 5]]", flops: 60},
	{call: kernels.MatMul{Bias: true, Residual: true}, in: []kernels.View{f32(2, 3), f32(3, 5), f32(5), f32(2, 5)}, out: "[f32[2 5]]", flops: 60},
	{call: kernels.Convert{}, in: []kernels.View{f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.AddBias{}, in: []kernels.View{f32(2, 3), f32(3)}, out: "[f32[2 3]]"},
	{call: kernels.SumRows{}, in: []kernels.View{f32(2, 3)}, out: "[f32[3]]"},
	{call: kernels.Add{}, in: []kernels.View{f32(2, 3), f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.Scale{}, in: []kernels.View{f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.Softcap{}, in: []kernels.View{f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.Embed{}, in: []kernels.View{i32(4), f32(7, 3)}, out: "[f32[4 3]]"},
	{call: kernels.EmbedGrad{Vocab: 7}, in: []kernels.View{i32(4), f32(4, 3)}, out: "[f32[7 3]]"},
	{call: kernels.RMSNorm{}, in: []kernels.View{f32(2, 6), f32(3)}, out: "[f32[2 6]]", aux: "[f32[4]]"},
	{call: kernels.RMSNormGrad{}, in: []kernels.View{f32(2, 6), f32(3), f32(2, 6)}, out: "[f32[2 6] f32[3]]"},
	{call: kernels.LayerNorm{}, in: []kernels.View{f32(2, 6), f32(6), f32(6)}, out: "[f32[2 6]]", aux: "[f32[2] f32[2]]"},
	{call: kernels.LayerNormGrad{}, in: []kernels.View{f32(2, 6), f32(6), f32(6), f32(2, 6)}, out: "[f32[2 6] f32[6] f32[6]]"},
	{call: kernels.AddRMSNorm{}, in: []kernels.View{f32(2, 6), f32(2, 6), f32(3)}, out: "[f32[2 6] f32[2 6]]", aux: "[f32[4]]"},
	{call: kernels.AddRMSNormGrad{}, in: []kernels.View{f32(2, 6), f32(3), f32(2, 6), f32(2, 6)}, out: "[f32[2 6] f32[3]]"},
	{call: kernels.AddLayerNorm{}, in: []kernels.View{f32(2, 6), f32(2, 6), f32(6), f32(6)}, out: "[f32[2 6] f32[2 6]]", aux: "[f32[2] f32[2]]"},
	{call: kernels.AddLayerNormGrad{}, in: []kernels.View{f32(2, 6), f32(6), f32(6), f32(2, 6), f32(2, 6)}, out: "[f32[2 6] f32[6] f32[6]]"},
	{call: kernels.BatchNorm{}, in: []kernels.View{f32(2, 6), f32(3), f32(3)}, out: "[f32[2 6]]", aux: "[f32[3] f32[3]]"},
	{call: kernels.BatchNormGrad{}, in: []kernels.View{f32(2, 6), f32(3), f32(3), f32(2, 6)}, out: "[f32[2 6] f32[3] f32[3]]"},
	{call: kernels.BatchNormUpdate{}, in: []kernels.View{f32(2, 3), f32(4, 6)}, out: "[f32[2 3]]"},
	{call: kernels.BatchNormInference{}, in: []kernels.View{f32(4, 6), f32(3), f32(3), f32(2, 3)}, out: "[f32[4 6]]"},
	{call: kernels.DyT{}, in: []kernels.View{f32(2, 6), f32(1), f32(3), f32(3)}, out: "[f32[2 6]]"},
	{call: kernels.DyTGrad{}, in: []kernels.View{f32(2, 6), f32(1), f32(3), f32(3), f32(2, 6)}, out: "[f32[2 6] f32[1] f32[3] f32[3]]"},
	{call: kernels.Gate{}, in: []kernels.View{f32(2, 6), f32(3)}, out: "[f32[2 6]]"},
	{call: kernels.GradScale{}, in: []kernels.View{f32(2, 6), f32(1)}, out: "[f32[2 6]]"},
	{call: kernels.GateGrad{}, in: []kernels.View{f32(2, 6), f32(3), f32(2, 6)}, out: "[f32[2 6] f32[3]]"},
	{call: kernels.Rope{}, in: []kernels.View{f32(2, 8), i32(2), f32(9, 4)}, out: "[f32[2 8]]"},
	{call: kernels.Attention{Heads: 4, KVHeads: 2, HeadDim: 3, T: 5}, in: []kernels.View{f32(10, 12), f32(10, 6), f32(10, 6), i32(10)}, out: "[f32[10 12]]", aux: "[f32[10 4]]", flops: 2400, optional: 1},
	{call: kernels.AttentionGrad{Heads: 4, KVHeads: 2, HeadDim: 3, T: 5}, in: []kernels.View{f32(10, 12), f32(10, 6), f32(10, 6), f32(10, 12), f32(10, 12), i32(10)}, out: "[f32[10 12] f32[10 6] f32[10 6]]", flops: 4800, optional: 1},
	{call: kernels.CacheWrite{T: 2, Context: 5}, in: []kernels.View{f32(10, 3), f32(4, 3), i32(1)}, out: "[f32[10 3]]"},
	{call: kernels.CachedAttention{Heads: 4, KVHeads: 2, HeadDim: 3, T: 2, Context: 5}, in: []kernels.View{f32(4, 12), f32(10, 6), f32(10, 6), i32(1)}, out: "[f32[4 12]]", flops: 960},
	{call: kernels.Activation{}, in: []kernels.View{f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.ActivationGrad{}, in: []kernels.View{f32(2, 3), f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.GatedActivation{}, in: []kernels.View{f32(2, 3), f32(2, 3)}, out: "[f32[2 3]]"},
	{call: kernels.GatedActivationGrad{}, in: []kernels.View{f32(2, 3), f32(2, 3), f32(2, 3)}, out: "[f32[2 3] f32[2 3]]"},
	{call: kernels.Dropout{Rate: 0.5}, in: []kernels.View{f32(2, 3), i32(4)}, out: "[f32[2 3]]"},
	{call: kernels.LinearCrossEntropy{}, in: []kernels.View{f32(4, 3), f32(7, 3), i32(4), f32(1)}, out: "[f32[]]", flops: 168},
	{call: kernels.LinearCrossEntropyGrad{}, in: []kernels.View{f32(4, 3), f32(7, 3), i32(4), f32(1), f32()}, out: "[f32[4 3] f32[7 3] f32[]]", flops: 504},
	{call: kernels.SampleTokens{}, in: []kernels.View{f32(2, 7), i32(2, 2)}, out: "[i32[2]]"},
	{call: kernels.PackWeights{}, in: []kernels.View{f32(3, 96)}, out: "[i32[3 48]]"},
	{call: kernels.PackWeights{Packing: kernels.PackInt8}, in: []kernels.View{f32(3, 96)}, out: "[i32[3 24] i32[3 2]]"},
	{call: kernels.RoundWeights{}, in: []kernels.View{f32(3, 96)}, out: "[f32[3 96]]"},
	{call: kernels.PackedMatMul{}, in: []kernels.View{f32(5, 96), i32(3, 48)}, out: "[f32[5 3]]", flops: 2880},
	{call: kernels.PackedMatMul{Packing: kernels.PackInt8, Bias: true, Residual: true}, in: []kernels.View{f32(5, 96), i32(3, 24), i32(3, 2), f32(3), f32(5, 3)}, out: "[f32[5 3]]", flops: 2880},
	{call: kernels.Fill{}, in: []kernels.View{i32(2, 3)}, out: "[i32[2 3]]"},
	{call: kernels.GlobalNorm{}, in: []kernels.View{f32(2, 3)}, out: "[f32[1]]"},
	{call: kernels.Moments{}, in: []kernels.View{f32(2, 3), f32(2, 3)}, out: "[f32[4]]"},
	{call: kernels.ClipFactor{}, in: []kernels.View{f32(1), f32(), f32(2)}, out: "[f32[1]]"},
	{call: kernels.AdamW{}, in: []kernels.View{f32(6), f32(6), f32(6), f32(6), f32(4)}, out: "[f32[6] f32[6] f32[6]]"},
	{call: kernels.SGD{}, in: []kernels.View{f32(6), f32(6), f32(6), f32(4)}, out: "[f32[6] f32[6]]"},
}

// TestInfer pins the shapes and the arithmetic of every call.
func TestInfer(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range inferences {
		seen[c.call.Kernel()] = true
		out, aux, err := c.call.Infer(c.in)
		if c.aux == "" {
			c.aux = "[]"
		}
		if err != nil || fmt.Sprint(out) != c.out || fmt.Sprint(aux) != c.aux {
			t.Errorf("%s %+v: outputs %v, statistics %v, error %v; want %v %v", c.call.Kernel(), c.call, out, aux, err, c.out, c.aux)
		}
		if got := kernels.FLOPs(c.call, kernels.Args{In: c.in}); got != c.flops {
			t.Errorf("%s: %d operations, want %d", c.call.Kernel(), got, c.flops)
		}
		if err := kernels.Check(c.call, kernels.Args{In: c.in, Out: out, Aux: aux}); err != nil {
			t.Errorf("%s: %v", c.call.Kernel(), err)
		}
	}
	for _, c := range kerneltest.Calls() {
		if !seen[c.Kernel()] {
			t.Errorf("no shapes are pinned for %s", c.Kernel())
		}
	}
}

// TestInferRefuses takes inputs that fit and spoils one thing at a time.
func TestInferRefuses(t *testing.T) {
	for _, c := range inferences {
		refuse := func(what string, in []kernels.View) {
			t.Helper()
			if _, _, err := c.call.Infer(in); err == nil || !strings.HasPrefix(err.Error(), c.call.Kernel()+": ") {
				t.Errorf("%s %+v: %s gives the error %v, wants one that names the kernel", c.call.Kernel(), c.call, what, err)
			}
		}
		n := len(c.in)
		refuse("no input", nil)
		refuse("an input too few", c.in[:n-c.optional-1])
		refuse("an input too many", append(slices.Clone(c.in), f32(1)))
		for i := range c.in {
			if _, ok := c.call.(kernels.Fill); ok {
				continue // fills any type and shape
			}
			in := slices.Clone(c.in)
			in[i].DType = kernels.I8
			refuse(fmt.Sprintf("input %d of i8", i), in)
			if n > 1 && c.in[i].DType == kernels.F32 {
				in[i].DType = kernels.F64
				if countFloats(c.in) > 1 {
					refuse(fmt.Sprintf("input %d of another type", i), in)
				}
			}
		}
	}
}

func countFloats(in []kernels.View) (n int) {
	for _, v := range in {
		if v.DType == kernels.F32 {
			n++
		}
	}
	return n
}

// TestInferRules pins rules that hold between inputs.
func TestInferRules(t *testing.T) {
	attention := kernels.Attention{Heads: 4, KVHeads: 2, HeadDim: 3, T: 5}
	uneven := attention
	uneven.KVHeads = 3
	for _, c := range []struct {
		call kernels.Call
		in   []kernels.View
		says string
	}{
		{kernels.MatMul{}, []kernels.View{f32(2, 3), f32(4, 5)}, "inner dimensions 3 and 4"},
		{kernels.MatMul{TransB: true}, []kernels.View{f32(2, 3), f32(3, 5)}, "inner dimensions 3 and 5"},
		{kernels.AddBias{}, []kernels.View{f32(2, 3), f32(2)}, "bias"},
		{kernels.Add{}, []kernels.View{f32(2, 3), f32(3, 2)}, "one shape"},
		{kernels.EmbedGrad{Vocab: 7}, []kernels.View{i32(4), f32(3, 3)}, "tokens and rows"},
		{kernels.RMSNorm{}, []kernels.View{f32(2, 6), f32(4)}, "divide the width"},
		{kernels.RMSNorm{}, []kernels.View{f32(2, 6), f32(0)}, "divide the width"},
		{kernels.LayerNorm{}, []kernels.View{f32(2, 6), f32(3), f32(6)}, "one shape"},
		{kernels.DyT{}, []kernels.View{f32(2, 6), f32(2), f32(3), f32(3)}, "one element"},
		{kernels.BatchNormUpdate{}, []kernels.View{f32(3, 3), f32(4, 6)}, "two rows"},
		{kernels.BatchNormUpdate{}, []kernels.View{f32(2, 4), f32(4, 6)}, "divide the width"},
		{kernels.BatchNormInference{}, []kernels.View{f32(4, 6), f32(3), f32(3), f32(2, 6)}, "differ in size"},
		{kernels.DyT{}, []kernels.View{f32(2, 6), f32(1), f32(2), f32(3)}, "one shape"},
		{kernels.Gate{}, []kernels.View{f32(2, 6), f32(4)}, "divide the width"},
		{kernels.GradScale{}, []kernels.View{f32(2, 6), f32(6)}, "shape [1]"},
		{kernels.Rope{}, []kernels.View{f32(2, 9), i32(2), f32(9, 3)}, "even"},
		{kernels.Rope{}, []kernels.View{f32(2, 8), i32(3), f32(9, 4)}, "one position a row"},
		{attention, []kernels.View{f32(10, 9), f32(10, 6), f32(10, 6)}, "12 columns"},
		{attention, []kernels.View{f32(10, 12), f32(10, 12), f32(10, 12)}, "6 columns"},
		{attention, []kernels.View{f32(9, 12), f32(9, 6), f32(9, 6)}, "multiple of T"},
		{attention, []kernels.View{f32(10, 12), f32(5, 6), f32(5, 6)}, "differ in rows"},
		{attention, []kernels.View{f32(10, 12), f32(10, 6), f32(10, 6), i32(5)}, "document"},
		{uneven, []kernels.View{f32(10, 12), f32(10, 9), f32(10, 9)}, "do not fit"},
		{kernels.CacheWrite{T: 3, Context: 5}, []kernels.View{f32(10, 3), f32(4, 3), i32(1)}, "do not fit"},
		{kernels.CacheWrite{}, []kernels.View{f32(10, 3), f32(4, 3), i32(1)}, "do not fit"},
		{kernels.CachedAttention{Heads: 4, KVHeads: 2, HeadDim: 3, T: 2, Context: 4}, []kernels.View{f32(4, 12), f32(10, 6), f32(10, 6), i32(1)}, "4 rows a sequence"},
		{kernels.Dropout{Rate: 1}, []kernels.View{f32(2), i32(4)}, "outside [0, 1)"},
		{kernels.Dropout{}, []kernels.View{f32(2), i32(3)}, "4 elements"},
		{kernels.LinearCrossEntropy{}, []kernels.View{f32(4, 3), f32(7, 2), i32(4), f32(1)}, "width"},
		{kernels.LinearCrossEntropy{}, []kernels.View{f32(4, 3), f32(7, 3), i32(3), f32(1)}, "one target a row"},
		{kernels.LinearCrossEntropy{}, []kernels.View{f32(4, 3), f32(7, 3), i32(4), f32(2)}, "normaliser"},
		{kernels.LinearCrossEntropyGrad{}, []kernels.View{f32(4, 3), f32(7, 3), i32(4), f32(1), f32(2)}, "scalar"},
		{kernels.SampleTokens{}, []kernels.View{f32(2, 0), i32(2, 2)}, "logits to choose from"},
		{kernels.SampleTokens{}, []kernels.View{f32(2, 7), i32(3, 2)}, "shape [2 2]"},
		{kernels.SampleTokens{TopP: 1.5}, []kernels.View{f32(2, 7), i32(2, 2)}, "top_p 1.5"},
		{kernels.PackWeights{}, []kernels.View{f32(3, 40)}, "multiple of 32"},
		{kernels.PackWeights{Packing: 2}, []kernels.View{f32(3, 64)}, "no packing 2"},
		{kernels.RoundWeights{}, []kernels.View{f32(3, 40)}, "multiple of 32"},
		{kernels.PackedMatMul{Packing: 2}, []kernels.View{f32(5, 64), i32(3, 32)}, "no packing 2"},
		{kernels.PackedMatMul{}, []kernels.View{f32(5, 64), i32(3, 16)}, "must be i32[3 32]"},
		{kernels.PackedMatMul{Packing: kernels.PackInt8}, []kernels.View{f32(5, 96), i32(3, 24), i32(3, 3)}, "must be i32[3 2]"},
		{kernels.PackedMatMul{Bias: true}, []kernels.View{f32(5, 64), i32(3, 32), f32(5)}, "shape [3]"},
		{kernels.PackedMatMul{Residual: true}, []kernels.View{f32(5, 64), i32(3, 32), f32(3, 5)}, "shape [5 3]"},
		{kernels.AdamW{}, []kernels.View{f32(6), f32(6), f32(5), f32(6), f32(4)}, "one shape"},
		{kernels.SGD{}, []kernels.View{f32(6), f32(6), f32(6), f32(3)}, "4 elements"},
	} {
		if _, _, err := c.call.Infer(c.in); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %+v of %v gives the error %v, wants %q", c.call.Kernel(), c.call, c.in, err, c.says)
		}
	}
}

// TestInferNeverPanics hands every call views of random number, rank, size and type.
func TestInferNeverPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	calls := kerneltest.Calls()
	for _, c := range inferences {
		calls = append(calls, c.call)
	}
	for _, c := range calls {
		for range 3000 {
			in := make([]kernels.View, r.IntN(7))
			for i := range in {
				in[i] = kernels.Shaped(kernels.DType(r.IntN(5)/2*3)%5, make([]int, r.IntN(4))...)
				for d := range in[i].Shape {
					in[i].Shape[d] = r.IntN(4)
				}
			}
			_, _, _ = c.Infer(in)
		}
	}
}

// TestCheck wants views that differ from what Infer says to be refused.
func TestCheck(t *testing.T) {
	in := []kernels.View{f32(2, 6), f32(3)}
	for _, a := range []kernels.Args{
		{In: in},
		{In: in, Out: []kernels.View{f32(6, 2)}},
		{In: in, Out: []kernels.View{f32(12)}},
		{In: in, Out: []kernels.View{i32(2, 6)}},
		{In: in, Out: []kernels.View{f32(2, 6), f32(2, 6)}},
		{In: in, Out: []kernels.View{f32(2, 6)}, Aux: []kernels.View{f32(2)}},
		{In: in, Out: []kernels.View{f32(2, 6)}, Aux: []kernels.View{f32(4), f32(4)}},
		{In: in[:1], Out: []kernels.View{f32(2, 6)}},
	} {
		if err := kernels.Check(kernels.RMSNorm{}, a); err == nil {
			t.Errorf("%+v is accepted", a)
		}
	}
}

// TestRegistry wants one backend a name, and an error that lists what there is.
func TestRegistry(t *testing.T) {
	open := func(kernels.Options) (kernels.Backend, error) { return nil, nil }
	kernels.Register("registry-test", open)
	if !slices.Contains(kernels.Names(), "registry-test") || !slices.IsSorted(kernels.Names()) {
		t.Errorf("names %v", kernels.Names())
	}
	if _, err := kernels.Open("no-such", kernels.Options{}); err == nil || !strings.Contains(err.Error(), "registry-test") {
		t.Errorf("unknown backend gives %v, wants a list", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name can be registered twice")
		}
	}()
	kernels.Register("registry-test", open)
}
