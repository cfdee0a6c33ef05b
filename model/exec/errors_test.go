package exec_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
)

// lacking is the reference backend without one of its kernels. It counts the arenas that are open.
type lacking struct {
	kernels.Backend
	kernel     string
	inBindOnly bool
	opened     int
	freed      int
}

func (b *lacking) refuse(c kernels.Call) error {
	if c.Kernel() == b.kernel {
		return fmt.Errorf("the backend has no kernel for %q", c.Kernel())
	}
	return nil
}

func (b *lacking) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if err := b.refuse(c); err != nil && !b.inBindOnly {
		return 0, err
	}
	return b.Backend.Workspace(c, a)
}

func (b *lacking) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	if err := b.refuse(c); err != nil {
		return nil, err
	}
	return b.Backend.Bind(c, a)
}

func (b *lacking) NewArena(bytes int) (kernels.Arena, error) {
	b.opened++
	a, err := b.Backend.NewArena(bytes)
	return &arena{a, b}, err
}

type arena struct {
	kernels.Arena
	of *lacking
}

func (a *arena) Free() error {
	a.of.freed++
	return a.Arena.Free()
}

// wantError wants an error that holds every one of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, wants one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// TestLackingBackend takes each kernel that a model uses from the backend: compiling must name it and its place, and allocate nothing.
func TestLackingBackend(t *testing.T) {
	c := configs()["gpt2"]
	net, err := model.Build(c, model.Options{B: 2, T: 9})
	if err != nil {
		t.Fatal(err)
	}
	for kernel, place := range map[string]string{
		"attention": "layers.0.self_attn.attention", "attention.grad": "layers.2.self_attn.attention.grad", "dropout": "embed_dropout",
		"embed.grad": "embed_", "linear_cross_entropy.grad": "loss.grad", "add": "embed_sum", "sumrows": ".bias",
	} {
		t.Run(kernel, func(t *testing.T) {
			be := &lacking{Backend: ref.New(), kernel: kernel}
			_, err := net.Plan(be, false)
			if kernel == "sumrows" {
				place = "addbias"
			}
			wantError(t, err, "compile train", place, fmt.Sprintf("%q", kernel))
			if be.opened > 0 {
				t.Errorf("%d arenas were allocated", be.opened)
			}
		})
	}
}

// TestBindFailure wants the arena back when a launch cannot be bound.
func TestBindFailure(t *testing.T) {
	net, err := model.Build(configs()["llama"], model.Options{Mode: model.Eval, B: 2, T: 9})
	if err != nil {
		t.Fatal(err)
	}
	be := &lacking{Backend: ref.New(), kernel: "attention", inBindOnly: true}
	p, err := net.Plan(be, false)
	if err != nil {
		t.Fatal(err)
	}
	params, err := model.NewSlab(ref.New(), kernels.F32, net.Table())
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Bind(params.Views(""))
	wantError(t, err, "bind eval", "layers.0.self_attn.attention", "attention")
	if be.opened != 1 || be.freed != 1 {
		t.Errorf("%d arenas allocated, %d freed", be.opened, be.freed)
	}
	missing := maps.Clone(params.Views(""))
	delete(missing, "norm.weight")
	_, err = p.Bind(missing)
	wantError(t, err, "bind eval", "norm.weight", "no memory was given")
	missing["norm.weight"] = kernels.HostView(make([]float32, 5), 5)
	_, err = p.Bind(missing)
	wantError(t, err, "norm.weight", "wants")
}

// TestForeignOp wants an op of Gorgonia's that has no kernel here to be refused by name.
func TestForeignOp(t *testing.T) {
	for name, build := range map[string]func(a, b *G.Node) (*G.Node, error){
		"⊙":       func(a, b *G.Node) (*G.Node, error) { return G.HadamardProd(a, b) },
		"tanh":    func(a, _ *G.Node) (*G.Node, error) { return G.Tanh(a) },
		"-":       func(a, b *G.Node) (*G.Node, error) { return G.Sub(a, b) },
		"Softmax": func(a, _ *G.Node) (*G.Node, error) { return G.SoftMax(a) },
	} {
		t.Run(name, func(t *testing.T) {
			g := G.NewGraph()
			a := G.NewMatrix(g, tensor.Float32, G.WithShape(3, 5), G.WithName("a"))
			b := G.NewMatrix(g, tensor.Float32, G.WithShape(3, 5), G.WithName("b"))
			y, err := build(a, b)
			if err != nil {
				t.Fatal(err)
			}
			_, err = exec.NewPlan(ref.New(), exec.Spec{Name: "test", Inputs: []exec.Named{{Name: "a", Node: a}, {Name: "b", Node: b}}, Outputs: []exec.Named{{Name: "y", Node: y}}})
			wantError(t, err, "compile test", name, "none of prenorm's")
		})
	}
}

// TestSpecErrors wants the ends of a program to be checked.
func TestSpecErrors(t *testing.T) {
	r := newRandom(t, kernels.F32, 1, 3)
	good := func() exec.Spec { return r.spec(false) }
	for name, c := range map[string]struct {
		change func(*exec.Spec)
		words  []string
	}{
		"no inputs":       {func(s *exec.Spec) { s.Inputs = nil }, []string{"variable", "neither an input nor external"}},
		"no node":         {func(s *exec.Spec) { s.Outputs = append(s.Outputs, exec.Named{Name: "nothing"}) }, []string{"nothing", "no node"}},
		"one node twice":  {func(s *exec.Spec) { s.Into = append(s.Into, exec.Named{Name: "again", Node: s.Into[0].Node}) }, []string{"again", "one place"}},
		"output and into": {func(s *exec.Spec) { s.Into = append(s.Into, exec.Named{Name: "loss too", Node: r.loss}) }, []string{"loss too"}},
		"unknown pass":    {func(s *exec.Spec) { s.Without = []string{"norm"} }, []string{`no pass "norm"`, "add-norm"}},
		"into a variable": {func(s *exec.Spec) { s.Into = append(s.Into, exec.Named{Name: "variable", Node: s.External[0].Node}) }, []string{"variable"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			c.change(&s)
			_, err := exec.NewPlan(ref.New(), s)
			wantError(t, err, append(c.words, "compile random")...)
		})
	}
}

// TestNames wants an unknown name, a wrong type and a wrong length to be errors that name the program and the input.
func TestNames(t *testing.T) {
	b := bind(t, configs()["llama"], model.Options{B: 2, T: 9})
	wantError(t, b.program.Set("token", []int32{1}), "train", `"token"`, model.InTokens)
	wantError(t, b.program.Set(model.InTokens, []int32{1}), "train", model.InTokens, "18")
	wantError(t, b.program.Set(model.InTokens, make([]float32, 18)), "train", model.InTokens)
	wantError(t, b.program.Get(model.OutLoss, make([]float32, 3)), "train", model.OutLoss)
	tokens := make([]int32, 18)
	tokens[3] = 37
	if err := b.program.Set(model.InTokens, tokens); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.program.Run(), "train", "embed_tokens", "37")
}
