// Package exec compiles a Gorgonia graph, forward and backward, into a flat list of kernel launches over one planned arena.
//
// A [Plan] is static: it knows every launch and every byte before anything is allocated. [Plan.Bind] allocates exactly that and binds the
// launches to a backend; [Program.Run] runs them. Parameters, gradients and caches live outside the arena, in memory of the caller.
package exec

import (
	"fmt"
	"slices"
	"sort"

	"gonum.org/v1/gonum/graph"
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
	"prenorm/model/op"
)

// Named is a node with the name that the program knows it by.
type Named struct {
	Name string
	Node *G.Node
	Data any // of an input: the constant that it is preset to, nil for none
}

// Spec says where a program's ends are.
type Spec struct {
	Name     string  // of the program, for errors
	Inputs   []Named // variables with memory of the program's own, set by the caller
	External []Named // variables in memory that the caller gives to Bind: parameters, caches
	Outputs  []Named // nodes whose values stay readable until the next run: results and taps
	Observed []Named // outputs that change nothing else: what only they need is computed besides the program, as soon as its operands are there
	Into     []Named // nodes whose values are written to memory that the caller gives to Bind: gradients
	// Accumulate adds the values of Into to that memory instead of setting it.
	Accumulate bool
	// Wide keeps every value in the type that it has in the graph, whatever the precision of the backend.
	Wide bool
	// Without names passes that are left out, see [Passes].
	Without []string
	// Packing has products by the transpose of the caller's matrices read these packed, where the backend can; nil = as they are. The packed
	// views are external memory by the names of [PackedNames], and caches of keys and values are bfloat16, where the backend can, see
	// [Plan.CacheType]. Products are not added in place then.
	Packing *kernels.Packing
}

// Plan is a compiled graph without memory.
type Plan struct {
	spec    Spec
	be      kernels.Backend
	steps   []step
	buffers []*buffer
	nodes   map[*G.Node]*buffer
	order   map[*G.Node]int
	bytes   int
	packed  []string // names of matrices that are read packed
	groups  []group  // all steps
}

// step is one launch.
type step struct {
	path     string
	fused    []string // paths of what was fused into it
	call     kernels.Call
	out, aux []*buffer
	in       []*buffer
	saved    []*buffer
	base     *buffer // of a product that accumulates: what it is added to, in whose memory the output comes to lie
	work     *buffer
	look     bool // only Spec.Observed needs it
}

// reads are the buffers whose values the step needs.
func (s step) reads() []*buffer {
	list := slices.Concat(s.in, s.saved)
	if s.base != nil {
		list = append(list, s.base)
	}
	return list
}

// writes are the buffers whose values are others after the step.
func (s step) writes() []*buffer {
	list := slices.Concat(s.out, s.aux)
	if s.base != nil {
		list = append(list, s.base)
	}
	return list
}

// kind says where a buffer lives.
type kind uint8

const (
	temporary kind = iota // in the arena, for part of the program
	resident              // in the arena, for the whole program: inputs, constants, outputs
	external              // in memory given to Bind
)

// buffer is the memory of one value. Until [Plan.share] has run, each value has a buffer of its own; only memory of the caller that a step
// changes where it lies holds one value before that step and another after it.
type buffer struct {
	kind       kind
	name       string // of a resident input or an external buffer
	view       kernels.View
	bytes      int
	start, end int // first and last step that uses it
	offset     int
	data       any // preset contents
}

// NewPlan compiles the graph below the spec's outputs. Only the backend's rules are used; nothing is allocated on it. An op that the backend
// lacks is an error that names it.
func NewPlan(be kernels.Backend, spec Spec) (*Plan, error) {
	spec.Outputs = slices.Concat(spec.Outputs, spec.Observed)
	p := &Plan{spec: spec, be: be, nodes: map[*G.Node]*buffer{}}
	if err := p.compile(); err != nil {
		return nil, fmt.Errorf("compile %s: %w", spec.Name, err)
	}
	return p, nil
}

