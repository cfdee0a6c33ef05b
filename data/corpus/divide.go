package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"

	"prenorm/data"
)

// rule is a way to divide one list of files.
type rule struct {
	by       string // "" (separate files), "hash" or "end"
	fraction float64
	cut      place // of "end"
}

// place is where the last part of the text starts: in file number file, after share of that file's text.
type place struct {
	file  int
	share float64
}

// CutAt is where the last fraction of total starts.
func CutAt(fraction float64, total int64) int64 {
	return total - int64(math.Round(fraction*float64(total)))
}

// locate finds where the last fraction of all bytes starts.
func locate(fraction float64, files []File) place {
	var total int64
	for _, f := range files {
		total += f.Size
	}
	at := CutAt(fraction, total)
	for i, f := range files {
		if at < f.Size {
			return place{file: i, share: float64(at) / float64(f.Size)}
		}
		at -= f.Size
	}
	return place{file: len(files)}
}

// sideOf is Val for a share fraction of all texts, by the hash of a text. It depends on the text alone, so adding, renaming or reordering
// documents moves no other document to the other side, and two copies of one text are never on both.
func sideOf(sum []byte, fraction float64) Side {
	if float64(binary.BigEndian.Uint64(sum)>>11)/(1<<53) < fraction {
		return Val
	}
	return Train
}

// hashSide is [sideOf] a text in memory.
func hashSide(text []byte, fraction float64) Side {
	sum := sha256.Sum256(text)
	return sideOf(sum[:], fraction)
}

// measures are what has to be known of a file before its documents can be handed on: of those that come in stretches, the length and the
// side, and where the text is divided.
type measures struct {
	long  map[int]measure // by the document's number in the file
	total int64           // bytes of all texts
	cut   *cut            // where the rule's cut is in this file
}

// measure is of a document in stretches.
type measure struct {
	length int64
	side   Side // by hash
}

// cut is a place in a document.
type cut struct {
	document int
	at       int64
}

// measured reads file i of a list once, or twice where the text's cut is in it, for its measures. They are kept until the next scan.
func (c *Corpus) measured(list, i int) (*measures, error) {
	key := [2]int{list, i}
	if m, known := c.measures[key]; known {
		return m, nil
	}
	c.rereads(list, i)
	m := &measures{long: map[int]measure{}}
	var length int64
	var sum hash.Hash
	document := -1
	err := c.pass(list, i, func(d chunk) error {
		if !d.continues {
			document++
			length, sum = 0, sha256.New()
		}
		length += int64(len(d.text))
		m.total += int64(len(d.text))
		if (d.more || d.continues) && c.rule.by == "hash" {
			sum.Write(d.text)
		}
		if d.continues && !d.more {
			m.long[document] = measure{length, sideOf(sum.Sum(nil), c.rule.fraction)}
		}
		return nil
	})
	if err == nil && list == int(Train) && c.rule.by == "end" && i == c.rule.cut.file {
		m.cut, err = c.findCut(i, m)
	}
	if err != nil {
		return nil, err
	}
	if c.measures == nil {
		c.measures = map[[2]int]*measures{}
	}
	c.measures[key] = m
	return m, nil
}

// errEnough ends a pass over a file early.
var errEnough = errors.New("enough")

// findCut finds the place near the rule's share of a file's text where it is divided.
func (c *Corpus) findCut(i int, m *measures) (*cut, error) {
	at := int64(math.Round(c.rule.cut.share * float64(m.total)))
	c.rereads(int(Train), i)
	found := &cut{document: -1}
	var before int64 // text of the documents before
	var seen int64   // text of this document before the window
	var window []byte
	err := c.pass(int(Train), i, func(d chunk) error {
		if !d.continues {
			before += seen + int64(len(window))
			found.document++
			seen, window = 0, nil
		}
		window = append(window, d.text...)
		inside := at - before - seen // place in the window
		length := seen + int64(len(window))
		if long, is := m.long[found.document]; is {
			length = long.length
		}
		switch {
		case inside <= int64(len(window))-cutReach || !d.more && inside < int64(len(window)):
			found.at = seen + int64(cutWithin(window, int(inside), int(min(inside+seen, lineReach*2)), int(min(length-seen-inside, lineReach*2))))
			return errEnough
		case d.more: // keep what may be before the cut
			if drop := len(window) - 2*cutReach; drop > 0 {
				seen += int64(drop)
				window = append(window[:0], window[drop:]...)
			}
		}
		return nil
	})
	if err == nil { // the cut is behind the last document
		found.document++
	} else if err != errEnough {
		return nil, err
	}
	return found, nil
}

