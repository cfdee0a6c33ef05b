package model

import (
	"fmt"

	"prenorm/kernels"
	"prenorm/model/exec"
)

// GradPrefix is put before a parameter's name to name its gradient's memory.
const GradPrefix = "grad."

// Plan compiles the network for a backend without allocating anything. With accumulate, gradients are added to their memory. The named taps
// stay readable after a run.
func (n *Net) Plan(be kernels.Backend, accumulate bool, taps ...string) (*exec.Plan, error) {
	s, err := n.Spec(accumulate, taps...)
	if err != nil {
		return nil, err
	}
	return exec.NewPlan(be, s)
}

// Spec is what [Net.Plan] compiles. Prefill and decoding stay float32 in every precision: they share a cache that is, and are not large.
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
		found := false
		for _, t := range n.Graph.Taps() {
			if t.Name == name {
				s.Outputs = append(s.Outputs, exec.Named{Name: name, Node: t.Node})
				found = true
			}
		}
		if !found {
			return s, fmt.Errorf("model: no tap %q", name)
		}
	}
	return s, nil
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
