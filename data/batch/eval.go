package batch

import (
	"fmt"
	"io"
)

// Evaluation reads a text once, in order, in windows that do not overlap: window i has the inputs i*T … i*T+T-1 and, as targets, the
// tokens after them. The last window may be partial: its rest has inputs 0 and targets -1, as have the rows of the last batch that are
// left over. Read whole, every token but the first is a target exactly once, so the mean loss is that of the text; see [Rule] for a text
// without separators that is read by document. Where the rule packs documents whole, the rows of the packing are read in their order. An
// Evaluation is for one goroutine at a time.
type Evaluation struct {
	filler
	packer *packer // nil for windows
	b, t   int
	total  int64 // windows of the text
	chosen int64 // windows that are read
	next   int64 // number of the next one among the chosen
}

// Eval is [Rule.Eval] for the zero rule.
func Eval(src Tokens, B, T, windows int) (*Evaluation, error) {
	return Rule{}.Eval(Text{Tokens: src}, B, T, windows)
}

// Eval returns an evaluation in batches of B windows of T tokens. windows limits it to so many windows, evenly spread over the text; 0, or
// more than there are, reads all. A text of less than two tokens, which has nothing to predict, is an error.
func (r Rule) Eval(text Text, B, T, windows int) (*Evaluation, error) {
	if err := checkShape(B, T); err != nil {
		return nil, err
	}
	n := text.Len()
	if n < 2 {
		return nil, fmt.Errorf("the text to evaluate is too short (tokens: %d): at least 2 are needed to predict one from another; use a longer text", n)
	}
	if windows < 0 {
		return nil, fmt.Errorf("train.eval.windows: %d is negative: use 0 for all windows", windows)
	}
	if err := r.check(text); err != nil {
		return nil, err
	}
	e := &Evaluation{b: B, t: T, total: (n-2)/int64(T) + 1}
	if r.Whole {
		var err error
		if e.packer, err = newPacker(r, text, T); err != nil {
			return nil, err
		}
		e.filler, e.total = e.packer.filler, e.packer.rows()
	} else {
		e.filler = newFiller(r, text, T)
	}
	e.chosen = e.total
	if windows > 0 {
		e.chosen = min(e.total, int64(windows))
	}
	return e, nil
}

// Windows is the number of windows that are read.
func (e *Evaluation) Windows() int64 { return e.chosen }

// Targets is the number of targets that are read by the zero rule.
func (e *Evaluation) Targets() int64 {
	n := e.chosen * int64(e.t)
	if e.chosen > 0 && e.place(e.chosen-1) == e.total-1 {
		n -= e.total*int64(e.t) - (e.text.Len() - 1)
	}
	return n
}

// place is the window that is read as number i: the middle one of the i-th of e.chosen equal parts of the text.
func (e *Evaluation) place(i int64) int64 {
	// (2i+1)*total / (2*chosen) without overflow: total = q*chosen + r.
	q, r := e.total/e.chosen, e.total%e.chosen
	return i*q + ((2*i+1)*r+q*e.chosen)/(2*e.chosen)
}

// Next fills dst with the next batch, or returns [io.EOF] after the last one. A reused batch costs no allocation. After an error the
// evaluation stands where it stood.
func (e *Evaluation) Next(dst *Batch) error {
	if e.next >= e.chosen {
		return io.EOF
	}
	dst.resize(e.b, e.t, e.rule.Closed)
	rows := min(int64(e.b), e.chosen-e.next)
	for b := range e.b {
		inputs, targets, docs := row(dst.Inputs, b, e.t), row(dst.Targets, b, e.t), row(dst.Docs, b, e.t)
		if int64(b) >= rows {
			pad(inputs, targets, docs, 0)
		} else if err := e.row(inputs, targets, docs, e.place(e.next+int64(b))); err != nil {
			return err
		}
	}
	e.next += rows
	return nil
}

// row reads window i.
func (e *Evaluation) row(inputs, targets, docs []int32, i int64) error {
	var err error
	if e.packer != nil {
		err = e.packer.row(inputs, targets, docs, i)
	} else {
		err = e.part(inputs, targets, docs, i*int64(e.t))
	}
	if err != nil {
		return fmt.Errorf("reading window %d of the text to evaluate: %w", i, err)
	}
	return nil
}

// part reads a window that the text may end in.
func (e *Evaluation) part(inputs, targets, docs []int32, start int64) error {
	n := int(min(int64(e.t), e.text.Len()-1-start)) // targets
	var there, beyond []int32
	if docs != nil {
		there, beyond = docs[:n], docs[n:]
	}
	if err := e.stream(inputs[:n], targets[:n], there, start); err != nil {
		return err
	}
	pad(inputs[n:], targets[n:], beyond, -1)
	return nil
}

// Reset starts over.
func (e *Evaluation) Reset() { e.next = 0 }
