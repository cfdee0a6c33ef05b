package op

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
)

// Pick is one output of a call that has several: a view of the packed vector, never a copy.
type Pick struct {
	path   string
	index  int
	offset int // in elements
	packed int // elements of the packed vector
	view   kernels.View
}

func picks(o *Op, packed *G.Node) (G.Nodes, error) {
	out := make(G.Nodes, len(o.out))
	offset := 0
	for i, v := range o.out {
		p := &Pick{path: fmt.Sprintf("%s[%d]", o.path, i), index: i, offset: offset, packed: o.result().Len(), view: v}
		n, err := G.ApplyOp(p, packed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		if n.Op() != G.Op(p) {
			return nil, merged(p.path, n)
		}
		out[i] = n
		offset += v.Len()
	}
	return out, nil
}

// Index is the number of the output that is picked.
func (p *Pick) Index() int { return p.index }

// Path is the unique name of the node in its graph.
func (p *Pick) Path() string { return p.path }

// Arity implements [G.Op].
func (p *Pick) Arity() int { return 1 }

// Type implements [G.Op].
func (p *Pick) Type() hm.Type {
	return hm.NewFnType(typeOf(kernels.Shaped(p.view.DType, p.packed)), typeOf(p.view))
}

// InferShape implements [G.Op].
func (p *Pick) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return append(tensor.Shape{}, p.view.Shape...), nil
}

// Do implements [G.Op].
func (p *Pick) Do(in ...G.Value) (G.Value, error) {
	n := p.view.Len()
	switch d := in[0].Data().(type) {
	case []float32:
		if len(p.view.Shape) == 0 {
			return G.NewF32(d[p.offset]), nil
		}
		return tensor.New(tensor.WithShape(p.view.Shape...), tensor.WithBacking(d[p.offset:p.offset+n:p.offset+n])), nil
	case []float64:
		if len(p.view.Shape) == 0 {
			return G.NewF64(d[p.offset]), nil
		}
		return tensor.New(tensor.WithShape(p.view.Shape...), tensor.WithBacking(d[p.offset:p.offset+n:p.offset+n])), nil
	}
	return nil, fmt.Errorf("%s: packed value is %T", p.path, in[0].Data())
}

// ReturnsPtr implements [G.Op].
func (p *Pick) ReturnsPtr() bool { return true }

// CallsExtern implements [G.Op]: a view needs no memory of its own.
func (p *Pick) CallsExtern() bool { return false }

// OverwritesInput implements [G.Op].
func (p *Pick) OverwritesInput() int { return -1 }

// WriteHash implements [G.Op].
func (p *Pick) WriteHash(h hash.Hash) { fmt.Fprint(h, p.String()) }

// Hashcode implements [G.Op].
func (p *Pick) Hashcode() uint32 {
	h := fnv.New32a()
	p.WriteHash(h)
	return h.Sum32()
}

func (p *Pick) String() string { return fmt.Sprintf("%s=pick+%d%v", p.path, p.offset, p.view) }

// DiffWRT implements [G.SDOp]: gradients of gradients are not built.
func (p *Pick) DiffWRT(int) []bool { return []bool{false} }

// SymDiff implements [G.SDOp].
func (p *Pick) SymDiff(G.Nodes, *G.Node, *G.Node) (G.Nodes, error) {
	return nil, fmt.Errorf("%s: gradients of gradients are not built", p.path)
}
