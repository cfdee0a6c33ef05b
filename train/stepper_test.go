package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/train/optim"
)

// small is a model of odd sizes.
func small() model.Config {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab = 2, 12, 3, 1, 20, 5, 23
	c.Init = model.Init{Kind: "gpt2", Std: 0.02, Residual: "scaled"} // small weights, so that steps at the rates of these tests are small too
	return c
}

func options(size, accumulate int) StepOptions {
	o := Default().Optimizer
	return StepOptions{Batch: size, Context: 5, Accumulate: accumulate, Optimizer: o, Clip: 1, Seed: 1<<40 + 7}
}

func stepper(t *testing.T, be kernels.Backend, c model.Config, o StepOptions) *Stepper {
	t.Helper()
	w, err := model.NewWeights(be, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Initialise(3); err != nil {
		t.Fatal(err)
	}
	for _, x := range w.Slab.Views("") { // larger than real ones, so that every gradient is far from zero
		for i := range x.F32() {
			x.F32()[i] *= 8
		}
	}
	s, err := NewStepper(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// data is a batch of size sequences whose targets are ignored where ignore says so.
func testBatches(size int, ignore func(row int) bool) *batch.Batch {
	b := &batch.Batch{B: size, T: 5}
	for i := range size * 5 {
		target := int32((i*5 + 1) % 23)
		if ignore(i) {
			target = -1
		}
		b.Inputs, b.Targets = append(b.Inputs, int32((i*i*7+3*i)%23)), append(b.Targets, target)
	}
	return b
}

// split cuts a batch into micro-batches.
func split(b *batch.Batch, parts int) []*batch.Batch {
	var out []*batch.Batch
	n := b.B * b.T / parts
	for i := range parts {
		out = append(out, &batch.Batch{B: b.B / parts, T: b.T, Inputs: b.Inputs[i*n : (i+1)*n], Targets: b.Targets[i*n : (i+1)*n]})
	}
	return out
}

func step(t *testing.T, s *Stepper, number int64, micros ...*batch.Batch) Result {
	t.Helper()
	r, err := s.Step(context.Background(), number, 1e-2, micros)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// state is a copy of everything that a step changes.
func (s *Stepper) state() [][]float32 {
	all := [][]float32{slices.Clone(s.weights.Slab.All().F32())}
	for _, m := range s.moments {
		all = append(all, slices.Clone(m.All().F32()))
	}
	if s.weights.Buffers != nil {
		all = append(all, slices.Clone(s.weights.Buffers.All().F32()))
	}
	return all
}

// normed is the small model with a kind of norm.
func normed(kind string) model.Config {
	c := small()
	c.Norm.Kind = kind
	return c
}

// closeTo compares two slabs: each element to a share of its tensor's largest. The two sum the same products in another order, in float64
// with one rounding a micro-batch, which is a few times 2^-24 of the largest summand.
func closeTo(t *testing.T, what string, s, want *exec.Slab) {
	t.Helper()
	for i, name := range s.Names() {
		x, y := s.View(i).F32(), want.View(i).F32()
		largest := 0.0
		for _, v := range y {
			largest = max(largest, math.Abs(float64(v)))
		}
		if largest == 0 {
			t.Fatalf("%s of %s is zero: the case tests nothing", what, name)
		}
		for k := range x {
			if e := math.Abs(float64(x[k]-y[k])) / largest; !(e < 2e-6) {
				t.Fatalf("%s of %s[%d]: %v, in one batch %v", what, name, k, x[k], y[k])
			}
		}
	}
}

// TestAccumulate holds a step of several micro-batches against one large batch, with targets ignored in uneven numbers: the loss averaged
// over micro-batches in place of targets is a mistake that trainers have made.
func TestAccumulate(t *testing.T) {
	for name, ignore := range map[string]func(int) bool{
		"no target ignored":     func(int) bool { return false },
		"uneven":                func(i int) bool { return i < 13 && i%4 != 0 },
		"a whole micro ignored": func(i int) bool { return i >= 20 },
	} {
		big := testBatches(6, ignore)
		for _, parts := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, parts), func(t *testing.T) {
				one, many := stepper(t, ref.New(), small(), options(6, 1)), stepper(t, ref.New(), small(), options(6/parts, parts))
				tolerance := 2e-6              // as in closeTo
				for number := range int64(2) { // the second step starts from gradients that are not zero
					a, b := step(t, one, number+1, big), step(t, many, number+1, split(big, parts)...)
					for _, f := range [][2]float64{{a.Loss, b.Loss}, {a.GradNorm, b.GradNorm}, {a.Clip, b.Clip}} {
						if !(math.Abs(f[0]-f[1]) < tolerance*f[0]) {
							t.Errorf("step %d: %+v in micro-batches, %+v in one", number+1, b, a)
						}
					}
					if number == 0 {
						closeTo(t, "gradient", many.grads, one.grads)
						tolerance = 1e-4 // the first update of AdamW divides each gradient by its own size, rounding errors included
					}
				}
				if !(one.norm.F32()[0] > 1) {
					t.Errorf("gradient norm %v: clipping was not tested", one.norm.F32()[0])
				}
			})
		}
	}
}

// TestLossIsMeanOverTargets holds the loss against the mean of those of the sequences alone.
func TestLossIsMeanOverTargets(t *testing.T) {
	big := testBatches(3, func(i int) bool { return i < 4 || i == 7 }) // 1, 4 and 5 targets
	whole := step(t, stepper(t, ref.New(), small(), options(1, 3)), 1, split(big, 3)...)
	sum, n := 0.0, 0.0
	for _, one := range split(big, 3) {
		count := float64(countTargets(one))
		sum += count * step(t, stepper(t, ref.New(), small(), options(1, 1)), 1, one).Loss
		n += count
	}
	if want := sum / n; math.Abs(whole.Loss-want) > 1e-6*want || n != 10 {
		t.Errorf("loss %v, mean over %v targets %v", whole.Loss, n, want)
	}
}

// TestAllIgnored wants a batch without targets to have loss zero and gradients of zero.
func TestAllIgnored(t *testing.T) {
	s := stepper(t, ref.New(), small(), options(2, 1))
	if r := step(t, s, 1, testBatches(2, func(int) bool { return true })); r.Loss != 0 || r.GradNorm != 0 || r.Clip != 1 || !r.Finite() {
		t.Errorf("%+v", r)
	}
}

// TestNotFinite wants a gradient that is no number to leave weights and moments as they were, bit for bit, with each optimizer, with and
// without clipping, from whichever micro-batch it comes.
func TestNotFinite(t *testing.T) {
	for _, kind := range optim.Kinds() {
		for _, clip := range []float64{0, 1} {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
				t.Run(fmt.Sprintf("%s clip=%v %v", kind, clip, bad), func(t *testing.T) {
					o := options(1, 2)
					o.Optimizer.Kind, o.Optimizer.Momentum, o.Clip = kind, 0.9, clip
					s := stepper(t, ref.New(), small(), o)
					micros := split(testBatches(2, func(int) bool { return false }), 2)
					before := s.state()
					if r := step(t, s, 1, micros...); !r.Finite() {
						t.Fatalf("the first step gives %+v", r)
					}
					if slices.EqualFunc(before, s.state(), slices.Equal) {
						t.Fatal("the first step changes nothing")
					}
					s.weights.Slab.View(0).F32()[3] = bad
					before = s.state()
					r := step(t, s, 2, micros...)
					if r.Finite() || !math.IsNaN(r.Clip) {
						t.Errorf("a step with %v in the weights gives %+v", bad, r)
					}
					if !slices.EqualFunc(before, s.state(), equalBits) {
						t.Error("weights or moments changed")
					}
				})
			}
		}
	}
}

