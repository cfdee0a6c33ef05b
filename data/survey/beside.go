package survey

import "io"

// What waits to be written beside other work: blocks of so many bytes.
const (
	besideBlock  = 256 << 10
	besideBlocks = 8
)

// beside writes what it is given in a goroutine of its own, in order. It has to be ended.
type beside struct {
	block      []byte // that is filled
	full, free chan []byte
	done       chan error
}

// newBeside closes w when it is ended.
func newBeside(w io.WriteCloser) *beside {
	b := &beside{full: make(chan []byte, besideBlocks), free: make(chan []byte, besideBlocks), done: make(chan error, 1)}
	for range besideBlocks {
		b.free <- nil // made at the first use
	}
	go func() {
		var failed error
		for block := range b.full {
			if failed == nil {
				_, failed = w.Write(block)
			}
			b.free <- block[:0]
		}
		if err := w.Close(); failed == nil {
			failed = err
		}
		b.done <- failed
	}()
	return b
}

// add takes a copy of text. It waits where too much is not written yet.
func (b *beside) add(text []byte) {
	for len(text) > 0 {
		if b.block == nil {
			if b.block = <-b.free; b.block == nil {
				b.block = make([]byte, 0, besideBlock)
			}
		}
		n := min(len(text), besideBlock-len(b.block))
		b.block, text = append(b.block, text[:n]...), text[n:]
		if len(b.block) == besideBlock {
			b.full <- b.block
			b.block = nil
		}
	}
}

// end writes what is left and returns the first error.
func (b *beside) end() error {
	if len(b.block) > 0 {
		b.full <- b.block
	}
	close(b.full)
	return <-b.done
}
