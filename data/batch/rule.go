package batch

import "fmt"

// Rule says how tokens become rows of T. The zero Rule cuts the stream of tokens and lets attention cross documents.
//
// A separator belongs to the document that follows it: it is that document's first input, as an empty prompt is in sampling, and the last
// target of the document before. So with a separator every token but the first of all is a target, whatever the rule. Without one, the last
// token of a document has no target where its row ends there or attention does.
type Rule struct {
	Whole  bool // documents are packed whole into rows, see [packer]; otherwise rows are windows over the stream
	Closed bool // attention stays inside documents: batches carry document ids
}

// Starts are the numbers of the tokens that documents begin with, ascending from 0.
type Starts interface {
	// Len is the number of documents.
	Len() int64
	// Read fills dst with the starts from document number off on, or returns an error if they are not all there.
	Read(dst []int64, off int64) error
}

// Text is tokens, and where their documents begin.
type Text struct {
	Tokens
	Starts    Starts // may be nil for the zero [Rule]
	Separated bool   // a document's first token is the separator before it, except at the start of all

	Stop func() error // asked again and again while rows are planned, which ends with the error that it returns; may be nil
}

// Places are [Starts] in memory.
type Places []int64

// Len implements [Starts].
func (p Places) Len() int64 { return int64(len(p)) }

// Read implements [Starts].
func (p Places) Read(dst []int64, off int64) error {
	if off < 0 || off > p.Len() || int64(len(dst)) > p.Len()-off {
		return fmt.Errorf("%d documents from number %d on are not all among the %d in memory", len(dst), off, p.Len())
	}
	copy(dst, p[off:])
	return nil
}

// check refuses a text that the rule cannot be followed on.
func (r Rule) check(text Text) error {
	if r == (Rule{}) {
		return nil
	}
	var first [1]int64
	if text.Starts == nil || text.Starts.Len() == 0 {
		return fmt.Errorf("where the documents begin is not known: rows by document need that")
	}
	if err := text.Starts.Read(first[:], 0); err != nil {
		return err
	}
	if first[0] != 0 {
		return fmt.Errorf("the first document begins at token %d, want 0", first[0])
	}
	return nil
}

// keepsBorders says whether the token after a document's last one is that one's target.
func (r Rule) keepsBorders(text Text) bool { return text.Separated || r == (Rule{}) }

// document returns the number of the document that token at lies in.
func document(s Starts, at int64) (int64, error) {
	low, high := int64(0), s.Len() // the start of low is not behind at, that of high is
	var start [1]int64
	for high-low > 1 {
		middle := low + (high-low)/2
		if err := s.Read(start[:], middle); err != nil {
			return 0, err
		}
		if start[0] <= at {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// filler writes tokens of a text into rows.
type filler struct {
	rule   Rule
	text   Text
	window []int32 // [T+1]
	starts []int64 // [startsRead]
}

// startsRead is how many borders are read at a time.
const startsRead = 64

func newFiller(r Rule, text Text, T int) filler {
	f := filler{rule: r, text: text, window: make([]int32, T+1)}
	if r != (Rule{}) {
		f.starts = make([]int64, startsRead)
	}
	return f
}

// tokens fills inputs with the tokens from number at on, and targets with those after them; where the text ends there is no target.
func (f *filler) tokens(inputs, targets []int32, at int64) error {
	n := len(inputs)
	have := int(min(int64(n)+1, f.text.Len()-at))
	if err := f.text.Read(f.window[:have], at); err != nil {
		return err
	}
	copy(inputs, f.window[:n])
	copy(targets, f.window[1:have])
	if have == n {
		targets[n-1] = -1
	}
	return nil
}

// stream fills a row with a window: the tokens from number at on. docs are numbered from 0 in every row; nil where none are wanted.
func (f *filler) stream(inputs, targets, docs []int32, at int64) error {
	if err := f.tokens(inputs, targets, at); err != nil || !f.rule.Closed {
		return err
	}
	d, err := document(f.text.Starts, at)
	if err != nil {
		return err
	}
	id, done := int32(0), 0
	for next := d + 1; next < f.text.Starts.Len() && done < len(docs); {
		some := f.starts[:min(startsRead, f.text.Starts.Len()-next)]
		if err := f.text.Starts.Read(some, next); err != nil {
			return err
		}
		for _, start := range some {
			border := start - at
			if border > 0 && border <= int64(len(docs)) && !f.text.Separated {
				targets[border-1] = -1
			}
			for ; done < len(docs) && int64(done) < border; done++ {
				docs[done] = id
			}
			id++
		}
		next += int64(len(some))
	}
	// id is that of the document behind the last border read; where reading stopped early, no place is left.
	for ; done < len(docs); done++ {
		docs[done] = id
	}
	return nil
}

// pad marks places that hold no token. They are a document of their own.
func pad(inputs, targets, docs []int32, id int32) {
	clear(inputs)
	for i := range targets {
		targets[i] = -1
	}
	for i := range docs {
		docs[i] = id
	}
}

// row is row b of a tensor [B, T], nil of nil.
func row(x []int32, b, t int) []int32 {
	if x == nil {
		return nil
	}
	return x[b*t : (b+1)*t]
}
