package exec

import (
	"fmt"
	"reflect"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/model/op"
)

// lowering turns nodes into steps.
type lowering struct {
	*Plan
	users   map[*buffer][]*G.Node // nodes whose value is in a buffer
	saved   map[*G.Node][]*buffer // statistics that a forward node saves
	parts   map[*G.Node][]*buffer // outputs of a node that has several
	lastUse map[*G.Node]int       // position in order of a node's last reader
	readers map[*G.Node]bool      // nodes whose statistics are read
	kept    map[*G.Node]bool      // outputs
	into    map[*G.Node]*buffer   // memory of the caller for a node's value
	fused   map[*G.Node]*G.Node   // loss node -> backward op's node that computes it too
}

func newLowering(p *Plan, order []*G.Node) (*lowering, error) {
	l := &lowering{Plan: p, users: map[*buffer][]*G.Node{}, saved: map[*G.Node][]*buffer{}, parts: map[*G.Node][]*buffer{},
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

// uses finds the last reader of every node, the statistics that are read, and the losses that need no launch of their own: those whose
// backward op computes them too, where nothing reads the loss before that.
func (l *lowering) uses(order []*G.Node) {
	l.lastUse = make(map[*G.Node]int, len(order))
	firstUse := make(map[*G.Node]int, len(order))
	for i, n := range order {
		for _, c := range children(n) {
			if _, seen := firstUse[c]; !seen {
				firstUse[c] = i
			}
			l.lastUse[c] = i
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

// assign says that a node's value is in a buffer.
func (l *lowering) assign(n *G.Node, b *buffer) {
	l.nodes[n] = b
	l.users[b] = append(l.users[b], n)
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

// newBuffer makes a buffer in the arena.
func (l *lowering) newBuffer(k kind, v kernels.View) *buffer {
	b := &buffer{kind: k, view: v, bytes: v.Bytes()}
	l.buffers = append(l.buffers, b)
	return b
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
	return l.emit(step{path: "accumulate " + dst.name, call: kernels.Add{}, in: []*buffer{dst, l.nodes[n]}, out: []*buffer{dst}})
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
		l.assign(n, l.parts[in[0]][o.Index()])
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
	l.assign(n, b)
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

// add lowers Gorgonia's sum of two gradients.
func (l *lowering) add(n *G.Node, in []*G.Node) error {
	bufs, err := l.inputs(in)
	if err != nil {
		return err
	}
	s := step{path: fmt.Sprintf("gradient sum %d", n.ID()), call: kernels.Add{}, in: bufs}
	s.out = []*buffer{l.output(n, s, bufs[0].view)}
	l.assign(n, s.out[0])
	return l.emit(s)
}

// call lowers one of our ops.
func (l *lowering) call(n *G.Node, o *op.Op, in []*G.Node) error {
	if l.fused[n] != nil {
		l.assign(n, l.newBuffer(l.kindOf(n), o.Outputs()[0]))
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
		l.assign(n, s.out[0])
		return l.emit(s)
	}
	for i, v := range o.Outputs() {
		if loss := o.Saved(); loss != nil && l.fused[loss] == n && i == lossOutput {
			s.out = append(s.out, l.nodes[loss])
			continue
		}
		s.out = append(s.out, l.partOutput(n, i, v))
	}
	l.parts[n] = s.out
	return l.emit(s)
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

// output chooses the memory of a node's only output: memory of the caller where it is wanted there, that of an input which is not needed any
// more where the call allows it, else new memory.
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
	if p, ok := s.call.(kernels.InPlacer); ok && !l.kept[n] {
		for _, i := range p.InPlace() {
			if b := s.in[i]; b.kind == temporary && b.view.DType == v.DType && slices.Equal(b.view.Shape, v.Shape) && l.dies(b, n) {
				return b
			}
		}
	}
	return l.newBuffer(l.kindOf(n), v)
}

// dies says whether no node after n reads the memory of b.
func (l *lowering) dies(b *buffer, n *G.Node) bool {
	return !slices.ContainsFunc(l.users[b], func(user *G.Node) bool { return l.lastUse[user] > l.order[n] || l.kept[user] })
}

// emit asks the backend for the step's workspace and appends it.
func (l *lowering) emit(s step) error {
	n, err := l.be.Workspace(s.call, kernels.Args{Out: views(s.out), Aux: views(s.aux), In: views(s.in), Saved: views(s.saved)})
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if n > 0 {
		s.work = l.newBuffer(temporary, kernels.Shaped(kernels.I8, n))
	}
	l.steps = append(l.steps, s)
	return nil
}