func (p *Plan) compile() error {
	order, err := p.reachable()
	if err != nil {
		return err
	}
	p.order = make(map[*G.Node]int, len(order))
	for i, n := range order {
		p.order[n] = i
	}
	if err := p.ends(); err != nil {
		return err
	}
	l, err := newLowering(p, order)
	if err != nil {
		return err
	}
	if err := l.lowerAll(order); err != nil {
		return err
	}
	if err := p.fuse(); err != nil {
		return err
	}
	p.pack()
	p.narrowCaches()
	p.chooseTypes()
	if err := p.share(); err != nil {
		return err
	}
	if err := p.workspaces(); err != nil {
		return err
	}
	p.join()
	p.lifetimes()
	p.bytes = place(p.buffers)
	return nil
}

// children returns a node's inputs in order.
func children(n *G.Node) []*G.Node {
	list := graph.NodesOf(n.Graph().From(n.ID()))
	out := make([]*G.Node, len(list))
	for i, c := range list {
		out[i] = c.(*G.Node)
	}
	return out
}

// reachable returns the nodes that the outputs need, in ascending order of their IDs, which is a topological order: Gorgonia numbers a node
// after its inputs.
func (p *Plan) reachable() ([]*G.Node, error) {
	seen := map[*G.Node]bool{}
	var order, todo []*G.Node
	for _, list := range [][]Named{p.spec.Outputs, p.spec.Into} {
		for _, o := range list {
			if o.Node == nil {
				return nil, fmt.Errorf("output %s has no node", o.Name)
			}
			todo = append(todo, o.Node)
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		order = append(order, n)
		for _, c := range children(n) {
			if c.ID() >= n.ID() {
				return nil, fmt.Errorf("node %v comes before its input %v", n, c)
			}
			todo = append(todo, c)
		}
	}
	sort.Slice(order, func(i, j int) bool { return order[i].ID() < order[j].ID() })
	return order, nil
}

// ends gives buffers to the variables.
func (p *Plan) ends() error {
	add := func(o Named, k kind) error {
		v, err := op.ViewOf(o.Node)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		b := &buffer{kind: k, name: o.Name, view: v, bytes: v.Bytes(), data: o.Data}
		p.nodes[o.Node] = b
		p.buffers = append(p.buffers, b)
		return nil
	}
	for _, o := range p.spec.Inputs {
		if err := add(o, resident); err != nil {
			return err
		}
	}
	for _, o := range p.spec.External {
		if err := add(o, external); err != nil {
			return err
		}
	}
	return nil
}

// workspaces asks the backend for the workspace of every step. Here it says what it lacks.
func (p *Plan) workspaces() error {
	for i, s := range p.steps {
		n, err := p.be.Workspace(s.call, s.shapes())
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		if n > 0 {
			p.steps[i].work = p.newBuffer(temporary, kernels.Shaped(kernels.I8, n))
		}
	}
	return nil
}

// newBuffer makes a buffer in the arena.
func (p *Plan) newBuffer(k kind, v kernels.View) *buffer {
	b := &buffer{kind: k, view: v, bytes: v.Bytes()}
	p.buffers = append(p.buffers, b)
	return b
}

// Bytes is the size of the arena that Bind allocates.
func (p *Plan) Bytes() int { return p.bytes }

// ResidentBytes is the part of the arena that holds inputs, constants and outputs.
func (p *Plan) ResidentBytes() int {
	n := 0
	for _, b := range p.buffers {
		if b.kind == resident {
			n += b.bytes
		}
	}
	return n
}

// Launches is the number of calls of one run. Of those that run side by side in one launch each counts.
func (p *Plan) Launches() int { return len(p.steps) }

// FLOPs counts the floating-point operations of one run, see [kernels.Coster].
func (p *Plan) FLOPs() int64 {
	var n int64
	for _, s := range p.steps {
		n += kernels.FLOPs(s.call, s.shapes())
	}
	return n
}

// shapes are the step's views without memory.
func (s step) shapes() kernels.Args {
	return kernels.Args{Out: views(s.out), Aux: views(s.aux), In: views(s.in), Saved: views(s.saved)}
}

func views(list []*buffer) []kernels.View {
	out := make([]kernels.View, len(list))
	for i, b := range list {
		out[i] = b.view
	}
	return out
}
