package model

import (
	"fmt"

	"prenorm/kernels"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// GradPrefix is put before a parameter's name to name its gradient's memory.
const GradPrefix = "grad."

// Plan compiles the network for a backend without allocating anything. With accumulate, gradients are added to their memory. The named taps
// stay readable after a run; [GradPrefix] before a tap's name is the loss's gradient by it (Train).
func (n *Net) Plan(be kernels.Backend, accumulate bool, taps ...string) (*exec.Plan, error) {
	s, err := n.Spec(accumulate, taps...)
	if err != nil {
		return nil, err
	}
	return exec.NewPlan(be, s)
}

// Spec is what [Net.Plan] compiles. Prefill and decoding stay float32 in every precision, but for what packed weights bring ([Net.PlanFor]): they are not large.
func (n *Net) Spec(accumulate bool, taps ...string) (exec.Spec, error) {
	s := exec.Spec{Name: n.Mode.String(), Accumulate: accumulate, Wide: n.Mode == Cached}
	for i, p := range n.Graph.Params() {
		s.External = append(s.External, exec.Named{Name: p.Name, Node: p.Node})
		if n.Mode == Train {
			s.Into = append(s.Into, exec.Named{Name: GradPrefix + p.Name, Node: n.Grads[i]})
		}
	}
	for _, p := range n.Graph.Buffers() {
		s.External = append(s.External, exec.Named{Name: p.Name, Node: p.Node})
	}
	for _, e := range n.Graph.Effects() {
		s.Outputs = append(s.Outputs, exec.Named{Name: e.Name, Node: e.Node})
	}
	for _, in := range n.Graph.Inputs() {
		s.Inputs = append(s.Inputs, exec.Named{Name: in.Name, Node: in.Node, Data: in.Data})
	}
	for _, in := range n.Graph.States() {
		s.External = append(s.External, exec.Named{Name: in.Name, Node: in.Node})
	}
	if n.Loss != nil {
		s.Outputs = append(s.Outputs, exec.Named{Name: OutLoss, Node: n.Loss})
	}
	if n.Logits != nil {
		s.Outputs = append(s.Outputs, exec.Named{Name: OutLogits, Node: n.Logits})
	}
	for _, o := range n.Observed {
		s.Observed = append(s.Observed, exec.Named{Name: o.Name, Node: o.Result})
	}
	for _, name := range taps {
		node := n.tap(name)
		if node == nil {
			return s, fmt.Errorf("model: no tap %q", name)
		}
		s.Outputs = append(s.Outputs, exec.Named{Name: name, Node: node})
	}
	return s, nil
}

// PlanFor compiles the network for programs on w: where w is packed, prefill and decoding read its packed matrices and keep keys and values in
// bfloat16, where the backend can.
func (n *Net) PlanFor(w *Weights) (*exec.Plan, error) {
	s, err := n.Spec(false)
	if err != nil {
		return nil, err
	}
	if w.packed != nil && n.Mode == Cached {
		s.Packing = &w.packed.packing
	}
	return exec.NewPlan(w.be, s)
}

// Reached says whether the loss has a gradient by a tap (Train).
func (n *Net) Reached(tap string) bool { return n.tap(GradPrefix+tap) != nil }

// tap is the node of a tap, or of the gradient by one; nil where there is none.
func (n *Net) tap(name string) graph.Tensor {
	for _, t := range n.Graph.Taps() {
		switch name {
		case t.Name:
			return t.Node
		case GradPrefix + t.Name:
			return graph.Gradient(t.Node)
		}
	}
	return nil
}

// NewSlab allocates one slab in the order of a parameter table.
func NewSlab(be kernels.Backend, dtype kernels.DType, table []Param) (*exec.Slab, error) {
	names := make([]string, len(table))
	shapes := make([][]int, len(table))
	for i, p := range table {
		names[i], shapes[i] = p.Name, p.Shape
	}
	return exec.NewSlab(be, dtype, names, shapes)
}

// Decayed is how many tensors at the start of the table decay.
func Decayed(table []Param) int {
	n := 0
	for n < len(table) && table[n].Decay {
		n++
	}
	return n
}
