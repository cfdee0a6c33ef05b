package exec

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
	"prenorm/model/op"
)

// StepInfo describes one launch of a plan.
type StepInfo struct {
	Index  int
	Path   string       // where in the model it comes from ("layers.0.mlp.up_proj")
	Fused  []string     // paths of launches that were fused into it
	Kernel string       // the call's name ("matmul")
	Call   kernels.Call // with its attributes
	Args   kernels.Args // views, with their memory in a traced step and without it in a plan
	FLOPs  int64        // of matrix products and attention, see [kernels.Coster]
	Bytes  int64        // moved at the least: every view read or written once
}

// Steps lists the launches in order.
func (p *Plan) Steps() []StepInfo {
	infos := make([]StepInfo, len(p.steps))
	for i, s := range p.steps {
		a := s.shapes()
		if s.work != nil {
			a.Work = s.work.view
		}
		infos[i] = StepInfo{Index: i, Path: s.path, Fused: s.fused, Kernel: s.call.Kernel(), Call: s.call, Args: a, FLOPs: kernels.FLOPs(s.call, a), Bytes: moved(s.call, a)}
	}
	return infos
}

// ReadOnly is how many of the bytes are read beyond as many as are written.
func (s StepInfo) ReadOnly() int64 {
	rest := s.Bytes
	for _, v := range slices.Concat(s.Args.Out, s.Args.Aux) {
		rest -= 2 * int64(v.Bytes())
	}
	return max(0, rest)
}

// Backward says whether the launch is of the backward pass.
func (s StepInfo) Backward() bool {
	return strings.HasPrefix(s.Path, sumPrefix) || strings.HasPrefix(s.Path, accumulatePrefix) || strings.HasSuffix(s.Path, op.GradSuffix) ||
		strings.Contains(s.Path, op.GradSuffix+".")
}

// moved is the sum of a step's views. Lookups and writes of rows touch no more of a table than the rows.
func moved(c kernels.Call, a kernels.Args) int64 {
	switch c.(type) {
	case kernels.Embed:
		return int64(a.In[0].Bytes() + 2*a.Out[0].Bytes())
	case kernels.Rope:
		table := a.In[2]
		rows := min(a.In[1].Len(), table.Dim(0))
		return int64(a.Out[0].Bytes() + a.In[0].Bytes() + a.In[1].Bytes() + rows*table.Dim(1)*table.DType.Size())
	case kernels.CacheWrite:
		return int64(a.In[1].Bytes() + a.In[1].Len()*a.Out[0].DType.Size())
	}
	n := 0
	for _, v := range slices.Concat(a.Out, a.Aux, a.In, a.Saved) {
		n += v.Bytes()
	}
	if m, ok := c.(kernels.MatMul); ok && m.Accumulate {
		n += a.Out[0].Bytes() // it is read as well
	}
	return int64(n)
}

func (s StepInfo) String() string {
	out := fmt.Sprintf("%4d  %-44s %-24s %v <- %v", s.Index, s.Path, s.Kernel, s.Args.Out, s.Args.In)
	if len(s.Args.Aux) > 0 {
		out += fmt.Sprintf(" aux %v", s.Args.Aux)
	}
	if len(s.Args.Saved) > 0 {
		out += fmt.Sprintf(" saved %v", s.Args.Saved)
	}
	out += fmt.Sprintf("  %d bytes, %d flops", s.Bytes, s.FLOPs)
	if len(s.Fused) > 0 {
		out += "  with " + strings.Join(s.Fused, ", ")
	}
	return out
}

// String lists the plan, a line a launch.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d launches, arena of %d bytes\n", p.spec.Name, len(p.steps), p.bytes)
	for _, s := range p.Steps() {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// Trace runs the program once as [Program.Run] does, and has the caller run each launch: around must call run, once. It serves profilers; a
// device is not waited for between launches unless around does so. Steps that run side by side otherwise have launches of their own here.
func (g *Program) Trace(around func(step StepInfo, run func() error) error) error {
	for i, s := range g.plan.Steps() {
		s.Args = g.args[i]
		if err := around(s, g.launches[i]); err != nil {
			return fmt.Errorf("%s: %s: %w", g.plan.spec.Name, s.Path, err)
		}
	}
	return nil
}
