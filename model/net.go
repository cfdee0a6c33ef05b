package model

import (
	"fmt"
	"math"

	"prenorm/kernels"
	"prenorm/model/block"
	"prenorm/model/graph"
)

// Mode says what a network is built for. All modes have the same parameters in the same order.
type Mode uint8

// Modes of a network.
const (
	Train  Mode = iota // loss and gradients, with dropout
	Eval               // loss
	Logits             // logits of every row
	Cached             // logits of one row a sequence, keys and values in a cache: prefill and decode
)

func (m Mode) String() string { return [...]string{"train", "eval", "logits", "cached"}[m] }

// Names of inputs and outputs.
const (
	InTokens     = "tokens"     // int32 [B*T]
	InTargets    = "targets"    // int32 [B*T], negative = ignored (Train, Eval)
	InNormaliser = "normaliser" // [1]: the loss is the sum over targets divided by this (Train, Eval)
	InPositions  = "positions"  // int32 [B*T], preset to 0 … T-1 in every sequence; Cached: the caller sets it
	InDocuments  = "documents"  // int32 [B*T] (Options.Documents)
	InCounter    = "counter"    // int32 [4]: seed low, seed high, step, micro-batch (Train with dropout)
	InPosition   = "position"   // int32 [1]: rows already in the cache (Cached)
	InBranch     = "branch"     // [1]: what gradients through branches are multiplied by (Train with Options.BranchScale)
	InRow        = "row"        // int32 [B]: the rows of [B*T] whose logits are wanted (Cached)
	OutLoss      = "loss"
	OutLogits    = "logits" // [B*T, V]; Cached: [B, V]
)

// Options shape a network beyond its configuration.
type Options struct {
	Mode      Mode
	B, T      int           // sequences, and rows of each
	DType     kernels.DType // F32 or F64
	Documents bool          // attention stays inside documents, whose ids are an input
	// BranchScale multiplies the gradient through every sub-layer by the input [InBranch] and leaves values as they are (Train): 0 is the
	// gradient of the straight path alone, 1 the whole.
	BranchScale bool
	// Without leaves block number Without out, counted from 1, as if its input were its output; 0 leaves none out.
	Without int
	Inspect bool // the streams and their gradients are observed (Train)
}

// Net is a model as a graph.
type Net struct {
	Config Config // resolved
	Options
	Graph  *graph.Graph
	Loss   graph.Tensor   // scalar (Train, Eval)
	Logits graph.Tensor   // (Logits, Cached)
	Grads  []graph.Tensor // in the order of Graph.Params (Train)
	// Observed are the moments of the streams (Train with Inspect).
	Observed []graph.Observation
}

