//go:build gpu

package cuda

// alignment is that of every piece of workspace in bytes.
const alignment = 256

// scratch hands out a call's workspace in aligned pieces. Without memory it only measures.
type scratch struct {
	base uintptr // 0 = measure
	used int
}

// newScratch cuts the workspace that starts at an address.
func newScratch(at uintptr) *scratch {
	if at == 0 {
		return &scratch{}
	}
	return &scratch{base: (at + alignment - 1) &^ (alignment - 1)}
}

// bytes is the size of the memory that the pieces so far want, wherever that memory starts.
func (s *scratch) bytes() int {
	if s.used == 0 {
		return 0
	}
	return s.used + alignment
}

// f32 takes n floats and returns their address.
func (s *scratch) f32(n int) uintptr { return s.take(4 * n) }

// f64 takes n doubles.
func (s *scratch) f64(n int) uintptr { return s.take(8 * n) }

func (s *scratch) take(bytes int) uintptr {
	at := s.base + uintptr(s.used)
	s.used += (bytes + alignment - 1) &^ (alignment - 1)
	return at
}
