package exec_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
)

// initial is the memory of a model's program, with the parameters as the model starts with them.
func initial(t *testing.T, c model.Config, spec exec.Spec) map[string]kernels.View {
	t.Helper()
	net, err := model.Build(c, model.Options{B: 1, T: 1})
	if err != nil {
		t.Fatal(err)
	}
	memory := memoryFor(t, spec, kernels.F32)
	for _, row := range net.Table() {
		copy(memory[row.Name].F32(), row.Initial(5))
	}
	return memory
}

// descend trains a model by plain gradient descent and returns the loss before each step and the gradients of the first.
func descend(t *testing.T, precision kernels.Precision, c model.Config, steps int, rate float32) (losses []float64, grads map[string][]float64) {
	t.Helper()
	spec := specOf(t, c, model.Options{B: 2, T: 9}, false)
	memory, be := initial(t, c, spec), opened(t, precision)
	for range steps {
		out := execute(t, be, spec, kernels.F32, memory)
		losses = append(losses, out[model.OutLoss][0])
		if grads == nil {
			grads = out
		}
		for _, p := range spec.External {
			x, dx := memory[p.Name].F32(), memory[model.GradPrefix+p.Name].F32()
			for i := range x {
				x[i] -= rate * dx[i]
			}
		}
	}
	delete(grads, model.OutLoss)
	return losses, grads
}

// TestBF16Training holds training in bfloat16 against float32. A bfloat16 has 8 bits of mantissa: rounding moves a value by 2⁻⁹ of itself at
// the most, and by half of that on average. Between the embedding and the logits of three layers some 40 values are rounded one after the
// other, and twice as many up to a gradient, with errors that are independent: where nothing magnifies them, logits come out wrong by about
// 2⁻¹⁰·√40 = 0.6 % of their size, gradients by 1 %, and the loss, which is a mean over 18 rows, by a tenth of that. Attention and norms of small
// values magnify, up to ten times in some placements: allowed are 15 % of a gradient (a cosine of 0.99) and 0.5 % of the first loss, and of
// later losses, which go by weights that have parted, 3 %. A tensor whose gradient is a hundredth of the whole or less, such as that of a key's
// bias, which softmax does not see, is measured by that hundredth.
func TestBF16Training(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			want, wantGrads := descend(t, kernels.PrecisionFP32, c, 4, 0.02)
			got, grads := descend(t, kernels.PrecisionBF16, c, 4, 0.02)
			all := 0.0
			for _, w := range wantGrads {
				all = math.Hypot(all, floats.Norm(w, 2))
			}
			worst, where := 0.0, ""
			for name, w := range wantGrads {
				if e := floats.Distance(grads[name], w, 2) / max(floats.Norm(w, 2), 0.01*all); !(e <= worst) {
					worst, where = e, name
				}
			}
			t.Logf("losses %.4f in float32, %.4f in bfloat16; worst gradient that of %s, wrong by %.4f", want, got, where, worst)
			if !(worst < 0.15) {
				t.Errorf("the gradient of %s is wrong by %.4f of its norm", where, worst)
			}
			if slices.Equal(got, want) || !(want[3] < want[0]-0.05) {
				t.Errorf("losses %v in float32 and %v in bfloat16: that tests nothing", want, got)
			}
			for i := range want {
				if allowed := []float64{0.005, 0.03, 0.03, 0.03}[i]; !(math.Abs(got[i]-want[i]) < allowed*want[i]) {
					t.Errorf("step %d: loss %.4f, in float32 %.4f", i, got[i], want[i])
				}
			}
		})
	}
}

// TestBF16Programs holds the loss of evaluation and the logits against float32, within what [TestBF16Training] allows, and wants what is read
// of a program to be float32.
func TestBF16Programs(t *testing.T) {
	for name, c := range configs() {
		for _, mode := range []model.Mode{model.Eval, model.Logits} {
			spec := specOf(t, c, model.Options{Mode: mode, B: 2, T: 9}, false)
			want := execute(t, opened(t, kernels.PrecisionFP32), spec, kernels.F32, initial(t, c, spec))
			p, err := exec.NewPlan(opened(t, kernels.PrecisionBF16), spec)
			if err != nil {
				t.Fatal(err)
			}
			if last := p.Steps()[p.Launches()-1]; last.Args.Out[0].DType != kernels.F32 {
				t.Errorf("%s %v: it ends in %v", name, mode, last)
			}
			for out, got := range execute(t, opened(t, kernels.PrecisionBF16), spec, kernels.F32, initial(t, c, spec)) {
				e := floats.Distance(got, want[out], 2) / floats.Norm(want[out], 2)
				t.Logf("%s: %s is wrong by %.5f of its norm", name, out, e)
				if !(e < 0.03) || e == 0 {
					t.Errorf("%s: %s is wrong by %.5f of its norm", name, out, e)
				}
			}
		}
	}
}

// TestGetWidens reads a bfloat16 value as numbers and as bits.
func TestGetWidens(t *testing.T) {
	c := configs()["llama"]
	b := bindOn(t, opened(t, kernels.PrecisionBF16), c, model.Options{B: 2, T: 9}, "final")
	b.results(t)
	v, err := b.program.View("final")
	if err != nil {
		t.Fatal(err)
	}
	if v.DType != kernels.BF16 {
		t.Fatalf("the final norm's output is %v", v)
	}
	wide, raw := make([]float32, v.Len()), make([]uint16, v.Len())
	if err := b.program.Get("final", wide); err != nil {
		t.Fatal(err)
	}
	if err := b.program.Get("final", raw); err != nil {
		t.Fatal(err)
	}
	for i := range wide {
		if wide[i] == 0 || wide[i] != kernels.FromBF16(raw[i]) || raw[i] != v.BF16()[i] {
			t.Fatalf("element %d is %v, its bits %#x", i, wide[i], raw[i])
		}
	}
	wantError(t, b.program.Get("final", make([]float32, 3)), "train", "final")
}

// TestConversionOfWhatIsOverwritten reads a cache as an operand of products before and after it is written: each must see its own rows.
func TestConversionOfWhatIsOverwritten(t *testing.T) {
	spec := cached(t, kernels.F32)
	want := execute(t, ref.New(), spec, kernels.F32, memoryFor(t, spec, kernels.F32))["sum"]
	got := execute(t, opened(t, kernels.PrecisionBF16), spec, kernels.F32, memoryFor(t, spec, kernels.F32))["sum"]
	if e := floats.Distance(got, want, 2) / floats.Norm(want, 2); !(e < 0.01) || e == 0 {
		t.Errorf("the sum of both is wrong by %.4f of its norm", e)
	}
}

// TestBF16Deterministic wants the same bits from two programs of one model, and from two runs of each.
func TestBF16Deterministic(t *testing.T) {
	for name, c := range configs() {
		be := opened(t, kernels.PrecisionBF16)
		first := bindOn(t, be, c, model.Options{B: 2, T: 9})
		want := first.results(t)
		first.program.Poison()
		if !slices.Equal(first.results(t), want) || !slices.Equal(bindOn(t, be, c, model.Options{B: 2, T: 9}).results(t), want) {
			t.Errorf("%s: results differ", name)
		}
	}
}
