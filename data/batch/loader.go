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
// places of the window. The tokens before it, and those after the last whole window, are left to other epochs.
//
// Where the rule packs documents whole, an epoch visits every row of the packing once instead, in such an order. A Loader is for one goroutine
// at a time.
type Loader struct {
	filler
	packer *packer // nil for windows
	b, t   int
	seed   int64
	cursor Cursor
	epoch  epoch // that of the cursor
}

// NewLoader is [Rule.Loader] for the zero rule.
func NewLoader(src Tokens, B, T int, seed int64) (*Loader, error) {
	return Rule{}.Loader(Text{Tokens: src}, B, T, seed)
}

// Loader returns a loader of batches of B sequences of T tokens that starts at the beginning of epoch 0. A text of less than one
// window is an error.
func (r Rule) Loader(text Text, B, T int, seed int64) (*Loader, error) {
	if err := checkShape(B, T); err != nil {
		return nil, err
	}
	if n := text.Len(); n < int64(T)+1 {
		return nil, fmt.Errorf("the training text is too short (tokens: %d): one block needs context+1 = %d; use a longer text or a smaller model.context", n, int64(T)+1)
	}
	if err := r.check(text); err != nil {
		return nil, err
	}
	l := &Loader{b: B, t: T, seed: seed}
	if r.Whole {
		var err error
		if l.packer, err = newPacker(r, text, T); err != nil {
			return nil, err
		}
		l.filler = l.packer.filler
	} else {
		l.filler = newFiller(r, text, T)
	}
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
	n, t := l.text.Len(), int64(l.t)
	var e epoch
	if l.packer != nil {
		e.count = l.packer.rows()
		e.order = newPermutation(e.count, l.seed, number)
		return e
	}
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

// Packing is what packing comes to, nil for windows.
func (l *Loader) Packing() *Packing {
	if l.packer == nil {
		return nil
	}
	return &Packing{Rows: l.packer.rows(), Tokens: l.text.Len(), T: l.t}
}

// Next fills dst with the next batch and moves on. dst's slices are used again where they are large enough, so a reused batch costs no
// allocation. After an error the loader stands where it stood.
func (l *Loader) Next(dst *Batch) error {
	dst.resize(l.b, l.t, l.rule.Closed)
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
	inputs, targets, docs := row(dst.Inputs, b, l.t), row(dst.Targets, b, l.t), row(dst.Docs, b, l.t)
	var err error
	if l.packer != nil {
		err = l.packer.row(inputs, targets, docs, i)
	} else {
		err = l.stream(inputs, targets, docs, l.epoch.first+i*int64(l.t))
	}
	if err != nil {
		return fmt.Errorf("reading window %d of the training tokens: %w", i, err)
	}
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
	if c.Mixture != nil {
		return fmt.Errorf("cannot continue at a place in a mixture of sources: the run has one text now")
	}
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
