package exec_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/block"
	"prenorm/model/exec"
)

// configs are models with all kinds of sub-layers, one for each placement, and one of many layers.
func configs() map[string]model.Config {
	llama := model.Default()
	llama.Layers, llama.Width, llama.Heads, llama.KVHeads, llama.FFN, llama.Context, llama.Vocab = 3, 24, 6, 2, 40, 9, 37
	llama.Attention.QKNorm, llama.Tied = "head", false
	gpt2 := llama
	gpt2.Norm.Kind, gpt2.MLP, gpt2.Position.Kind, gpt2.Bias, gpt2.Dropout, gpt2.Attention.QKNorm, gpt2.Tied = "layernorm", "gelu_tanh", "learned", "all", 0.1, "none", true
	deep := gpt2
	deep.Layers = 12
	gemma := llama
	gemma.MLP, gemma.Norm.UnitOffset, gemma.EmbedScale, gemma.LogitSoftcap, gemma.Attention.Window = "geglu", true, true, 30, []int{3, 0}
	dyt := gpt2
	dyt.Norm.Kind = "dyt"
	all := map[string]model.Config{"llama": llama, "gpt2": gpt2, "gemma": gemma, "twelve layers": deep, "dyt": dyt}
	for _, name := range block.Names() {
		all["placement "+name] = llama.WithPlacement(name)
	}
	return all
}

// bound is a program with its memory outside the arena.
type bound struct {
	net           *model.Net
	program       *exec.Program
	params, grads *exec.Slab
}

func plan(t *testing.T, be kernels.Backend, c model.Config, o model.Options, taps ...string) (*model.Net, *exec.Plan) {
	t.Helper()
	net, err := model.Build(c, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.Plan(be, false, taps...)
	if err != nil {
		t.Fatal(err)
	}
	return net, p
}

func bind(t *testing.T, c model.Config, o model.Options, taps ...string) *bound {
	t.Helper()
	return bindOn(t, ref.New(), c, o, taps...)
}

func bindOn(t *testing.T, be kernels.Backend, c model.Config, o model.Options, taps ...string) *bound {
	t.Helper()
	net, p := plan(t, be, c, o, taps...)
	b := &bound{net: net}
	var err error
	if b.params, err = model.NewSlab(be, kernels.F32, net.Table()); err != nil {
		t.Fatal(err)
	}
	if b.grads, err = model.NewSlab(be, kernels.F32, net.Table()); err != nil {
		t.Fatal(err)
	}
	for i, row := range net.Table() {
		row.Std, row.Mean = 0.2, row.Mean+0.1
		copy(b.params.View(i).F32(), row.Initial(5))
	}
	external := b.params.Views("")
	maps.Copy(external, b.grads.Views(model.GradPrefix))
	if b.program, err = p.Bind(external); err != nil {
		t.Fatal(err)
	}
	b.inputs(t)
	return b
}

// inputs sets every input that the program does not set by itself.
func (b *bound) inputs(t *testing.T) {
	t.Helper()
	for _, in := range b.net.Graph.Inputs() {
		if in.Data != nil {
			continue
		}
		n := in.Node.Shape().TotalSize()
		var data any
		switch in.Name {
		case model.InNormaliser:
			data = []float32{float32(b.net.B * b.net.T)}
		default:
			ids := make([]int32, n)
			for i := range ids {
				ids[i] = int32((i*i*3 + i) % b.net.Config.Vocab)
			}
			data = ids
		}
		if err := b.program.Set(in.Name, data); err != nil {
			t.Fatal(err)
		}
	}
}

// results are the loss and the gradients, after one run.
func (b *bound) results(t *testing.T) []float32 {
	t.Helper()
	if err := b.program.Run(); err != nil {
		t.Fatal(err)
	}
	return b.values(t)
}

// values are the loss and the gradients as they are.
func (b *bound) values(t *testing.T) []float32 {
	t.Helper()
	loss, err := b.program.View(model.OutLoss)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(loss.F32())
	for i := range b.grads.Names() {
		all = append(all, b.grads.View(i).F32()...)
	}
	return all
}

// TestPlacement wants no two values that live at one time to share memory, and an arena that is hardly larger than the most that lives.
func TestPlacement(t *testing.T) {
	for name, c := range configs() {
		for _, o := range []model.Options{{B: 2, T: 9}, {B: 1, T: 5, Documents: true}, {Mode: model.Eval, B: 2, T: 9}, {Mode: model.Logits, B: 1, T: 9}, {Mode: model.Cached, B: 2, T: 3}} {
			t.Run(fmt.Sprintf("%s/%v B%d T%d", name, o.Mode, o.B, o.T), func(t *testing.T) {
				_, p := plan(t, ref.New(), c, o)
				if err := p.CheckPlacement(); err != nil {
					t.Fatal(err)
				}
				if peak := p.PeakLive(); p.Bytes() < peak || float64(p.Bytes()) > 1.15*float64(peak) {
					t.Errorf("the arena has %d bytes, the most that lives at one time is %d", p.Bytes(), peak)
				}
			})
		}
	}
}

// TestPlacementOfLargeModel is the same at the sizes of a real model, where the arena is what limits the batch.
func TestPlacementOfLargeModel(t *testing.T) {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.Context, c.Vocab = 12, 768, 12, 1024, 8192
	_, p := plan(t, ref.New(), c, model.Options{B: 1, T: 256})
	if err := p.CheckPlacement(); err != nil {
		t.Fatal(err)
	}
	peak := p.PeakLive()
	t.Logf("%d launches, arena %d bytes, most that lives at one time %d", p.Launches(), p.Bytes(), peak)
	if p.Bytes() < peak || float64(p.Bytes()) > 1.15*float64(peak) {
		t.Errorf("the arena has %d bytes, the most that lives at one time is %d", p.Bytes(), peak)
	}
}

// TestPlansAreEqual wants the same launches in the same order and the same bytes each time a model is built.
func TestPlansAreEqual(t *testing.T) {
	for name, c := range configs() {
		_, first := plan(t, ref.New(), c, model.Options{B: 2, T: 9})
		for range 3 {
			_, p := plan(t, ref.New(), c, model.Options{B: 2, T: 9})
			if !slices.Equal(p.Paths(), first.Paths()) || p.Bytes() != first.Bytes() {
				t.Errorf("%s: two plans of one model differ", name)
			}
		}
	}
}

// TestPoison wants a run to read nothing that it did not write, inputs and parameters apart.
func TestPoison(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			b := bind(t, c, model.Options{B: 2, T: 9, Documents: true})
			want := b.results(t)
			b.program.Poison()
			for i := range b.grads.All().F32() {
				b.grads.All().F32()[i] = 99
			}
			if got := b.results(t); !slices.Equal(got, want) {
				t.Error("results depend on what was in the arena or in the gradients before")
			}
			if !(want[0] > 0) {
				t.Errorf("loss %v", want[0])
			}
		})
	}
}