// Build makes the graph of a configuration: embed, blocks, norm, head, loss. The configuration must have a vocabulary.
func Build(c Config, o Options) (*Net, error) {
	c = c.Resolved()
	if err := c.Problems().Err(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if c.Vocab <= 0 {
		return nil, fmt.Errorf("model: vocab is 0: it must be set, or taken from a tokenizer, before the model is built")
	}
	if o.T > c.Context {
		return nil, fmt.Errorf("model: %d rows a sequence are more than model.context = %d", o.T, c.Context)
	}
	n := &Net{Config: c, Options: o, Graph: graph.New(o.DType)}
	b := &builder{Net: n, Scope: n.Graph.Root()}
	b.build()
	if err := n.Graph.Err(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return n, nil
}

// builder holds what the layers share while a network is built.
type builder struct {
	*Net
	graph.Scope
	tokens, positions, documents, counter, position graph.Tensor
	branch                                          graph.Tensor // [InBranch], nil without Options.BranchScale
	sites                                           uint32       // dropouts so far
}

func (b *builder) build() {
	c, n := b.Config, b.B*b.T
	b.tokens = b.IntInput(InTokens, n)
	b.inputs(n)

	embedding := b.Param("embed_tokens.weight", graph.Embedding, c.Vocab, c.Width)
	x := b.Embed("embed_tokens", b.tokens, embedding)
	if c.EmbedScale {
		x = b.Scale("embed_scale", x, math.Sqrt(float64(c.Width)))
	}
	if c.Position.Kind == "learned" {
		table := b.Param("embed_positions.weight", graph.Embedding, c.Context, c.Width)
		x = b.Add("embed_sum", x, b.Embed("embed_positions", b.positions, table))
	}
	x = b.dropout("embed_dropout", x)

	x = b.stack(x)

	head := embedding
	if !c.Tied {
		head = b.Param("lm_head.weight", graph.Head, c.Vocab, c.Width)
	}
	switch b.Mode {
	case Logits:
		b.Net.Logits = b.Scope.Logits(x, head, c.LogitSoftcap)
	case Cached:
		rows := b.IntInput(InRow, b.B)
		b.Net.Logits = b.Scope.Logits(b.Embed("row", rows, x), head, c.LogitSoftcap)
	default:
		b.Loss = b.LinearCrossEntropy(x, head, b.IntInput(InTargets, n), b.Input(InNormaliser, 1), c.LogitSoftcap)
	}
	if b.Mode == Train {
		b.Grads = b.Net.Graph.Backward(b.Loss)
	}
	if b.Mode == Train && b.Inspect {
		b.Observed = b.Net.Graph.Observe()
	}
}

// stack is the placement around the sub-layers.
func (b *builder) stack(x graph.Tensor) graph.Tensor {
	c := b.Config
	placement, ok := block.Lookup(c.Norm.Placement)
	if !ok {
		b.Failf("norm.placement", "no placement %q (have %v)", c.Norm.Placement, block.Names())
		return nil
	}
	if c.Norm.Embed {
		x = b.rowNorm("embed_norm", x)
	}
	b.Tap("embedding", x)
	s := block.Stack{Scope: b.Scope, Layers: c.Layers, Norm: b.rowNorm,
		HeadNorm: func(name string, x graph.Tensor) graph.Tensor { return b.norm(name, x, c.HeadDim) }}
	streams := placement.Begin(s, x)
	for l := 1; l <= c.Layers; l++ {
		if l == b.Without {
			continue
		}
		streams = placement.Block(s, l, streams,
			func(x graph.Tensor, in block.Inner) graph.Tensor { return b.through(l, "attn", b.attention(l, x, in)) },
			func(x graph.Tensor, in block.Inner) graph.Tensor { return b.through(l, "mlp", b.mlp(l, x, in)) })
		b.Tap(fmt.Sprintf("layers.%d.stream", l-1), streams.X)
		if streams.R != nil {
			b.Tap(fmt.Sprintf("layers.%d.dual", l-1), streams.R)
		}
	}
	return b.Tap("final", placement.End(s, streams))
}

// through is the output of a sub-layer of block l, with its gradient scaled where the options ask for it.
func (b *builder) through(l int, kind string, y graph.Tensor) graph.Tensor {
	if b.branch == nil {
		return y
	}
	return b.Apply(fmt.Sprintf("layers.%d.%s_branch", l-1, kind), kernels.GradScale{}, y, b.branch)
}

// rowNorm is the model's norm over whole rows.
func (b *builder) rowNorm(name string, x graph.Tensor) graph.Tensor {
	if x == nil { // the graph has an error
		return nil
	}
	return b.norm(name, x, x.Shape()[1])
}

// norm is the model's norm over runs of dim columns.
func (b *builder) norm(name string, x graph.Tensor, dim int) graph.Tensor {
	n := b.Config.Norm
	switch n.Kind {
	case "rmsnorm":
		return b.RMSNorm(name, x, dim, n.Eps, n.UnitOffset)
	case "layernorm":
		return b.LayerNorm(name, x, dim, n.Eps, n.UnitOffset)
	case "batchnorm":
		return b.BatchNorm(name, x, dim, n.Eps, n.UnitOffset, b.Mode == Train, n.Momentum)
	case "dyt":
		return b.DyT(name, x, dim)
	}
	b.Failf(name, "no norm %q", n.Kind)
	return nil
}

// inputs declares what the mode reads besides tokens.
func (b *builder) inputs(n int) {
	if b.Mode == Cached {
		b.positions = b.IntInput(InPositions, n)
		b.position = b.IntInput(InPosition, 1)
	} else {
		at := make([]int32, n)
		for i := range at {
			at[i] = int32(i % b.T)
		}
		b.positions = b.IntConstant(InPositions, at, n)
	}
	if b.Documents {
		b.documents = b.IntInput(InDocuments, n)
	}
	if b.Mode == Train && b.BranchScale {
		b.branch = b.Input(InBranch, 1)
	}
	if b.Mode == Train && b.Config.Dropout > 0 {
		b.counter = b.IntInput(InCounter, 4)
	}
}

func (b *builder) dropout(name string, x graph.Tensor) graph.Tensor {
	site := b.sites
	b.sites++
	if b.counter == nil {
		return x
	}
	return b.Apply(name, kernels.Dropout{Rate: b.Config.Dropout, Site: site}, x, b.counter)
}
