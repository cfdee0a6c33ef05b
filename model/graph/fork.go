package graph

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/graph"
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
	"prenorm/model/op"
)

// Fork is a place where a stream parts: it goes straight on, past a sub-layer, and into a branch that comes back to it.
type Fork struct {
	Name     string
	X        Tensor   // the stream where it parts
	Straight []Tensor // readers of X that are on the straight path, among others that do not read X; what else reads X is the branch
	Branch   Tensor   // what the branch adds to the stream
	Out      Tensor   // the stream behind the sub-layer
}

// Fork declares a fork of x, whose other fields are set while the sub-layer is built.
func (s Scope) Fork(name string, x Tensor) *Fork {
	f := &Fork{Name: s.name(name), X: x}
	s.forks = append(s.forks, f)
	return f
}

// Forks are the forks in the order of their declaration.
func (g *Graph) Forks() []*Fork { return g.forks }

// Observation is a pair of tensors and the node of their [kernels.Moments]. One of the two may be nil, where a fork lacks it; the other then
// stands in for it.
type Observation struct {
	Name   string
	X, Y   Tensor
	Result Tensor
}

// Names of what is observed at a fork, after its own name and a dot.
const (
	AtStream   = "stream_moments"   // of X and Branch
	AtOut      = "out_moments"      // of Out and its gradient
	AtGradient = "gradient_moments" // of the part of X's gradient that came straight, and the part through the branch
)

// Observe adds the moments of every fork, three for each in the order above, and taps, behind [Graph.Backward]: in, out and branch are the fork's tensors; out_grad and in_grad
// the gradients of out and in; skip_grad and branch_grad the parts of in_grad. No other node is changed by it.
func (g *Graph) Observe() []Observation {
	var all []Observation
	s := g.Root()
	for _, f := range g.forks {
		if g.err != nil {
			return nil
		}
		if f.X.Deriv() == nil || f.Out.Deriv() == nil {
			g.fail(f.Name, fmt.Errorf("a fork has no gradient to observe"))
			return nil
		}
		straight, branch := s.parts(f)
		for _, t := range []Tap{{"in", f.X}, {"out", f.Out}, {"branch", f.Branch}, {"in_grad", f.X.Deriv()}, {"out_grad", f.Out.Deriv()},
			{"skip_grad", straight}, {"branch_grad", branch}} {
			if t.Node != nil {
				s.Tap(f.Name+"."+t.Name, t.Node)
			}
		}
		all = append(all, s.observe(f, AtStream, f.X, f.Branch), s.observe(f, AtOut, f.Out, f.Out.Deriv()), s.observe(f, AtGradient, straight, branch))
	}
	return all
}

// parts are the two parts of the gradient of a fork's stream, nil where there is none.
func (s Scope) parts(f *Fork) (straight, branch Tensor) {
	readers := graph.NodesOf(f.X.Graph().To(f.X.ID()))
	slices.SortFunc(readers, func(a, b graph.Node) int { return int(a.ID() - b.ID()) })
	for _, r := range readers {
		reader := r.(*G.Node)
		for _, d := range op.GradsAlong(f.X, reader) {
			if slices.Contains(f.Straight, reader) {
				straight = s.sum(f.Name+".skip_grad", straight, d)
			} else {
				branch = s.sum(f.Name+".branch_grad", branch, d)
			}
		}
	}
	return straight, branch
}

// sum is x + y, or y where there is no x.
func (s Scope) sum(name string, x, y Tensor) Tensor {
	if x == nil {
		return y
	}
	return s.Add(name, x, y)
}

func (s Scope) observe(f *Fork, what string, x, y Tensor) Observation {
	o := Observation{Name: f.Name + "." + what, X: x, Y: y}
	if x == nil {
		x = y
	}
	if y == nil {
		y = x
	}
	o.Result = s.Apply(o.Name, kernels.Moments{}, x, y)
	return o
}
