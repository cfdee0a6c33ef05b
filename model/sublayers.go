package model

import (
	"fmt"
	"math"

	"prenorm/kernels"
	"prenorm/model/block"
	"prenorm/model/graph"
)

// attention is the attention sub-layer of block l: projections, norms of queries and keys, positions, causal attention, output projection.
func (b *builder) attention(l int, x graph.Tensor, in block.Inner) graph.Tensor {
	c := b.Config
	s := b.At(fmt.Sprintf("layers.%d.self_attn", l-1))
	bias := c.Bias != "none"
	q := s.Linear("q_proj", graph.Matrix, x, c.Heads*c.HeadDim, bias)
	k := s.Linear("k_proj", graph.Matrix, x, c.KVHeads*c.HeadDim, bias)
	v := s.Linear("v_proj", graph.Matrix, x, c.KVHeads*c.HeadDim, bias)
	q, k = b.qkNorm(l, q, k)
	q, k, v = apply(in.Q, q), apply(in.K, k), apply(in.V, v)
	if c.Position.Kind == "rope" {
		table := b.ropeTable(l)
		q = s.Apply("q_rope", kernels.Rope{}, q, b.positions, table)
		k = s.Apply("k_rope", kernels.Rope{}, k, b.positions, table)
	}
	y := b.attend(s, l, q, k, v)
	y = s.Linear("o_proj", graph.ResidualWriter, apply(in.Out, y), c.Width, c.Bias == "all")
	return b.dropout(fmt.Sprintf("layers.%d.attn_dropout", l-1), y)
}

// attend is the attention itself, over the batch's rows or over the cache.
func (b *builder) attend(s graph.Scope, l int, q, k, v graph.Tensor) graph.Tensor {
	c := b.Config
	scale := c.Attention.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(c.HeadDim))
	}
	window := pattern(c.Attention.Window, l)
	if b.Mode == Cached {
		rows, width := b.B*c.Context, c.KVHeads*c.HeadDim
		write := kernels.CacheWrite{T: b.T, Context: c.Context}
		k = s.Apply("k_cache.write", write, s.State("k_cache", rows, width), k, b.position)
		v = s.Apply("v_cache.write", write, s.State("v_cache", rows, width), v, b.position)
		return s.Apply("attention", kernels.CachedAttention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, T: b.T, Context: c.Context,
			Scale: scale, Softcap: c.Attention.Softcap, Window: window}, q, k, v, b.position)
	}
	call := kernels.Attention{Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, T: b.T, Scale: scale, Softcap: c.Attention.Softcap, Window: window}
	if b.documents != nil {
		return s.Apply("attention", call, q, k, v, b.documents)
	}
	return s.Apply("attention", call, q, k, v)
}

// qkNorm normalises queries and keys, head by head or over the whole projected width.
func (b *builder) qkNorm(l int, q, k graph.Tensor) (graph.Tensor, graph.Tensor) {
	c := b.Config
	qDim, kDim := c.HeadDim, c.HeadDim
	switch c.Attention.QKNorm {
	case "none":
		return q, k
	case "full":
		qDim, kDim = c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	}
	path := fmt.Sprintf("layers.%d.self_attn.", l-1)
	return b.norm(path+"q_norm", q, qDim), b.norm(path+"k_norm", k, kDim)
}

// mlp is the feed-forward sub-layer of block l.
func (b *builder) mlp(l int, x graph.Tensor, in block.Inner) graph.Tensor {
	c := b.Config
	s := b.At(fmt.Sprintf("layers.%d.mlp", l-1))
	bias := c.Bias == "all"
	var h graph.Tensor
	switch c.MLP {
	case "swiglu", "geglu":
		gate := s.Linear("gate_proj", graph.Matrix, x, c.FFN, bias)
		up := s.Linear("up_proj", graph.Matrix, x, c.FFN, bias)
		h = s.Apply("act", kernels.GatedActivation{Kind: gates[c.MLP]}, gate, up)
	default:
		h = s.Apply("act", kernels.Activation{Kind: c.MLP}, s.Linear("up_proj", graph.Matrix, x, c.FFN, bias))
	}
	y := s.Linear("down_proj", graph.ResidualWriter, apply(in.Out, h), c.Width, bias)
	return b.dropout(fmt.Sprintf("layers.%d.mlp_dropout", l-1), y)
}

// gates are the activations of gated MLPs.
var gates = map[string]string{"swiglu": "silu", "geglu": "gelu_tanh"}

func apply(f func(graph.Tensor) graph.Tensor, x graph.Tensor) graph.Tensor {
	if f == nil {
		return x
	}
	return f(x)
}

// pattern returns the value for block l (from 1) of a list that repeats over the layers; an empty list gives zero.
func pattern[E any](list []E, l int) (v E) {
	if len(list) > 0 {
		v = list[(l-1)%len(list)]
	}
	return v
}
