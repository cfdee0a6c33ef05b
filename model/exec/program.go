package exec

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"prenorm/kernels"
)

// Program is a plan bound to memory. It is not safe for concurrent use.
type Program struct {
	plan     *Plan
	arena    kernels.Arena
	borrowed bool                    // the arena is the caller's
	launches []kernels.Launch        // one for each step
	groups   []kernels.Launch        // one for each group of the plan
	args     []kernels.Args          // of the launches
	views    map[string]kernels.View // inputs, external memory and outputs by name
	presets  []preset
}

// preset is a constant and its place.
type preset struct {
	name string
	view kernels.View
	data any
}

// Bind allocates the plan's arena on its backend and binds every launch. external holds the memory for Spec.External and Spec.Into by name.
func (p *Plan) Bind(externals map[string]kernels.View) (*Program, error) {
	arena, err := p.be.NewArena(p.bytes)
	if err != nil {
		return nil, fmt.Errorf("bind %s: arena of %d bytes: %w", p.spec.Name, p.bytes, err)
	}
	g, err := p.BindIn(arena, externals)
	if err != nil {
		return nil, errors.Join(err, arena.Free())
	}
	g.borrowed = false
	return g, nil
}

// BindIn is [Plan.Bind] in an arena of the caller's, of at least [Plan.Bytes]. Several programs may have one arena, in turns: after another
// has used it, a program's inputs are to be set again, and its constants by [Program.Preset]. [Program.Free] leaves the arena alone.
func (p *Plan) BindIn(arena kernels.Arena, externals map[string]kernels.View) (*Program, error) {
	if arena.Bytes() < p.bytes {
		return nil, fmt.Errorf("bind %s: the arena has %d bytes, the program wants %d", p.spec.Name, arena.Bytes(), p.bytes)
	}
	g := &Program{plan: p, arena: arena, borrowed: true, views: map[string]kernels.View{}}
	if err := g.bind(externals); err != nil {
		return nil, fmt.Errorf("bind %s: %w", p.spec.Name, err)
	}
	return g, nil
}

func (g *Program) bind(externals map[string]kernels.View) error {
	memory := make(map[*buffer]kernels.View, len(g.plan.buffers))
	for _, b := range g.plan.buffers {
		v, err := g.memory(b, externals)
		if err != nil {
			return err
		}
		memory[b] = v
		if b.name != "" {
			g.views[b.name] = v
		}
		if b.data != nil {
			g.presets = append(g.presets, preset{b.name, v, b.data})
		}
	}
	if err := g.Preset(); err != nil {
		return err
	}
	for _, o := range g.plan.spec.Outputs {
		g.views[o.Name] = memory[g.plan.nodes[o.Node]]
	}
	for _, s := range g.plan.steps {
		a := s.args(memory)
		l, err := g.plan.be.Bind(s.call, a)
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		g.args = append(g.args, a)
		g.launches = append(g.launches, l)
	}
	return g.bindGroups()
}

func (g *Program) memory(b *buffer, externals map[string]kernels.View) (kernels.View, error) {
	if b.kind != external {
		if b.end < b.start { // nothing uses it
			return kernels.Shaped(b.view.DType, b.view.Shape...), nil
		}
		return g.arena.View(b.offset, b.view.DType, b.view.Shape...), nil
	}
	v, ok := externals[b.name]
	if !ok {
		return v, fmt.Errorf("no memory was given for %s %v", b.name, b.view)
	}
	if v.DType != b.view.DType || v.Len() != b.view.Len() {
		return v, fmt.Errorf("the memory given for %s is %v, wants %v", b.name, v, b.view)
	}
	v.Shape = b.view.Shape
	return v, nil
}

// args are the step's views in memory.
func (s step) args(memory map[*buffer]kernels.View) kernels.Args {
	at := func(list []*buffer) []kernels.View {
		out := make([]kernels.View, len(list))
		for i, b := range list {
			out[i] = memory[b]
		}
		return out
	}
	a := kernels.Args{Out: at(s.out), Aux: at(s.aux), In: at(s.in), Saved: at(s.saved)}
	if s.work != nil {
		a.Work = memory[s.work]
	}
	return a
}

// Preset copies the constants to their places, which Bind has done once.
func (g *Program) Preset() error {
	for _, c := range g.presets {
		if c.view.Host == nil && c.view.Dev == 0 {
			continue // nothing reads it
		}
		if err := g.plan.be.Upload(c.view, c.data); err != nil {
			return fmt.Errorf("constant %s: %w", c.name, err)
		}
	}
	return nil
}

// Run executes every launch. It does not wait for a device: [kernels.Backend.Sync] and Download do.
func (g *Program) Run() error {
	for i, launch := range g.groups {
		if err := launch(); err != nil {
			return fmt.Errorf("%s: %s: %w", g.plan.spec.Name, g.plan.pathsOf(g.plan.groups[i]), err)
		}
	}
	return nil
}

// View returns the memory of an input, an external variable or an output.
func (g *Program) View(name string) (kernels.View, error) {
	v, ok := g.views[name]
	if !ok {
		names := make([]string, 0, len(g.views))
		for n := range g.views {
			names = append(names, n)
		}
		sort.Strings(names)
		return v, fmt.Errorf("program %s has no input or output %q (has %s)", g.plan.spec.Name, name, strings.Join(names, ", "))
	}
	return v, nil
}

// Set copies a Go slice into an input.
func (g *Program) Set(name string, data any) error {
	v, err := g.View(name)
	if err != nil {
		return err
	}
	if v.Host == nil && v.Dev == 0 {
		return nil // nothing reads this input
	}
	if err := g.plan.be.Upload(v, data); err != nil {
		return fmt.Errorf("program %s: input %s: %w", g.plan.spec.Name, name, err)
	}
	return nil
}

// Get copies an output into a Go slice. A bfloat16 output is widened into a []float32, or is copied as it is into a []uint16.
func (g *Program) Get(name string, data any) error {
	v, err := g.View(name)
	if err != nil {
		return err
	}
	if wide, ok := data.([]float32); ok && v.DType == kernels.BF16 {
		err = g.widen(wide, v)
	} else {
		err = g.plan.be.Download(data, v)
	}
	if err != nil {
		return fmt.Errorf("program %s: output %s: %w", g.plan.spec.Name, name, err)
	}
	return nil
}

func (g *Program) widen(wide []float32, v kernels.View) error {
	raw := make([]uint16, len(wide))
	if err := g.plan.be.Download(raw, v); err != nil {
		return err
	}
	for i, b := range raw {
		wide[i] = kernels.FromBF16(b)
	}
	return nil
}

// Plan is what the program was compiled to.
func (g *Program) Plan() *Plan { return g.plan }

// Free releases the arena, unless it is the caller's.
func (g *Program) Free() error {
	if g.borrowed {
		return nil
	}
	return g.arena.Free()
}
