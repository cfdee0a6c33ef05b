package token

// ordered is what a heap holds.
type ordered[T any] interface{ before(T) bool }

var (
	_ ordered[candidate] = candidate(0)
	_ ordered[count]     = count{}
)

// heap is a binary heap whose top is the element that comes before all others. Unlike container/heap it holds values, so that pushing
// allocates nothing but room.
type heap[T ordered[T]] []T

// order makes a heap of elements in any order.
func (h heap[T]) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

// pop removes the top of a heap that is not empty.
func (h *heap[T]) pop() T {
	s := *h
	top := s[0]
	s[0] = s[len(s)-1]
	*h = s[:len(s)-1]
	h.down(0)
	return top
}

func (h heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if !h[child].before(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
