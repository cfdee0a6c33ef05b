package metrics

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// background writes to a terminal or pipe from a goroutine of its own, so that one that is stopped or gone never holds up training. Lines
// wait in a buffer of limited size; of the bar only the latest picture waits.
type background struct {
	w     io.Writer
	erase func(columns int) string // the text that wipes a bar

	mu     sync.Mutex
	lines  bytes.Buffer
	lost   int // lines that the buffer had no room for
	bar    picture
	drawn  picture // what stands in the terminal's last line
	dirty  bool
	closed bool

	wake chan struct{}
	done chan struct{}
}

const (
	maxWaiting = 1 << 20         // bytes of lines kept for a terminal that takes none
	maxFlush   = 2 * time.Second // how long close waits for such a terminal
)

// picture is a bar as text, and how many columns it takes at most; none is the empty one.
type picture struct {
	text    string
	columns int
}

func newBackground(w io.Writer, erase func(columns int) string) *background {
	b := &background{w: w, erase: erase, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go b.run()
	return b
}

// line adds a line, which will stand above the bar.
func (b *background) line(text string) {
	b.change(func() {
		if b.lines.Len()+len(text) > maxWaiting {
			b.lost++
			return
		}
		b.lines.WriteString(text)
		b.lines.WriteByte('\n')
	})
}

// draw replaces the bar.
func (b *background) draw(bar picture) { b.change(func() { b.bar = bar }) }

// leave lets the bar stand where it is: somebody else has written below it.
func (b *background) leave() { b.change(func() { b.bar, b.drawn = picture{}, picture{} }) }

func (b *background) change(f func()) {
	b.mu.Lock()
	f()
	b.dirty = true
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// close ends the bar's line, and waits for the terminal, but not for ever.
func (b *background) close() {
	b.change(func() { b.closed = true })
	timeout := time.NewTimer(maxFlush)
	defer timeout.Stop()
	select {
	case <-b.done:
	case <-timeout.C:
	}
}

func (b *background) run() {
	defer close(b.done)
	for range b.wake {
		text, closed := b.take()
		if _, err := io.WriteString(b.w, text); err != nil {
			return // the terminal is gone: what is sent to it from now on is dropped
		}
		if closed {
			return
		}
	}
}

// take returns what has to be written for the terminal to show the lines and the bar.
func (b *background) take() (text string, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.dirty {
		return "", b.closed
	}
	b.dirty = false
	if b.lost > 0 {
		fmt.Fprintf(&b.lines, "(%s not shown)\n", plural(b.lost, "line"))
		b.lost = 0
	}
	lines := b.lines.String()
	b.lines.Reset()
	if b.drawn.text != "" {
		text = b.erase(b.drawn.columns)
	}
	text += lines + b.bar.text
	b.drawn = b.bar
	if b.closed && b.drawn.text != "" {
		text += "\n"
	}
	return text, b.closed
}
