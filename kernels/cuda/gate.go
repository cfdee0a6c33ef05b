//go:build gpu

package cuda

import (
	_ "embed" // the PTX files
	"fmt"

	"prenorm/kernels"
)

//go:embed gate.ptx
var gatePTX string

var gates = &module{"gate", gatePTX}

func init() {
	enterPlain(bindGate)
	enterPlain(bindDyT)
	enter(planGateGrad, bindGateGrad)
	enter(planDyTGrad, bindDyTGrad)
	narrowed(kernels.Gate{}, kernels.GateGrad{}, kernels.DyT{}, kernels.DyTGrad{})
}

// gateName is a kernel's name for the types of x and of the other large view, its result or what comes from above.
func gateName(name string, x, y kernels.View) string {
	return fmt.Sprintf("%s_%v_%v", name, x.DType, y.DType)
}

// warps adds a kernel that gives each row a warp.
func (b *builder) warps(m *module, name string, rows int, args ...any) {
	b.rows(m, name, min(ceil(rows, 8), elementBlocks), 256, args...)
}

func bindGate(b *builder, _ kernels.Gate, a kernels.Args) {
	rows, columns := a.In[0].Dim(0), a.In[0].Dim(1)
	b.warps(gates, gateName("gate", a.In[0], a.Out[0]), rows, a.Out[0], a.In[0], a.In[1], rows, columns, a.In[1].Len())
}

func bindDyT(b *builder, _ kernels.DyT, a kernels.Args) {
	d := a.In[2].Len()
	runs := a.In[0].Len() / d
	b.warps(gates, gateName("dyt", a.In[0], a.Out[0]), runs, a.Out[0], a.In[0], a.In[1], a.In[2], a.In[3], runs, d)
}

// gateGradPlan holds the sums over the rows of a strip and, where the gate is shorter than a row, over all of them.
type gateGradPlan struct {
	strips
	partial, total uintptr
}

func planGateGrad(_ kernels.GateGrad, a kernels.Args, s *scratch) (gateGradPlan, error) {
	columns := a.In[0].Dim(1)
	p := gateGradPlan{strips: stripsOf(a.In[0].Dim(0))}
	p.partial, p.total = s.f32(p.count*columns), s.f32(columns)
	return p, nil
}

func bindGateGrad(b *builder, _ kernels.GateGrad, a kernels.Args, p gateGradPlan) {
	rows, columns, d := a.In[0].Dim(0), a.In[0].Dim(1), a.In[1].Len()
	b.launch(gates, gateName("gate_grad", a.In[0], a.In[2]), [3]int{ceil(columns, 32), p.count, 1}, 256,
		a.Out[0], p.partial, a.In[0], a.In[1], a.In[2], rows, columns, d, p.rows)
	if d == columns {
		b.columnTotals(p.partial, p.count, columns, a.Out[1])
		return
	}
	b.columnTotals(p.partial, p.count, columns, kernels.View{Dev: p.total})
	b.rows(gates, "fold", d, 256, a.Out[1], p.total, columns, d)
}

// dytGradPlan holds the sums over the runs of a strip: of the slope a block, of gain and bias a column.
type dytGradPlan struct {
	strips
	runs, d, blocks   int
	slope, gain, bias uintptr
}

func planDyTGrad(_ kernels.DyTGrad, a kernels.Args, s *scratch) (dytGradPlan, error) {
	d := a.In[2].Len()
	p := dytGradPlan{runs: a.In[0].Len() / d, d: d}
	p.strips = stripsOf(p.runs)
	p.blocks = p.count * ceil(d, 32)
	p.slope, p.gain, p.bias = s.f32(p.blocks), s.f32(p.count*d), s.f32(p.count*d)
	return p, nil
}

func bindDyTGrad(b *builder, _ kernels.DyTGrad, a kernels.Args, p dytGradPlan) {
	b.launch(gates, gateName("dyt_grad", a.In[0], a.In[4]), [3]int{ceil(p.d, 32), p.count, 1}, 256,
		a.Out[0], p.slope, p.gain, p.bias, a.In[0], a.In[1], a.In[2], a.In[4], p.runs, p.d, p.rows)
	b.rows(gates, "fold", 1, 256, a.Out[1], p.slope, p.blocks, 1)
	b.columnTotals(p.gain, p.count, p.d, a.Out[2])
	b.columnTotals(p.bias, p.count, p.d, a.Out[3])
}
