// Package block says where the norm sits: a [Placement] owns the residual streams of the whole stack and puts the sub-layers and norms
// into them. Each placement is one file that registers itself; nothing else of the model knows about residuals.
//
// In equations x is the stream, F a sub-layer (attention or MLP), N the number of blocks, l a block's number from 1, and Norm the model's norm
// with parameters of its own at each place.
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
	Q, K, V func(x graph.Tensor) graph.Tensor // on the projected queries, keys and values, before positions
	Out     func(x graph.Tensor) graph.Tensor // right before the output projection
}

// Norm declares a norm with the given parameter name and applies it to rows: [N, C] to [N, C] for any C.
type Norm func(name string, x graph.Tensor) graph.Tensor

// Stack is what a placement builds in.
type Stack struct {
	graph.Scope
	Layers   int
	Norm     Norm // the model's norm, over whole rows
	HeadNorm Norm // the model's norm, over each head of queries, keys or values
}

// Name is the path of a parameter or node of block l, counted from 1: "layers.0.attn_norm_in" for l = 1.
func (s Stack) Name(l int, name string) string { return fmt.Sprintf("layers.%d.%s", l-1, name) }

// Part is one of the two sub-layers of block L, with names of its own: Kind is "attn" or "mlp", or one
// of them with ".r" for the second stream.
type Part struct {
	Stack
	L    int
	Kind string
	fork *graph.Fork
}

// part starts a sub-layer where the stream x parts into the straight path and the branch.
func (s Stack) part(l int, kind string, x graph.Tensor) Part {
	return Part{s, l, kind, s.Fork(s.Name(l, kind), x)}
}

// end is the stream behind the part.
func (p Part) end(out graph.Tensor) graph.Tensor {
	p.fork.Out = out
	if p.fork.Branch == nil { // nothing is added: the branch is all there is
		p.fork.Branch = out
	}
	return out
}

// straight says that a node which reads the part's stream is on the straight path.
func (p Part) straight(n graph.Tensor) graph.Tensor {
	p.fork.Straight = append(p.fork.Straight, n)
	return n
}

func (p Part) name(what string) string { return p.Name(p.L, p.Kind+"_"+what) }

// norm is the part's norm at a place: "in" (before the sub-layer), "out" (after it) or "sub" (inside it).
func (p Part) norm(place string, x graph.Tensor) graph.Tensor {
	return p.Norm(p.name("norm_"+place), x)
}

// add is the residual addition of the part.
func (p Part) add(x, branch graph.Tensor) graph.Tensor {
	p.fork.Branch = branch
	return p.straight(p.Add(p.name("residual"), x, branch))
}

// times is factor·x. Of the stream itself it is a part of the straight path.
func (p Part) times(factor float64, x graph.Tensor) graph.Tensor {
	return p.straight(p.Scale(p.name("factor"), x, factor))
}

// Placement is the residual structure of a model. Blocks are counted from 1.
type Placement struct {
	Name string
	// Paper names the source of the equation.
	Paper string
	// Equation is one block in a line of text.
	Equation string
	// About says what the placement is for, what its paper asks of the optimizer (warm-up, learning rate), and its traps.
	About string
	// Backward says, in lines of text, what reaches the stream below a sub-layer straight and through the branch.
	Backward string
	// Diagram is the wiring in both directions.
	Diagram Diagram

	// Begin turns the embedding into streams.
	Begin func(s Stack, embedding graph.Tensor) Streams
	// Block adds block l.
	Block func(s Stack, l int, in Streams, attn, mlp Sublayer) Streams
	// FinalNorm says whether the head reads a stream through a norm after the last block.
	FinalNorm bool
	// End turns the streams into the head's input; nil is the one stream, normed where FinalNorm says so.
	End func(s Stack, in Streams) graph.Tensor

	// Base is the distribution of initial values that the placement wants: "fan_in" or "xavier".
	Base string
	// Writers says whether matrices that write to the stream are scaled by 1/sqrt(2N): "scaled" or "plain".
	Writers string
	// Init is the factor on the standard deviation of a parameter's initial values, by the name of the parameter inside its block
	// ("self_attn.o_proj.weight") and the block's number out of layers. nil means 1 everywhere.
	Init func(l, layers int, name string) float64
	// Factor is the formula of Init for the matrices on the branch (values, output projection, MLP); "" = 1.
	Factor string
	// Gate is where the elements of a parameter start that the placement declared with role [graph.Gate].
	Gate func(layers int) float64

	// MinLayers is the smallest number of blocks that the placement makes sense with; 0 means 1.
	MinLayers int
	// OwnQKNorm says that the placement norms queries and keys itself.
	OwnQKNorm bool
	// Warmup says that the placement is known to fail without a warm-up of the learning rate.
	Warmup bool
}

// one starts the only stream at the embedding.
func one(_ Stack, embedding graph.Tensor) Streams { return Streams{X: embedding} }

// finalNorm norms the stream for the head.
func finalNorm(s Stack, in Streams) graph.Tensor { return s.Norm("norm", in.X) }

// last hands the stream to the head as it is.
func last(_ Stack, in Streams) graph.Tensor { return in.X }

// each makes a block of a rule that both sub-layers follow on the one stream.
func each(rule func(p Part, x graph.Tensor, f Sublayer) graph.Tensor) func(Stack, int, Streams, Sublayer, Sublayer) Streams {
	return func(s Stack, l int, in Streams, attn, mlp Sublayer) Streams {
		a := s.part(l, "attn", in.X)
		x := a.end(rule(a, in.X, attn))
		m := s.part(l, "mlp", x)
		return Streams{X: m.end(rule(m, x, mlp))}
	}
}

// branchMatrices are the parameters whose product is the branch: values, output projection and MLP, but not queries and keys, which only
// decide the weights of a mean.
var branchMatrices = map[string]bool{
	"self_attn.v_proj.weight": true, "self_attn.o_proj.weight": true,
	"mlp.gate_proj.weight": true, "mlp.up_proj.weight": true, "mlp.down_proj.weight": true,
}

// onBranches is the factor of every layer's branch matrices, and 1 elsewhere.
func onBranches(factor func(layers int) float64) func(l, layers int, name string) float64 {
	return func(_, layers int, name string) float64 {
		if branchMatrices[name] {
			return factor(layers)
		}
		return 1
	}
}

var registry = map[string]Placement{}

// Register adds a placement. It is called from init functions and panics when the name is taken.
func Register(p Placement) {
	if _, taken := registry[p.Name]; taken {
		panic("block: placement registered twice: " + p.Name)
	}
	if p.End == nil {
		p.End = last
		if p.FinalNorm {
			p.End = finalNorm
		}
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
