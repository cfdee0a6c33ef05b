package batch

import (
	"fmt"
	"math"
)

// Tokens is a sequence of token ids, such as a shard.
type Tokens interface {
	// Len is the number of ids.
	Len() int64
	// Read fills dst with the ids from number off on, or returns an error if they are not all there.
	Read(dst []int32, off int64) error
}

// IDs are [Tokens] in memory.
type IDs []int32

// Len implements [Tokens].
func (s IDs) Len() int64 { return int64(len(s)) }

// Read implements [Tokens].
func (s IDs) Read(dst []int32, off int64) error {
	if off < 0 || off > s.Len() || int64(len(dst)) > s.Len()-off {
		return fmt.Errorf("%d ids from number %d on are not all among the %d in memory", len(dst), off, s.Len())
	}
	copy(dst, s[off:])
	return nil
}

// Loader hands out training batches. The tokens are cut into windows of T+1: window i is tokens i*T … i*T+T, the last of which is also
// the first of the next window, so every token but the very first is a target; the tokens after the last whole window are not used.
// An epoch visits every window once, in an order that is a function of the seed and the epoch's number only; batches run across its end
// into the next epoch. A Loader is for one goroutine at a time.
type Loader struct {
	src    Tokens
	b, t   int
	seed   int64
	count  int64 // windows
	cursor Cursor
	order  permutation // of cursor.Epoch
	window []int32     // [T+1]
}

// NewLoader returns a loader of batches of B sequences of T tokens that starts at the beginning of epoch 0. A text of less than one
// window is an error.
func NewLoader(src Tokens, B, T int, seed int64) (*Loader, error) {
	if err := checkShape(B, T); err != nil {
		return nil, err
	}
	n := src.Len()
	if n < int64(T)+1 {
		return nil, fmt.Errorf("the training text has %d tokens, one block needs context+1 = %d: use a longer text or a smaller model.context", n, int64(T)+1)
	}
	l := &Loader{src: src, b: B, t: T, seed: seed, count: (n - 1) / int64(T), window: make([]int32, T+1)}
	l.order = newPermutation(l.count, seed, 0)
	return l, nil
}

// checkShape refuses a batch that cannot be.
func checkShape(B, T int) error {
	if B < 1 || T < 1 || T > math.MaxInt/4/B-1 {
		return fmt.Errorf("a batch of %d sequences of %d tokens cannot be made: train.batch and model.context must be at least 1", B, T)
	}
	return nil
}

// Windows is the number of windows of an epoch.
func (l *Loader) Windows() int64 { return l.count }

// Next fills dst with the next batch and moves on. dst's slices are used again where they are large enough, so a reused batch costs no
// allocation. After an error the loader stands where it stood.
func (l *Loader) Next(dst *Batch) error {
	dst.resize(l.b, l.t)
	start, order := l.cursor, l.order
	for b := range l.b {
		if err := l.row(dst, b); err != nil {
			l.cursor, l.order = start, order
			return err
		}
	}
	return nil
}

// row fills row b with the window at the cursor and moves the cursor on.
func (l *Loader) row(dst *Batch, b int) error {
	i := l.order.at(l.cursor.Window)
	if err := l.src.Read(l.window, i*int64(l.t)); err != nil {
		return fmt.Errorf("reading window %d of the training tokens: %w", i, err)
	}
	copy(dst.Inputs[b*l.t:(b+1)*l.t], l.window)
	copy(dst.Targets[b*l.t:(b+1)*l.t], l.window[1:])
	if l.cursor.Window++; l.cursor.Window == l.count {
		l.cursor = Cursor{Epoch: l.cursor.Epoch + 1}
		l.order = newPermutation(l.count, l.seed, l.cursor.Epoch)
	}
	return nil
}

// Cursor is the place of the next batch.
func (l *Loader) Cursor() Cursor { return l.cursor }

// Seek continues at a place that [Loader.Cursor] returned, of this loader or of another one over the same tokens with the same seed and
// context; then the same batches follow.
func (l *Loader) Seek(c Cursor) error {
	if c.Epoch < 0 || c.Window < 0 || c.Window >= l.count {
		return fmt.Errorf("cannot continue at window %d of epoch %d: an epoch has windows 0…%d; the cursor is of another text, tokenizer or model.context",
			c.Window, c.Epoch, l.count-1)
	}
	l.cursor, l.order = c, newPermutation(l.count, l.seed, c.Epoch)
	return nil
}

// resize gives the batch its shape; its contents are undefined afterwards.
func (d *Batch) resize(B, T int) {
	n := B * T
	if cap(d.Inputs) < n || cap(d.Targets) < n {
		d.Inputs, d.Targets = make([]int32, n), make([]int32, n)
	}
	d.B, d.T, d.Inputs, d.Targets, d.Docs = B, T, d.Inputs[:n], d.Targets[:n], nil
}
