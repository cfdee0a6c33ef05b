package exec

import (
	"slices"

	"prenorm/kernels"
)

// PackedNames are the names under which a program with [Spec.Packing] wants the views of a packed matrix, in the order of
// [kernels.Packing.Packed].
func PackedNames(matrix string, p kernels.Packing) []string {
	return []string{matrix + ".words", matrix + ".scales"}[:p.Operands()]
}

// Packed names the matrices that the program reads packed.
func (p *Plan) Packed() []string { return p.packed }

// pack puts packed matrices in the place of those of the caller's matrices that products are made with, where rows are whole runs and the
// backend has the call.
func (p *Plan) pack() {
	if p.spec.Packing == nil {
		return
	}
	packing := *p.spec.Packing
	matrices := map[*buffer][]*buffer{}
	for i, s := range p.steps {
		c, ok := s.call.(kernels.MatMul)
		if !ok || c != (kernels.MatMul{TransB: true, Bias: c.Bias, Residual: c.Residual}) || s.in[1].kind != external {
			continue
		}
		call, w, shapes := kernels.PackedMatMul{Packing: packing, Bias: c.Bias, Residual: c.Residual}, s.in[1], s.shapes()
		if w.view.Dim(1)%kernels.PackRun != 0 {
			continue
		}
		words := packing.Packed(w.view.Dim(0), w.view.Dim(1))
		shapes.In = slices.Concat(shapes.In[:1], words, shapes.In[2:])
		if _, err := p.be.Workspace(call, shapes); err != nil {
			continue
		}
		if matrices[w] == nil {
			for j, v := range words {
				b := p.newBuffer(external, v)
				b.name = PackedNames(w.name, packing)[j]
				matrices[w] = append(matrices[w], b)
			}
			p.packed = append(p.packed, w.name)
		}
		p.steps[i].call = call
		p.steps[i].in = slices.Concat(s.in[:1], matrices[w], s.in[2:])
	}
}
