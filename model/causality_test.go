package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/block"
	"prenorm/model/exec"
	"prenorm/model/graph"
	"prenorm/model/op"
)

// placed are the variants and one model for each placement.
func placed() map[string]Config {
	all := variants()
	for _, name := range block.Names() {
		all["placement "+name] = all["base"].WithPlacement(name)
	}
	return all
}

// forward is a program of logits with random tokens.
type forward struct {
	net     *Net
	program *exec.Program
	params  *exec.Slab
	inputs  map[string][]int32
}

func newForward(t *testing.T, c Config, o Options) *forward {
	t.Helper()
	o.Mode = Logits
	net, err := Build(c, o)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := net.Plan(ref.New(), false)
	if err != nil {
		t.Fatal(err)
	}
	f := &forward{net: net, inputs: map[string][]int32{}}
	if f.params, err = NewSlab(ref.New(), o.DType, net.Table()); err != nil {
		t.Fatal(err)
	}
	for i, p := range net.Table() {
		p.Mean, p.Std = p.Mean+0.1, 0.3
		set(t, ref.New(), f.params.View(i), p.Initial(7))
	}
	if f.program, err = plan.Bind(buffers(t, net, o.DType, f.params.Views(""))); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *forward) set(t *testing.T, name string, values []int32) {
	t.Helper()
	if err := f.program.Set(name, values); err != nil {
		t.Fatal(err)
	}
}

// logits runs the tokens and returns one row of logits a token.
func (f *forward) logits(t *testing.T, tokens []int32) [][]float64 {
	t.Helper()
	f.set(t, InTokens, tokens)
	if err := f.program.Run(); err != nil {
		t.Fatal(err)
	}
	v, err := f.program.View(OutLogits)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(slices.Chunk(slices.Clone(floats(v)), f.net.Config.Vocab))
}

// TestCausality changes one token and wants the bits of all logits before it, and of the other sequences, to stay, and those of its own
// row to change. Variants, positions and tokens are drawn at random.
func TestCausality(t *testing.T) {
	draws := 12
	if os.Getenv("PRENORM_SLOW") != "" {
		draws = 300
	}
	for name, c := range placed() {
		t.Run(name, func(t *testing.T) {
			const b, length = 3, 7
			r := rand.New(rand.NewPCG(5, uint64(len(name))))
			f := newForward(t, c, Options{B: b, T: length})
			for range draws {
				tokens := make([]int32, b*length)
				for i := range tokens {
					tokens[i] = r.Int32N(int32(c.Vocab))
				}
				before := f.logits(t, tokens)
				at := r.IntN(len(tokens))
				tokens[at] = (tokens[at] + 1 + r.Int32N(int32(c.Vocab)-1)) % int32(c.Vocab)
				for i, row := range f.logits(t, tokens) {
					same := slices.Equal(row, before[i])
					if free := i/length == at/length && i >= at; !free && !same {
						t.Fatalf("token %d changed and so did the logits of row %d", at, i)
					} else if i == at && same {
						t.Fatalf("token %d changed and its logits did not", at)
					}
				}
			}
		})
	}
}

// TestEarlierTokensMatter is the other half of causality: a row sees every earlier token of its window.
func TestEarlierTokensMatter(t *testing.T) {
	for name, c := range variants() {
		f := newForward(t, c, Options{B: 1, T: 7, DType: kernels.F64})
		tokens := []int32{1, 2, 3, 4, 5, 6, 7}
		before := f.logits(t, tokens)
		for at := range tokens {
			tokens[at] += 9
			after := f.logits(t, tokens)
			for i := at; i < len(tokens); i++ {
				if slices.Equal(after[i], before[i]) {
					t.Errorf("%s: row %d does not see token %d", name, i, at)
				}
			}
			tokens[at] -= 9
		}
	}
}

// TestWindow wants a model whose every layer has a window of w rows to see layers·(w-1) rows back and no further.
func TestWindow(t *testing.T) {
	c := variants()["base"]
	c.Attention.Window = []int{2}
	f := newForward(t, c, Options{B: 1, T: 7})
	tokens := []int32{1, 2, 3, 4, 5, 6, 7}
	before := f.logits(t, tokens)
	tokens[1] = 20
	for i, row := range f.logits(t, tokens) {
		if changed, want := !slices.Equal(row, before[i]), i >= 1 && i <= 1+c.Layers*(2-1); changed != want {
			t.Errorf("row %d changed: %v, want %v", i, changed, want)
		}
	}
}

// TestPatterns wants lists of windows and of RoPE's bases to repeat over the layers from the first.
func TestPatterns(t *testing.T) {
	c := variants()["base"]
	c.Layers, c.Attention.Window, c.Position.Theta = 5, []int{3, 2, 0}, []float64{10000, 1e6}
	net, err := Build(c, Options{B: 1, T: 7})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, n := range net.Graph.Expr().AllNodes() {
		o, ok := n.Op().(*op.Op)
		if !ok {
			continue
		}
		for l, want := range []struct {
			window int
			theta  float64
		}{{3, 10000}, {2, 1e6}, {0, 10000}, {3, 1e6}, {2, 10000}} {
			layer := fmt.Sprintf("layers.%d.self_attn.", l)
			if a, ok := o.Call().(kernels.Attention); ok && o.Path() == layer+"attention" {
				found++
				if a.Window != want.window {
					t.Errorf("layer %d has the window %d, want %d", l, a.Window, want.window)
				}
			}
			if o.Path() == layer+"q_rope" || o.Path() == layer+"k_rope" {
				found++
				table := n.Graph().From(n.ID())
				for table.Next() {
					if in := table.Node().(graph.Tensor); strings.HasPrefix(in.Name(), "rope.") && in.Name() != fmt.Sprintf("rope.theta=%g", want.theta) {
						t.Errorf("layer %d reads the table %s, want that of %g", l, in.Name(), want.theta)
					}
				}
			}
		}
	}
	if found != 15 {
		t.Errorf("%d nodes found, want 15", found)
	}
}
