package exec

import (
	"fmt"

	"prenorm/kernels"
)

// Slab is one contiguous block of memory with a named tensor at each of its places, so that one kernel call steps, clips or sums them all.
// Tensors are aligned to cache lines; the padding between them stays zero.
type Slab struct {
	arena  kernels.Arena
	dtype  kernels.DType
	names  []string
	shapes map[string][]int
	layout Layout
}

// Layout says where each tensor of a slab lies, in elements.
type Layout struct {
	Offsets []int
	Size    int // elements of the slab, padding included
}

// LayoutOf lays out tensors of the given lengths.
func LayoutOf(dtype kernels.DType, lengths []int) Layout {
	l := Layout{Offsets: make([]int, len(lengths))}
	for i, n := range lengths {
		l.Offsets[i] = l.Size
		l.Size += align(n*dtype.Size()) / dtype.Size()
	}
	return l
}

// NewSlab allocates a slab of zeros.
func NewSlab(be kernels.Backend, dtype kernels.DType, names []string, shapes [][]int) (*Slab, error) {
	s := &Slab{dtype: dtype, names: names, shapes: map[string][]int{}}
	lengths := make([]int, len(shapes))
	for i, shape := range shapes {
		lengths[i] = kernels.Shaped(dtype, shape...).Len()
		s.shapes[names[i]] = shape
	}
	s.layout = LayoutOf(dtype, lengths)
	var err error
	if s.arena, err = be.NewArena(s.layout.Size * dtype.Size()); err != nil {
		return nil, fmt.Errorf("slab of %d bytes: %w", s.layout.Size*dtype.Size(), err)
	}
	return s, nil
}

// Names are the tensors in order.
func (s *Slab) Names() []string { return s.names }

// Views returns every tensor by prefix+name.
func (s *Slab) Views(prefix string) map[string]kernels.View {
	views := make(map[string]kernels.View, len(s.names))
	for i, n := range s.names {
		views[prefix+n] = s.arena.View(s.layout.Offsets[i]*s.dtype.Size(), s.dtype, s.shapes[n]...)
	}
	return views
}

// View returns tensor i.
func (s *Slab) View(i int) kernels.View {
	return s.arena.View(s.layout.Offsets[i]*s.dtype.Size(), s.dtype, s.shapes[s.names[i]]...)
}

// Offset is where tensor i begins, in elements.
func (s *Slab) Offset(i int) int { return s.layout.Offsets[i] }

// Range returns tensors from … to-1, with the padding between and after them, as one flat view.
func (s *Slab) Range(from, to int) kernels.View {
	begin, end := s.layout.Size, s.layout.Size
	if from < len(s.layout.Offsets) {
		begin = s.layout.Offsets[from]
	}
	if to < len(s.layout.Offsets) {
		end = s.layout.Offsets[to]
	}
	return s.arena.View(begin*s.dtype.Size(), s.dtype, end-begin)
}

// All returns the whole slab as one flat view.
func (s *Slab) All() kernels.View { return s.Range(0, len(s.names)) }

// Bytes is the slab's size.
func (s *Slab) Bytes() int { return s.layout.Size * s.dtype.Size() }

// Free releases the memory.
func (s *Slab) Free() error { return s.arena.Free() }