// rereads tells of a pass over a file that was not planned.
func (c *Corpus) rereads(list, i int) {
	if c.again != nil {
		c.again(c.files[list][i].Size)
	}
}

// mayHold says which sides file i of a list may have documents of.
func (c *Corpus) mayHold(list Side, i int) [2]bool {
	switch at := c.rule.cut.file; {
	case c.rule.by == "":
		return only(list)
	case c.rule.by == "end" && i != at:
		return [2]bool{Train: i < at, Val: i > at}
	}
	return [2]bool{true, true}
}

// ErrChanged says that a text is not the same in two passes.
var ErrChanged = errors.New("the text changed while it was being read: start again when nothing writes to it")

// divided hands on the documents of file i of a list, divided by the rule.
func (c *Corpus) divided(list, i int, wanted [2]bool, emit func(Side, Document) error) error {
	var m *measures
	var err error
	if c.rule.by == "end" && i == c.rule.cut.file {
		if m, err = c.measured(list, i); err != nil {
			return err
		}
	}
	document, offset := -1, int64(0)
	var length, at int64 // of the document: its bytes, and how many of them are for training
	return c.counting(list, i, c.odd, func(d chunk) error {
		if !d.continues {
			document++
		}
		if c.dropped.has(list, i, document) {
			return nil
		}
		if c.alike != nil {
			c.alike.add(d)
		}
		if !d.continues {
			offset, length = 0, int64(len(d.text))
			if d.more {
				if m, err = c.measured(list, i); err != nil {
					return err
				}
				length = m.long[document].length
			}
			at = c.trainingBytes(list, i, document, length, d, m)
		}
		for side, want := range wanted {
			from, to := share(Side(side), at, offset, len(d.text))
			start, end := int64(0), at
			if Side(side) == Val {
				start, end = at, length
			}
			if !want || from == to {
				continue
			}
			part := Document{Name: d.name, Offset: offset + int64(from), Text: d.text[from:to:to]}
			part.Continues, part.Rest = part.Offset > start, end-offset-int64(to)
			if err := emit(Side(side), part); err != nil {
				return err
			}
		}
		if offset += int64(len(d.text)); offset > length || !d.more && offset < length {
			return fmt.Errorf("%s: %w", d.name, ErrChanged)
		}
		return nil
	})
}

// trainingBytes is how many of a document's bytes, from its start, are for training; the rest is for validation. d is its first stretch.
func (c *Corpus) trainingBytes(list, i, document int, length int64, d chunk, m *measures) int64 {
	side := Side(list)
	switch c.rule.by {
	case "hash":
		if d.more {
			side = m.long[document].side
		} else {
			side = hashSide(d.text, c.rule.fraction)
		}
	case "end":
		switch {
		case i < c.rule.cut.file || i == c.rule.cut.file && document < m.cut.document:
			side = Train
		case i > c.rule.cut.file || document > m.cut.document:
			side = Val
		default:
			return m.cut.at
		}
	}
	if side == Train {
		return length
	}
	return 0
}

// share is the part of a document's stretch that is on a side: text[from:to]. at is the document's cut.
func share(side Side, at, offset int64, size int) (from, to int) {
	inside := int(min(max(at-offset, 0), int64(size)))
	if side == Train {
		return 0, inside
	}
	return inside, size
}

// choose returns the rule that divides the files.
func (o owner) choose(val data.Val, files []File) (rule, error) {
	r := rule{by: val.By, fraction: val.Fraction}
	if !(r.fraction > 0 && r.fraction < 1) {
		return r, fmt.Errorf("data.val.fraction: %v is not between 0 and 1: validation needs a part of the text (try 0.1) or files of its own (%s)", r.fraction, ValFiles(string(o)))
	}
	switch r.by {
	case "auto":
		r.by = "hash"
		if len(files) == 1 && !files[0].Format.Several() {
			r.by = "end"
		}
	case "hash", "end":
	default:
		return r, fmt.Errorf("data.val.by: %q is none of: auto, hash, end", r.by)
	}
	if r.by == "end" {
		r.cut = locate(r.fraction, files)
	}
	return r, nil
}
