package cpu

import "unsafe"

// line is the alignment of every piece of workspace in bytes: a cache line.
const line = 64

// scratch hands out a call's workspace in pieces that start on a cache line. Without memory it only measures.
type scratch struct {
	tier    *tier // that the call will run on, which decides how operands are packed
	workers int   // that may share it, which decides into how many parts it is cut, and never its result
	mem     []byte
	used    int // bytes from the first aligned byte of mem
}

// bytes is the size of the memory that the pieces so far want, wherever that memory starts.
func (s *scratch) bytes() int {
	if s.used == 0 {
		return 0
	}
	return s.used + line
}

func (s *scratch) take(bytes int) unsafe.Pointer {
	at := s.used
	s.used += (bytes + line - 1) / line * line
	if s.mem == nil || bytes == 0 {
		return nil
	}
	base := unsafe.Pointer(unsafe.SliceData(s.mem))
	skip := -int(uintptr(base)) & (line - 1)
	return unsafe.Pointer(&s.mem[skip+at : skip+at+bytes][0])
}

// oneOf has several plans take the same memory, for work of which one is finished before the next begins.
func (s *scratch) oneOf(plans ...func()) {
	start, end := s.used, s.used
	for _, plan := range plans {
		s.used = start
		plan()
		end = max(end, s.used)
	}
	s.used = end
}

// f32 takes n floats.
func (s *scratch) f32(n int) []float32 { return pieces[float32](s, n) }

// f64 takes n doubles.
func (s *scratch) f64(n int) []float64 { return pieces[float64](s, n) }

// i32 takes n integers.
func (s *scratch) i32(n int) []int32 { return pieces[int32](s, n) }

func pieces[E float32 | float64 | int32](s *scratch, n int) []E {
	var zero E
	p := (*E)(s.take(n * int(unsafe.Sizeof(zero))))
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, n)
}

// pitch is the distance in floats between the rows of a copied operand of the given width: whole cache lines, an odd number of them, so that
// equal columns of neighbouring rows do not fall into one set of a cache.
func pitch(width int) int {
	lines := (width + 15) / 16
	return (lines | 1) * 16
}
