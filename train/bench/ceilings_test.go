package bench

import (
	"context"
	"math"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/sample"
)

// clockwork is a backend without arithmetic, whose calls take the time that a rule gives, and whose arenas have a limit.
type clockwork struct {
	kernels.Backend
	precision kernels.Precision
	seconds   func(c kernels.Call, a kernels.Args) float64
	memory    int

	now   float64
	marks []float64
}

func (b *clockwork) Precision() kernels.Precision { return b.precision }

func (b *clockwork) Workspace(kernels.Call, kernels.Args) (int, error) { return 0, nil }

func (b *clockwork) NewArena(bytes int) (kernels.Arena, error) {
	if bytes > b.memory {
		return nil, &kernels.OutOfMemory{Device: "a small one", Wanted: int64(bytes)}
	}
	return hollow(bytes), nil
}

// hollow is an arena of shapes without memory.
type hollow int

func (h hollow) View(_ int, d kernels.DType, shape ...int) kernels.View {
	return kernels.Shaped(d, shape...)
}
func (h hollow) Bytes() int  { return int(h) }
func (h hollow) Free() error { return nil }

func (b *clockwork) Upload(kernels.View, any) error { return nil }

func (b *clockwork) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	return func() error { b.now += b.seconds(c, a); return nil }, nil
}

func (b *clockwork) Mark() { b.marks = append(b.marks, b.now) }

func (b *clockwork) Marks() ([]float64, error) {
	at := b.marks
	b.marks = nil
	for i := len(at) - 1; i >= 0; i-- {
		at[i] -= at[0]
	}
	return at, nil
}

// TestCeilings wants the traffic of the largest copy, read and written, and the best of the products, in the type of the backend's precision.
// A product of 512 takes 1 s for 10^13 operations in bfloat16 and ten times as long in float32, others twice as long.
func TestCeilings(t *testing.T) {
	for precision, flops := range map[kernels.Precision]float64{kernels.PrecisionFP32: 1e12, kernels.PrecisionTF32: 1e12, kernels.PrecisionBF16: 1e13} {
		be := &clockwork{Backend: ref.New(), precision: precision, memory: math.MaxInt}
		be.seconds = func(c kernels.Call, a kernels.Args) float64 {
			m, product := c.(kernels.MatMul)
			if !product {
				return float64(a.In[0].Bytes()) / 1e9
			}
			want := kernels.F32
			if precision == kernels.PrecisionBF16 {
				want = kernels.BF16
			}
			if a.In[0].DType != want || a.In[1].DType != want {
				t.Errorf("%s: a product of %v and %v", precision, a.In[0].DType, a.In[1].DType)
			}
			n, seconds := a.In[0].Dim(0), float64(m.FLOPs(a))/flops
			if n != 512 {
				seconds *= 2
			}
			return seconds
		}
		c, err := ceilings(be, 1e-9)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Copy/2-1) > 1e-6 || math.Abs(c.MatMul/(flops/1e9)-1) > 1e-6 || c.Square != 512 {
			t.Errorf("%s: ceilings %+v", precision, c)
		}
	}
}

// TestCeilingsInLittleMemory wants the largest problems that fit, and an error where none does.
func TestCeilingsInLittleMemory(t *testing.T) {
	be := &clockwork{Backend: ref.New(), memory: 3 << 20, seconds: func(kernels.Call, kernels.Args) float64 { return 1e-6 }}
	c, err := ceilings(be, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 4 * float64(1<<18) / 1e-6 / 1e9; math.Abs(c.Copy/want-1) > 1e-6 || c.Square != 512 {
		t.Errorf("ceilings %+v, want a copy of %g GB/s and products of 512", c, want)
	}
	c = Ceilings{}
	for _, memory := range []int{0, 600 << 10} { // the second holds a copy and no product
		be.memory = memory
		if err := c.measureCopy(be, 1e-9); (err == nil) != (memory > 0) {
			t.Errorf("a copy in %d bytes: %v", memory, err)
		}
		if _, err := ceilings(be, 1e-9); err == nil {
			t.Errorf("ceilings were measured in %d bytes", memory)
		}
		c = Ceilings{}
	}
}

// TestWriteOnce counts every token but the first, which comes with the prompt.
func TestWriteOnce(t *testing.T) {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab = 1, 8, 2, 2, 8, 12, 11
	w, err := model.NewWeights(ref.New(), c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := sample.New(w, sample.GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sample.NewSampler(sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]int{1: 0, 2: 1, 7: 6} {
		if n, _, err := writeOnce(context.Background(), g, []int32{3}, most, s, 1e9); err != nil || n != want {
			t.Errorf("%d of %d tokens are counted, want %d (%v)", n, most, want, err)
		}
	}
}

// TestArithmeticCeiling: the probe's, unless it was disturbed, and the product's without one.
func TestArithmeticCeiling(t *testing.T) {
	for _, c := range []struct {
		ceilings  Ceilings
		want      float64
		disturbed bool
	}{{Ceilings{MatMul: 90, Peak: 100}, 100, false}, {Ceilings{MatMul: 90, Peak: 60}, 90, true}, {Ceilings{MatMul: 90}, 90, false}} {
		if got := c.ceilings.Arithmetic(); got != c.want || c.ceilings.Disturbed() != c.disturbed {
			t.Errorf("%+v: %v, disturbed %v", c.ceilings, got, c.ceilings.Disturbed())
		}
	}
}