// TestNotFiniteStatistics is the same for running statistics, which the pass itself changes.
func TestNotFiniteStatistics(t *testing.T) {
	s := stepper(t, ref.New(), normed("batchnorm"), options(1, 2))
	micros := split(testBatches(2, func(int) bool { return false }), 2)
	if r := step(t, s, 1, micros...); !r.Finite() {
		t.Fatalf("the first step gives %+v", r)
	}
	s.weights.Slab.View(0).F32()[3] = float32(math.NaN())
	before := s.state()
	if r := step(t, s, 2, micros...); r.Finite() || !slices.EqualFunc(before, s.state(), equalBits) {
		t.Errorf("a step that is not finite (%+v) changed weights, moments or statistics", r)
	}
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestDropoutRepeats wants a step to be a function of seed, step number and micro-batch.
func TestDropoutRepeats(t *testing.T) {
	c := small()
	c.Dropout = 0.3
	grads := func(seed, number int64, micros ...*batch.Batch) []float32 {
		o := options(2, len(micros))
		o.Seed = seed
		s := stepper(t, ref.New(), c, o)
		step(t, s, number, micros...)
		return slices.Clone(s.grads.All().F32())
	}
	d := testBatches(2, func(int) bool { return false })
	none := testBatches(2, func(int) bool { return true })
	first := grads(1, 1, d, none)
	if !equalBits(first, grads(1, 1, d, none)) {
		t.Error("the same step twice gives different gradients")
	}
	for name, other := range map[string][]float32{
		"seed": grads(2, 1, d, none), "high half of the seed": grads(1+1<<32, 1, d, none), "step": grads(1, 2, d, none), "micro-batch": grads(1, 1, none, d),
	} {
		if equalBits(first, other) {
			t.Errorf("another %s gives the same gradients", name)
		}
	}
}

// TestGivenUp wants a step that does not end to leave weights and moments as they were, and the next one to be right.
func TestGivenUp(t *testing.T) {
	for _, kind := range []string{"rmsnorm", "batchnorm"} {
		t.Run(kind, func(t *testing.T) { testGivenUp(t, normed(kind)) })
	}
}

func testGivenUp(t *testing.T, c model.Config) {
	micros := split(testBatches(4, func(int) bool { return false }), 2)
	clean := stepper(t, ref.New(), c, options(2, 2))
	want := step(t, clean, 1, micros...)
	s := stepper(t, ref.New(), c, options(2, 2))
	before := s.state()
	for questions := range 2 { // before the first micro-batch and before the second
		if _, err := s.Step(&stopAfter{context.Background(), questions}, 1, 1e-2, micros); err != context.Canceled {
			t.Errorf("a step whose context has ended gives the error %v", err)
		}
	}
	broken := testBatches(2, func(int) bool { return false })
	broken.Targets[3] = 23
	short := &batch.Batch{B: 1, T: 5, Inputs: broken.Inputs[:5], Targets: broken.Targets[:5]}
	for words, wrong := range map[string][]*batch.Batch{
		"target 23": {micros[0], broken}, "micro-batch 1 has 5 inputs and 5 targets, the step was made for 10": {micros[0], short},
		"1 micro-batches, the step was made for 2": micros[:1],
	} {
		if _, err := s.Step(context.Background(), 1, 1e-2, wrong); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, wants one that says %q", err, words)
		}
	}
	if !slices.EqualFunc(before, s.state(), slices.Equal) {
		t.Error("a step that failed changed weights or moments")
	}
	if got := step(t, s, 1, micros...); got != want || !slices.EqualFunc(clean.state(), s.state(), slices.Equal) {
		t.Errorf("the step after it gives %+v, without it %+v", got, want)
	}
}

