package exec

import (
	"slices"

	"prenorm/kernels"
)

// CacheType is the element type that the program wants its caches of keys and values in, as [kernels.CacheWrite] writes them.
func (p *Plan) CacheType() kernels.DType {
	for _, s := range p.steps {
		if _, ok := s.call.(kernels.CacheWrite); ok {
			return s.out[0].view.DType
		}
	}
	return kernels.F32
}

// narrowCaches makes the caller's caches bfloat16 in a program with packed matrices: beside these, keys and values would be most of what it
// reads. All of them become so, or none where the backend refuses one of the calls.
func (p *Plan) narrowCaches() {
	if p.spec.Packing == nil {
		return
	}
	caches := map[*buffer]bool{}
	for _, s := range p.steps {
		if _, ok := s.call.(kernels.CacheWrite); ok && s.out[0].kind == external && s.out[0].view.DType == kernels.F32 {
			caches[s.out[0]] = true
		}
	}
	p.storeAs(caches, kernels.BF16)
	for _, s := range p.steps {
		if !slices.ContainsFunc(slices.Concat(s.in, s.out), func(b *buffer) bool { return caches[b] }) {
			continue
		}
		if _, err := p.be.Workspace(s.call, s.shapes()); err != nil {
			p.storeAs(caches, kernels.F32)
			return
		}
	}
}

func (p *Plan) storeAs(buffers map[*buffer]bool, d kernels.DType) {
	for b := range buffers {
		b.view.DType = d
		b.bytes = b.view.Bytes()
	}
}
