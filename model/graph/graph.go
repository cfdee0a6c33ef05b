// Package graph builds Gorgonia expression graphs of kernel calls with scoped unique names and one sticky error, so that a model's forward
// pass reads like its paper. The first error is kept with its path; later calls do nothing.
package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
	"prenorm/model/op"
)

// Tensor is a node of the graph. It is nil once the graph has an error.
type Tensor = *G.Node

// Graph is a graph under construction.
type Graph struct {
	g       *G.ExprGraph
	dtype   kernels.DType
	err     error
	paths   map[string]int // how often each was asked for
	params  []Param
	inputs  []Input
	states  []Input
	buffers []Param
	effects []Tap
	taps    []Tap
	forks   []*Fork
	byName  map[string]Tensor
}

// Param is a trained variable.
type Param struct {
	Name  string
	Shape []int
	Role  Role
	Node  Tensor
}

// Role says what a parameter does, which decides how it starts and whether it decays.
type Role uint8

// Roles of parameters.
const (
	Embedding      Role = iota // token or position table
	Matrix                     // a linear layer that reads the residual stream
	ResidualWriter             // a linear layer whose output is added to the residual stream
	Gain                       // of a norm: starts at one
	UnitGain                   // of a norm, stored as w and used as 1 + w: starts at zero
	Bias                       // of a linear layer or a norm: starts at zero
	Head                       // the untied language-model head
	Gate                       // a factor on a branch: starts where the placement says
	Slope                      // of a DyT layer's tanh: starts where the model says
	Running                    // running mean and variance of a batch norm, not trained: a row of zeros and one of ones
)

func (r Role) String() string {
	return [...]string{"embedding", "matrix", "residual writer", "gain", "unit gain", "bias", "head", "gate", "slope", "running statistics"}[r]
}

// Input is a variable that is not trained: what the caller sets before a step, a constant, or state that outlives a step.
type Input struct {
	Name string
	Node Tensor
	Data any // of a constant: []float32, []float64 or []int32; nil where the caller sets it
}

// Tap is a node that can be watched by name.
type Tap struct {
	Name string
	Node Tensor
}

// New starts a graph whose floating-point values are of the given type, F32 or F64.
func New(dtype kernels.DType) *Graph {
	return &Graph{g: G.NewGraph(), dtype: dtype, paths: map[string]int{}, byName: map[string]Tensor{}}
}

// Err returns the first error, nil for none.
func (g *Graph) Err() error { return g.err }

// Expr is the Gorgonia graph.
func (g *Graph) Expr() *G.ExprGraph { return g.g }

// DType is the type of floating-point values.
func (g *Graph) DType() kernels.DType { return g.dtype }

// Params are the trained variables in the order of their declaration.
func (g *Graph) Params() []Param { return g.params }

// Inputs are the variables that the caller sets, and the constants.
func (g *Graph) Inputs() []Input { return g.inputs }

// States are the variables whose memory outlives a step, such as a key-value cache.
func (g *Graph) States() []Input { return g.states }

// Buffers are the variables that are not trained and yet belong to the model, in the order of their declaration.
func (g *Graph) Buffers() []Param { return g.buffers }

// Effects are the nodes that change buffers: a program has to compute them although nothing reads them.
func (g *Graph) Effects() []Tap { return g.effects }

// Taps are the nodes that can be watched.
func (g *Graph) Taps() []Tap { return g.taps }

func (g *Graph) fail(path string, err error) {
	if g.err == nil && err != nil {
		g.err = fmt.Errorf("%s: %w", path, err)
	}
}

// Failf records an error of the builder's caller at a path.
func (g *Graph) Failf(path, format string, args ...any) { g.fail(path, fmt.Errorf(format, args...)) }

// unique makes a path that no other node has: "x", "x#2", "x#3".
func (g *Graph) unique(path string) string {
	g.paths[path]++
	if g.paths[path] == 1 {
		return path
	}
	for {
		name := fmt.Sprintf("%s#%d", path, g.paths[path])
		if g.paths[name] == 0 {
			g.paths[name] = 1
			return name
		}
		g.paths[path]++
	}
}

// variable declares a named variable; a name declared before gives the same node when its shape is the same.
func (g *Graph) variable(name string, dtype kernels.DType, shape []int) (n Tensor, isNew bool) {
	if g.err != nil {
		return nil, false
	}
	if n, ok := g.byName[name]; ok {
		if v, err := op.ViewOf(n); err != nil || fmt.Sprint(v) != fmt.Sprint(kernels.Shaped(dtype, shape...)) {
			g.fail(name, fmt.Errorf("declared twice, as %v and as %v", v, kernels.Shaped(dtype, shape...)))
			return nil, false
		}
		return n, false
	}
	for _, d := range shape {
		if d <= 0 {
			g.fail(name, fmt.Errorf("shape %v has a size that is not positive", shape))
			return nil, false
		}
	}
	n = G.NewTensor(g.g, op.TensorType(dtype), len(shape), G.WithShape(shape...), G.WithName(name))
	g.byName[name] = n
	return n, true
}

// Gradient is the loss's gradient by a node that [Graph.Backward] has passed, nil for others.
func Gradient(t Tensor) Tensor {
	if t == nil {
		return nil
	}
	return t.Deriv()
}

// Backward adds the gradient of the scalar loss with respect to every parameter, in the order of [Graph.Params].
func (g *Graph) Backward(loss Tensor) []Tensor {
	if g.err != nil {
		return nil
	}
	wrt := make(G.Nodes, len(g.params))
	for i, p := range g.params {
		wrt[i] = p.Node
	}
	grads, err := G.Grad(loss, wrt...)
	if err != nil {
		g.fail("backward", err)
		return nil
	}
	return grads
}