// TestDecay wants weight decay on matrices and tables only: at a gradient of zero they shrink by lr·decay and the rest stays.
func TestDecay(t *testing.T) {
	c := small()
	c.Norm.Kind, c.Bias = "layernorm", "all"
	o := options(2, 1)
	o.Optimizer.WeightDecay = 0.5
	s := stepper(t, ref.New(), c, o)
	before := s.state()[0]
	step(t, s, 1, testBatches(2, func(int) bool { return true }))
	seen := map[bool]int{}
	for i, p := range s.weights.Table {
		v := s.weights.Slab.View(i).F32()
		old := before[s.offset(i):]
		for k := range v {
			want := old[k]
			if len(p.Shape) == 2 {
				want = float32(float64(old[k]) * (1 - float64(float32(1e-2))*0.5))
			}
			if v[k] != want {
				t.Fatalf("%s[%d] went from %v to %v, want %v", p.Name, k, old[k], v[k], want)
			}
		}
		seen[p.Decay]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Error("the model lacks a kind of parameter")
	}
}

// offset is where tensor i starts in the slab.
func (s *Stepper) offset(i int) int {
	return s.weights.Slab.All().Len() - s.weights.Slab.Range(i, len(s.weights.Table)).Len()
}

// TestStepAllocatesNothing guards the hot path.
func TestStepAllocatesNothing(t *testing.T) {
	c := small()
	c.Dropout = 0.1
	for _, accumulate := range []int{1, 2} {
		s := stepper(t, ref.New(), c, options(2, accumulate))
		micros := split(testBatches(2*accumulate, func(int) bool { return false }), accumulate)
		ctx, number := context.Background(), int64(0)
		n := testing.AllocsPerRun(10, func() {
			number++
			if _, err := s.Step(ctx, number, 1e-3, micros); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%v allocations a step of %d micro-batches", n, accumulate)
		}
	}
}

// counting is the reference backend without one of its kernels. It counts what is allocated and freed.
type counting struct {
	kernels.Backend
	lacks       string
	open, total int
}

type counted struct {
	kernels.Arena
	of *counting
}

func (a counted) Free() error {
	a.of.open--
	return a.Arena.Free()
}

func (b *counting) NewArena(bytes int) (kernels.Arena, error) {
	b.open++
	b.total++
	a, err := b.Backend.NewArena(bytes)
	return counted{a, b}, err
}

func (b *counting) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if c.Kernel() == b.lacks {
		return 0, fmt.Errorf("no kernel for %q", b.lacks)
	}
	n, err := b.Backend.Workspace(c, a)
	return n + 64, err // every call wants workspace, so that all of it is counted
}

// TestLackingBackend wants a stepper that cannot be made to name the kernel and to give back what it took; where the model's own program
// cannot be made, nothing is taken.
func TestLackingBackend(t *testing.T) {
	for _, lacks := range []string{"attention.grad", "adamw", "global_norm", "fill", "none"} {
		t.Run(lacks, func(t *testing.T) {
			be := &counting{Backend: ref.New(), lacks: lacks}
			w, err := model.NewWeights(be, small())
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewStepper(w, options(2, 2))
			if lacks == "none" {
				if err != nil || be.open < 5 {
					t.Fatal(err, be.open)
				}
				if err := s.Free(); err != nil {
					t.Fatal(err)
				}
			} else if err == nil || s != nil || !strings.Contains(err.Error(), lacks) {
				t.Fatalf("error %v", err)
			}
			if lacks == "attention.grad" && be.total != 1 {
				t.Errorf("%d blocks of memory were allocated besides the weights", be.total-1)
			}
			if be.open != 1 {
				t.Errorf("%d blocks of memory are left besides the weights", be.open-1)
			}
		})
	}
}
