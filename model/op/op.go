// Package op makes Gorgonia ops of kernel calls: an [Op] is one [kernels.Call] with its shape rule, and, where it has one, the rule that
// builds its gradient nodes for Gorgonia's Grad. Each differentiable call is one file that registers its rule.
//
// On Gorgonia's own tape machine an Op runs the reference kernel; package model/exec lowers the same nodes to any backend.
package op

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/graph"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
)

// Op is a kernel call as a Gorgonia op. A call with several outputs yields one flat vector that holds them one after the other; [Pick]
// names the parts.
type Op struct {
	call  kernels.Call
	path  string // unique in its graph: part of the hash, see WriteHash
	in    []kernels.View
	out   []kernels.View
	aux   []kernels.View
	saved *G.Node // the forward node whose statistics this backward op reads
	grads G.Nodes // the gradients of the inputs along this op, once they are built
}

// Apply adds a node for the call. path must be unique in the graph. A call with several outputs must go through [ApplyMulti].
func Apply(path string, call kernels.Call, in ...*G.Node) (*G.Node, error) {
	outs, err := apply(path, call, nil, in)
	if err != nil {
		return nil, err
	}
	return outs[0], nil
}

// ApplyMulti adds a node for the call and one [Pick] for each of its outputs, in the order of the call's Out views.
func ApplyMulti(path string, call kernels.Call, in ...*G.Node) (G.Nodes, error) {
	return apply(path, call, nil, in)
}

// applySaved is ApplyMulti for a backward call that reads the statistics which the forward node saved.
func applySaved(path string, call kernels.Call, forward *G.Node, in ...*G.Node) (G.Nodes, error) {
	return apply(path, call, forward, in)
}

func apply(path string, call kernels.Call, forward *G.Node, in []*G.Node) (G.Nodes, error) {
	o := &Op{call: call, path: path, saved: forward}
	for i, n := range in {
		if n == nil {
			return nil, fmt.Errorf("%s: input %d of %s is missing", path, i, call.Kernel())
		}
		v, err := ViewOf(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		o.in = append(o.in, v)
	}
	var err error
	if o.out, o.aux, err = call.Infer(o.in); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	n, err := G.ApplyOp(o, in...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n.Op() != G.Op(o) {
		return nil, merged(path, n)
	}
	if len(o.out) == 1 {
		return G.Nodes{n}, nil
	}
	return picks(o, n)
}

// merged is the error for a new node in whose place Gorgonia gave an older one of the same hash.
func merged(path string, n *G.Node) error {
	return fmt.Errorf("%s: Gorgonia takes this node for %v, which is in the graph already: every node needs a path of its own", path, n.Op())
}

// ViewOf returns the shape and type of a node as a view without memory.
func ViewOf(n *G.Node) (kernels.View, error) {
	d, err := dtypeOf(n.Dtype())
	if err != nil {
		return kernels.View{}, err
	}
	return kernels.View{Shape: append([]int{}, n.Shape()...), DType: d}, nil
}

func dtypeOf(t tensor.Dtype) (kernels.DType, error) {
	switch t {
	case tensor.Float32:
		return kernels.F32, nil
	case tensor.Float64:
		return kernels.F64, nil
	case tensor.Int32:
		return kernels.I32, nil
	}
	return 0, fmt.Errorf("element type %v is not used in graphs", t)
}

// TensorType is the Gorgonia element type of d. It panics on a type that graphs do not use, which is a programmer's error.
func TensorType(d kernels.DType) tensor.Dtype {
	switch d {
	case kernels.F32:
		return tensor.Float32
	case kernels.F64:
		return tensor.Float64
	case kernels.I32:
		return tensor.Int32
	}
	panic(fmt.Sprintf("op: no graph type for %v", d))
}

// typeOf is the Gorgonia type of a value of the view's rank and element type.
func typeOf(v kernels.View) hm.Type {
	d := TensorType(v.DType)
	if len(v.Shape) == 0 {
		return d
	}
	return G.TensorType{Dims: len(v.Shape), Of: d}
}

// result is the view of the op's one value: the output, or the flat vector of several.
func (o *Op) result() kernels.View {
	if len(o.out) == 1 {
		return o.out[0]
	}
	n := 0
	for _, v := range o.out {
		n += v.Len()
	}
	return kernels.Shaped(o.out[0].DType, n)
}

// Call is the kernel call with its attributes.
func (o *Op) Call() kernels.Call { return o.call }

// Path is the unique name of the node in its graph.
func (o *Op) Path() string { return o.path }

// Outputs are the shapes of the call's Out views.
func (o *Op) Outputs() []kernels.View { return o.out }

// Aux are the shapes of the statistics that the call can save.
func (o *Op) Aux() []kernels.View { return o.aux }

// Saved is the forward node whose statistics the op reads, nil for none.
func (o *Op) Saved() *G.Node { return o.saved }

// Arity implements [G.Op].
func (o *Op) Arity() int { return len(o.in) }

// Type implements [G.Op]. A fresh type is returned on every call: Gorgonia gives it back to a pool.
func (o *Op) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.in)+1)
	for _, v := range o.in {
		ts = append(ts, typeOf(v))
	}
	return hm.NewFnType(append(ts, typeOf(o.result()))...)
}

// InferShape implements [G.Op].
func (o *Op) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return append(tensor.Shape{}, o.result().Shape...), nil
}

// ReturnsPtr implements [G.Op].
func (o *Op) ReturnsPtr() bool { return true }

// CallsExtern implements [G.Op]. It makes the tape machine hand over preallocated memory, which scalars have none of.
func (o *Op) CallsExtern() bool { return len(o.result().Shape) > 0 }

// OverwritesInput implements [G.Op].
func (o *Op) OverwritesInput() int { return -1 }

// WriteHash implements [G.Op]. Gorgonia merges nodes of equal 32-bit hash without comparing their children, so the hash holds the unique
// path besides every attribute.
func (o *Op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

// Hashcode implements [G.Op].
func (o *Op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *Op) String() string { return fmt.Sprintf("%s=%s%+v", o.path, o.call.Kernel(), o.call) }

// GradSuffix ends the path of a node's gradient nodes, behind which a word may tell these apart.
const GradSuffix = ".grad"

// DiffWRT implements [G.SDOp].
func (o *Op) DiffWRT(inputs int) []bool {
	if r, ok := rules[o.call.Kernel()]; ok && len(r.wrt) > 0 {
		return append([]bool{}, r.wrt[:min(inputs, len(r.wrt))]...)
	}
	return make([]bool, inputs)
}

// SymDiff implements [G.SDOp]: it adds the gradient nodes of the op's inputs.
func (o *Op) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	r, ok := rules[o.call.Kernel()]
	if !ok {
		return nil, fmt.Errorf("%s: %s has no gradient", o.path, o.call.Kernel())
	}
	var err error
	o.grads, err = r.grad(application{path: o.path + GradSuffix, call: o.call, in: in, out: out, grad: grad})
	return o.grads, err
}

// GradsAlong is what node n's gradient gets by way of one reader of n, before it is summed with that of other readers: a node for each time
// that the reader reads n, none where it hands nothing back.
func GradsAlong(n, reader *G.Node) G.Nodes {
	o, ok := reader.Op().(*Op)
	if !ok || o.grads == nil {
		return nil
	}
	var along G.Nodes
	for i, in := range graph.NodesOf(reader.Graph().From(reader.ID())) {
		if in == graph.Node(n) && o.grads[i] != nil {
			along = append(along, o.grads[i])
		}
	}
	return along
}
