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

// descend trains a model by plain gradient descent and returns the loss before each step and the gradients of the first.
func descend(t *testing.T, be kernels.Backend, c model.Config, steps int, rate float32) (losses []float64, grads map[string][]float64) {
	t.Helper()
	spec := specOf(t, c, model.Options{B: 2, T: 9}, false)
	memory := memoryFor(t, spec, kernels.F32)
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
	return losses, grads
}

// bounded are the models whose values stay near one with the weights of these tests: where no norm bounds the stream, or no skip carries it,
// errors grow from block to block and a tolerance for three blocks says nothing.
func bounded() map[string]model.Config {
	all := configs()
	for _, name := range []string{"none", "rezero", "noskip"} {
		delete(all, "placement "+name)
	}
	return all
}

// TestBF16Training holds training in bfloat16 against float32. A bfloat16 has 8 bits of mantissa: rounding moves a value by 2⁻⁹ of itself at
// the most, and by 2⁻¹⁰ or so on average. What is rounded between the embedding and the logits of three layers are some 40 values one after
// the other, whose errors are independent: logits come out wrong by about 2⁻¹⁰·√40 = 0.6 % of their size, which is near one here, and the
// mean loss of 18 rows by a fraction of that; four steps add to it. Gradients have twice as many roundings behind them: an angle of 0.01 to 0.03, or a
// cosine of 0.9995, of every tensor that has a part in the whole: one that is zero but for rounding, such as the bias of keys, which softmax does
// not see, or nearly so, has its own direction.
func TestBF16Training(t *testing.T) {
	for name, c := range bounded() {
		t.Run(name, func(t *testing.T) {
			want, wantGrads := descend(t, opened(t, kernels.PrecisionFP32), c, 4, 0.1)
			got, grads := descend(t, opened(t, kernels.PrecisionBF16), c, 4, 0.1)
			worst, where := 1.0, ""
			whole := 0.0
			for _, w := range wantGrads {
				whole = math.Hypot(whole, floats.Norm(w, 2))
			}
			for name, w := range wantGrads {
				if floats.Norm(w, 2) < 5e-3*whole {
					continue
				}
				g := grads[name]
				if cosine := floats.Dot(g, w) / (floats.Norm(g, 2) * floats.Norm(w, 2)); !(cosine >= worst) {
					worst, where = cosine, name
				}
			}
			t.Logf("losses %.4f in float32, %.4f in bfloat16; worst cosine %.5f of %s", want, got, worst, where)
			if !(worst > 0.995) {
				t.Errorf("the gradient of %s has a cosine of %.4f with that of float32", where, worst)
			}
			if slices.Equal(got, want) || !(want[3] < want[0]-0.1) {
				t.Errorf("losses %v in float32 and %v in bfloat16: that tests nothing", want, got)
			}
			for i := range want {
				if !(math.Abs(got[i]-want[i]) < 0.02*want[i]) {
					t.Errorf("step %d: loss %.4f, in float32 %.4f", i, got[i], want[i])
				}
			}
		})
	}
}

// TestBF16Programs holds the loss of evaluation and the logits against float32, and wants what is read of a program to be float32.
func TestBF16Programs(t *testing.T) {
	for name, c := range bounded() {
		for _, mode := range []model.Mode{model.Eval, model.Logits} {
			spec := specOf(t, c, model.Options{Mode: mode, B: 2, T: 9}, false)
			want := execute(t, opened(t, kernels.PrecisionFP32), spec, kernels.F32, memoryFor(t, spec, kernels.F32))
			p, err := exec.NewPlan(opened(t, kernels.PrecisionBF16), spec)
			if err != nil {
				t.Fatal(err)
			}
			if last := p.Steps()[p.Launches()-1]; last.Args.Out[0].DType != kernels.F32 {
				t.Errorf("%s %v: it ends in %v", name, mode, last)
			}
			for out, got := range execute(t, opened(t, kernels.PrecisionBF16), spec, kernels.F32, memoryFor(t, spec, kernels.F32)) {
				if e := floats.Distance(got, want[out], 2) / floats.Norm(want[out], 2); !(e < 0.02) || e == 0 {
					t.Errorf("%s: %s is wrong by %.4f of its norm", name, out, e)
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
