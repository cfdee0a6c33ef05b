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

// Loader hands out training batches. In every epoch the tokens are cut into windows of T+1, one after the other from the epoch's first
// token on: window i is tokens first+i*T … first+i*T+T, the last of which is also the first of the next window, so every token but the
// first is a target. An epoch visits every window once, in an order that is a function of the seed and the epoch's number only; batches run
// across its end into the next epoch.
//
// The first token is 0 in epoch 0 and below T in later ones, drawn from the seed and the epoch's number: what is read again is read at other
// places of the window. The tokens before it, and those after the last whole window, are left to other epochs. A Loader is for one
// goroutine at a time.
type Loader struct {
	src    Tokens
	b, t   int
	seed   int64
	cursor Cursor
	epoch  epoch   // that of the cursor
	window []int32 // [T+1]
}

// NewLoader returns a loader of batches of B sequences of T tokens that starts at the beginning of epoch 0. A text of less than one
// window is an error.
func NewLoader(src Tokens, B, T int, seed int64) (*Loader, error) {
	if err := checkShape(B, T); err != nil {
		return nil, err
	}
	n := src.Len()
	if n < int64(T)+1 {
		return nil, fmt.Errorf("the training text is too short (tokens: %d): one block needs context+1 = %d; use a longer text or a smaller model.context", n, int64(T)+1)
	}
	l := &Loader{src: src, b: B, t: T, seed: seed, window: make([]int32, T+1)}
	l.epoch = l.enter(0)
	return l, nil
}

// epoch is how one epoch cuts and orders the tokens.
type epoch struct {
	first int64 // token of window 0
	count int64 // windows
	order permutation
}

// enter works out an epoch.
func (l *Loader) enter(number int64) epoch {
	n, t := l.src.Len(), int64(l.t)
	var e epoch
	if number > 0 {
		draw := mix(mix(uint64(l.seed)+golden) ^ mix(uint64(number)))
		e.first = int64(draw % uint64(min(t, n-t)))
	}
	e.count = (n - 1 - e.first) / t
	e.order = newPermutation(e.count, l.seed, number)
	return e
}

// checkShape refuses a batch that cannot be.
func checkShape(B, T int) error {
	if B < 1 || T < 1 || T > math.MaxInt/4/B-1 {
		return fmt.Errorf("a batch of %d sequences of %d tokens cannot be made: train.batch and model.context must be at least 1", B, T)
	}
	return nil
}

// Windows is the number of windows of the epoch of the next batch: one less, at most, than that of epoch 0.
func (l *Loader) Windows() int64 { return l.epoch.count }

// Next fills dst with the next batch and moves on. dst's slices are used again where they are large enough, so a reused batch costs no
// allocation. After an error the loader stands where it stood.
func (l *Loader) Next(dst *Batch) error {
	dst.resize(l.b, l.t)
	start, entered := l.cursor, l.epoch
	for b := range l.b {
		if err := l.row(dst, b); err != nil {
			l.cursor, l.epoch = start, entered
			return err
		}
	}
	return nil
}

// row fills row b with the window at the cursor and moves the cursor on.
func (l *Loader) row(dst *Batch, b int) error {
	i := l.epoch.order.at(l.cursor.Window)
	if err := l.src.Read(l.window, l.epoch.first+i*int64(l.t)); err != nil {
		return fmt.Errorf("reading window %d of the training tokens: %w", i, err)
	}
	copy(dst.Inputs[b*l.t:(b+1)*l.t], l.window)
	copy(dst.Targets[b*l.t:(b+1)*l.t], l.window[1:])
	if l.cursor.Window++; l.cursor.Window == l.epoch.count {
		l.cursor = Cursor{Epoch: l.cursor.Epoch + 1}
		l.epoch = l.enter(l.cursor.Epoch)
	}
	return nil
}

// Cursor is the place of the next batch.
func (l *Loader) Cursor() Cursor { return l.cursor }

// Seek continues at a place that [Loader.Cursor] returned, of this loader or of another one over the same tokens with the same seed and
// context; then the same batches follow.
func (l *Loader) Seek(c Cursor) error {
	e := l.epoch
	if c.Epoch >= 0 {
		e = l.enter(c.Epoch)
	}
	if c.Epoch < 0 || c.Window < 0 || c.Window >= e.count {
		return fmt.Errorf("cannot continue at window %d of epoch %d: an epoch has windows 0…%d; the cursor is of another text, tokenizer or model.context",
			c.Window, c.Epoch, e.count-1)
	}
	l.cursor, l.epoch = c, e
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
