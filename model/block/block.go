// Package block says where the norm sits: a [Placement] owns the residual streams of the whole stack and puts the sub-layers and norms
// into them. Each placement is one file that registers itself; nothing else of the model knows about residuals.
package block

import (
	"fmt"
	"sort"

	"prenorm/model/graph"
)

// Streams are the running sums that a placement keeps between blocks. Most use X alone.
type Streams struct {
	X graph.Tensor // [N, C], what the next sub-layer reads
	R graph.Tensor // [N, C], a second stream (ResiDual); nil where there is none
}

// Sublayer is attention or the MLP, without residual and without norm: [N, C] to [N, C]. The inner functions, where a placement gives any,
// are applied inside.
type Sublayer func(x graph.Tensor, inner Inner) graph.Tensor

// Inner are functions that a placement may put inside a sub-layer. A nil function does nothing.
type Inner struct {
	Q, K, V func(x graph.Tensor) graph.Tensor // on the projected queries, keys and values
	Out     func(x graph.Tensor) graph.Tensor // right before the output projection
}

// Norm declares a norm with the given parameter name and applies it: [N, C] to [N, C].
type Norm func(name string, x graph.Tensor) graph.Tensor

// Stack is what a placement builds in.
type Stack struct {
	graph.Scope
	Layers int
	Norm   Norm // the model's norm, over the whole width
}

// Name is the path of a parameter or node of block l, counted from 1: "layers.0.attn_norm_in" for l = 1.
func (s Stack) Name(l int, name string) string { return fmt.Sprintf("layers.%d.%s", l-1, name) }

// Placement is the residual structure of a model. Blocks are counted from 1.
type Placement struct {
	Name string
	// Paper names the source of the equation.
	Paper string
	// Equation is one block in a line of text.
	Equation string
	// Begin turns the embedding into streams.
	Begin func(s Stack, embedding graph.Tensor) Streams
	// Block adds block l.
	Block func(s Stack, l int, in Streams, attn, mlp Sublayer) Streams
	// End turns the streams into the head's input; it owns the final norm.
	End func(s Stack, in Streams) graph.Tensor
	// Init is the factor on the standard deviation of a parameter's initial values, by the name of the parameter inside its block
	// ("self_attn.o_proj.weight") and the block's number out of layers. nil means 1 everywhere.
	Init func(l, layers int, name string) float64
}

var registry = map[string]Placement{}

// Register adds a placement. It is called from init functions and panics when the name is taken.
func Register(p Placement) {
	if _, taken := registry[p.Name]; taken {
		panic("block: placement registered twice: " + p.Name)
	}
	registry[p.Name] = p
}

// Lookup returns the placement of a name.
func Lookup(name string) (Placement, bool) {
	p, ok := registry[name]
	return p, ok
}

// Names lists the placements in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(registry))
	for n := range registry {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
