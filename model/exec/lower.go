package exec

import (
	"fmt"
	"reflect"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/model/op"
)

// lowering turns nodes into steps.
type lowering struct {
	*Plan
	saved   map[*G.Node][]*buffer // statistics that a forward node saves
	parts   map[*G.Node][]*buffer // outputs of a node that has several
	readers map[*G.Node]bool      // nodes whose statistics are read
	kept    map[*G.Node]bool      // outputs
	into    map[*G.Node]*buffer   // memory of the caller for a node's value
	fused   map[*G.Node]*G.Node   // loss node -> backward op's node that computes it too
}

func newLowering(p *Plan, order []*G.Node) (*lowering, error) {
	l := &lowering{Plan: p, saved: map[*G.Node][]*buffer{}, parts: map[*G.Node][]*buffer{},
		readers: map[*G.Node]bool{}, kept: map[*G.Node]bool{}, into: map[*G.Node]*buffer{}, fused: map[*G.Node]*G.Node{}}
	l.uses(order)
	for _, o := range p.spec.Outputs {
		l.kept[o.Node] = true
	}
	for _, o := range p.spec.Into {
		v, err := op.ViewOf(o.Node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		if l.into[o.Node] != nil {
			return nil, fmt.Errorf("%s and %s are one node: its value can be written to one place only", l.into[o.Node].name, o.Name)
		}
		if l.kept[o.Node] || o.Node.Op() == nil {
			return nil, fmt.Errorf("%s cannot be an input or an output as well", o.Name)
		}
		l.into[o.Node] = &buffer{kind: external, name: o.Name, view: v, bytes: v.Bytes()}
		p.buffers = append(p.buffers, l.into[o.Node])
	}
	return l, nil
}

// uses finds the statistics that are read and the losses that need no launch of their own: those whose backward op computes them too, where
// nothing reads the loss before that.
func (l *lowering) uses(order []*G.Node) {
	firstUse := make(map[*G.Node]int, len(order))
	for i, n := range order {
		for _, c := range children(n) {
			if _, seen := firstUse[c]; !seen {
				firstUse[c] = i
			}
		}
		o, ok := n.Op().(*op.Op)
		if !ok || o.Saved() == nil {
			continue
		}
		forward := o.Saved()
		l.readers[forward] = true
		at, inProgram := l.order[forward]
		first, read := firstUse[forward]
		if _, ok := o.Call().(kernels.LinearCrossEntropyGrad); ok && inProgram && at < i && (!read || first > i) {
			l.fused[forward] = n
		}
	}
}

// gorgoniaAdd is the type and name of the element-wise addition by which Gorgonia sums gradients. Its type is not exported, so that of a
// probe is taken.
var gorgoniaAdd = func() struct {
	t    reflect.Type
	name string
} {
	g := G.NewGraph()
	a := G.NewMatrix(g, tensor.Float32, G.WithShape(2, 2), G.WithName("a"))
	b := G.NewMatrix(g, tensor.Float32, G.WithShape(2, 2), G.WithName("b"))
	o := G.Must(G.Add(a, b)).Op()
	return struct {
		t    reflect.Type
		name string
	}{reflect.TypeOf(o), o.String()}
}()

func isGorgoniaAdd(o G.Op) bool {
	return reflect.TypeOf(o) == gorgoniaAdd.t && o.String() == gorgoniaAdd.name
}

// lowerAll adds the steps of all nodes.
func (l *lowering) lowerAll(order []*G.Node) error {
	needed := l.needed()
	for _, n := range order {
		first := len(l.steps)
		if err := l.lower(n); err != nil {
			return err
		}
		for i := first; i < len(l.steps); i++ {
			l.steps[i].look = !needed[n]
		}
	}
	return nil
}

// lower adds the steps of one node and, for one that is wanted in memory of the caller, brings its value there.
func (l *lowering) lower(n *G.Node) error {
	if err := l.value(n); err != nil {
		return err
	}
	dst := l.into[n]
	if dst == nil || !l.spec.Accumulate {
		return nil
	}
	l.steps = append(l.steps, step{path: accumulatePrefix + dst.name, call: kernels.Add{}, in: []*buffer{dst, l.nodes[n]}, out: []*buffer{dst}})
	return nil
}

func (l *lowering) value(n *G.Node) error {
	in := children(n)
	switch o := n.Op().(type) {
	case nil:
		if l.nodes[n] == nil {
			return fmt.Errorf("variable %s is neither an input nor external", n.Name())
		}
		return nil
	case *op.Pick:
		l.nodes[n] = l.parts[in[0]][o.Index()]
		if b := l.nodes[n]; l.kept[n] {
			b.kind = resident
		}
		return nil
	case *op.Op:
		return l.call(n, o, in)
	default:
		if len(in) == 0 {
			return l.constant(n)
		}
		if isGorgoniaAdd(o) {
			return l.add(n, in)
		}
		return fmt.Errorf("op %v (%T) is none of prenorm's and has no kernel", o, o)
	}
}

// constant gives a buffer to a scalar that Gorgonia made, such as the gradient of the loss with respect to itself.
func (l *lowering) constant(n *G.Node) error {
	v, err := op.ViewOf(n)
	if err != nil {
		return err
	}
	b := l.newBuffer(resident, v)
	switch d := n.Value().Data().(type) {
	case float32:
		b.data = []float32{d}
	case float64:
		b.data = []float64{d}
	default:
		return fmt.Errorf("constant %v of type %T has no place in a program", n, d)
	}
	l.nodes[n] = b
	return nil
}

func (l *lowering) inputs(in []*G.Node) ([]*buffer, error) {
	out := make([]*buffer, len(in))
	for i, c := range in {
		if out[i] = l.nodes[c]; out[i] == nil {
			return nil, fmt.Errorf("node %v has no value of its own", c)
		}
	}
	return out, nil
}

// Beginnings of the paths of launches that belong to no op.
const (
	sumPrefix        = "gradient sum of "
	accumulatePrefix = "accumulate "
)

// sourceOf is the path of the op that a node's value comes from; of a sum's, the last.
func sourceOf(n *G.Node) string {
	switch o := n.Op().(type) {
	case *op.Op:
		return o.Path()
	case *op.Pick:
		return o.Path()
	}
	if in := children(n); len(in) > 0 {
		return sourceOf(in[len(in)-1])
	}
	return n.Name()
}

// add lowers Gorgonia's sum of two gradients.
func (l *lowering) add(n *G.Node, in []*G.Node) error {
	bufs, err := l.inputs(in)
	if err != nil {
		return err
	}
	s := step{path: sumPrefix + sourceOf(in[0]) + " and " + sourceOf(in[1]), call: kernels.Add{}, in: bufs}
	s.out = []*buffer{l.output(n, s, bufs[0].view)}
	l.nodes[n] = s.out[0]
	l.steps = append(l.steps, s)
	return nil
}

// call lowers one of our ops.
func (l *lowering) call(n *G.Node, o *op.Op, in []*G.Node) error {
	if l.fused[n] != nil {
		l.nodes[n] = l.newBuffer(l.kindOf(n), o.Outputs()[0])
		return nil
	}
	bufs, err := l.inputs(in)
	if err != nil {
		return err
	}
	s := step{path: o.Path(), call: o.Call(), in: bufs}
	if l.readers[n] {
		for _, v := range o.Aux() {
			s.aux = append(s.aux, l.newBuffer(temporary, v))
		}
		l.saved[n] = s.aux
	}
	if o.Saved() != nil {
		s.saved = l.saved[o.Saved()]
	}
	if len(o.Outputs()) == 1 {
		s.out = []*buffer{l.output(n, s, o.Outputs()[0])}
		l.nodes[n] = s.out[0]
		l.steps = append(l.steps, s)
		return nil
	}
	for i, v := range o.Outputs() {
		if loss := o.Saved(); loss != nil && l.fused[loss] == n && i == lossOutput {
			s.out = append(s.out, l.nodes[loss])
			continue
		}
		s.out = append(s.out, l.partOutput(n, i, v))
	}
	l.parts[n] = s.out
	l.steps = append(l.steps, s)
	return nil
}

// lossOutput is the place of the loss among the outputs of [kernels.LinearCrossEntropyGrad].
const lossOutput = 2

// partOutput is the memory of output i of a node with several: that of the caller where the output is wanted there.
func (l *lowering) partOutput(n *G.Node, i int, v kernels.View) *buffer {
	if !l.spec.Accumulate {
		for node, dst := range l.into {
			if p, ok := node.Op().(*op.Pick); ok && p.Index() == i && children(node)[0] == n {
				return dst
			}
		}
	}
	return l.newBuffer(temporary, v)
}

func (l *lowering) kindOf(n *G.Node) kind {
	if l.kept[n] {
		return resident
	}
	return temporary
}

// output chooses the memory of a node's only output: memory of the caller where it is wanted there, else new memory.
func (l *lowering) output(n *G.Node, s step, v kernels.View) *buffer {
	if dst := l.into[n]; dst != nil && !l.spec.Accumulate {
		return dst
	}
	switch s.call.(type) {
	case kernels.CacheWrite, kernels.BatchNormUpdate:
		if s.in[0].kind == external {
			return s.in[0] // a cache is changed where it lives, and so are running statistics
		}
	}
	return l.newBuffer(l.kindOf(n), v)
}
