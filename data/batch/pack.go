package batch

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// packer packs documents whole into rows of T tokens. A document of T tokens or more first gives as many full rows as there are in it; what
// is left of it is packed like a short document. Short ones are packed by best fit, the longest first ("best-fit decreasing": Johnson et
// al., "Worst-case performance bounds for simple one-dimensional packing algorithms", SIAM J. Comput. 1974; for language models Ding et al.,
// arXiv 2404.10830): each goes to the row with the least room that it fits in, of equals the first, or begins a row.
//
// Documents are packed in groups of groupSize neighbours, each by itself, and every row can be worked out again from its group: memory is
// one group, and 8 bytes a group for the rows before it. The rows are the same in every epoch; their order is not.
type packer struct {
	filler
	t      int
	before []int64 // rows before each group, and of all
	bounds []int64 // [groupSize+1] starts of the documents of the group at hand
	pieces []piece // short documents and rests, in the order of their rows
	first  []int   // of each row of pieces: its first piece; and the number of pieces
	open   []room  // rows while they are filled, by room
	full   int64   // full rows of the group
	group  int64   // at hand, -1 for none
}

// piece is tokens of one document.
type piece struct {
	start  int64
	length int
	row    int // among those of pieces in its group
}

// room is the tokens that a row has place for.
type room struct{ left, row int }

// groupSize is how many documents are packed together.
const groupSize = 1024

// newPacker packs all groups once, to count their rows.
func newPacker(r Rule, text Text, T int) (*packer, error) {
	groups := (text.Starts.Len() + groupSize - 1) / groupSize
	p := &packer{filler: newFiller(r, text, T), t: T, before: make([]int64, 1, groups+1), bounds: make([]int64, groupSize+1), group: -1}
	for g := range groups {
		if text.Stop != nil {
			if err := text.Stop(); err != nil {
				return nil, err
			}
		}
		if err := p.pack(g); err != nil {
			return nil, err
		}
		p.before = append(p.before, p.before[g]+p.full+int64(len(p.first)-1))
	}
	return p, nil
}

// rows is the number of rows of all documents.
func (p *packer) rows() int64 { return p.before[len(p.before)-1] }

// pack works out the rows of a group.
func (p *packer) pack(g int64) error {
	if p.group == g {
		return nil
	}
	p.group = -1
	n := min(groupSize, p.text.Starts.Len()-g*groupSize)
	more := min(n+1, p.text.Starts.Len()-g*groupSize)
	if err := p.text.Starts.Read(p.bounds[:more], g*groupSize); err != nil {
		return err
	}
	p.bounds = p.bounds[:n+1]
	if more == n {
		p.bounds[n] = p.text.Len()
	}
	p.full, p.pieces = 0, p.pieces[:0]
	for i := range int(n) {
		length := p.bounds[i+1] - p.bounds[i]
		if length <= 0 {
			return fmt.Errorf("document %d begins at token %d and the next one at %d of %d", g*groupSize+int64(i), p.bounds[i], p.bounds[i+1], p.text.Len())
		}
		full := length / int64(p.t)
		p.full += full
		if rest := int(length % int64(p.t)); rest > 0 {
			p.pieces = append(p.pieces, piece{p.bounds[i] + full*int64(p.t), rest, 0})
		}
	}
	p.fit()
	p.group = g
	return nil
}

// fit gives each piece its row.
func (p *packer) fit() {
	slices.SortFunc(p.pieces, func(a, b piece) int { return cmp.Or(b.length-a.length, cmp.Compare(a.start, b.start)) })
	p.open = p.open[:0]
	rows := 0
	for i := range p.pieces {
		x := &p.pieces[i]
		r := room{p.t, rows}
		if at, _ := slices.BinarySearchFunc(p.open, room{x.length, 0}, byRoom); at < len(p.open) {
			r = p.open[at]
			p.open = slices.Delete(p.open, at, at+1)
		} else {
			rows++
		}
		x.row = r.row
		if r.left -= x.length; r.left > 0 {
			at, _ := slices.BinarySearchFunc(p.open, r, byRoom)
			p.open = slices.Insert(p.open, at, r)
		}
	}
	slices.SortStableFunc(p.pieces, func(a, b piece) int { return a.row - b.row })
	p.first = p.first[:0]
	for i, x := range p.pieces {
		if i == 0 || x.row != p.pieces[i-1].row {
			p.first = append(p.first, i)
		}
	}
	p.first = append(p.first, len(p.pieces))
}

func byRoom(a, b room) int { return cmp.Or(a.left-b.left, a.row-b.row) }

// row fills a row with row number i of all.
func (p *packer) row(inputs, targets, docs []int32, i int64) error {
	g := int64(sort.Search(len(p.before)-1, func(k int) bool { return p.before[k+1] > i }))
	if err := p.pack(g); err != nil {
		return err
	}
	if i -= p.before[g]; i < p.full {
		clear(docs)
		return p.piece(inputs, targets, piece{start: p.fullRow(i), length: p.t})
	}
	r := i - p.full
	at, id := 0, int32(0)
	for _, x := range p.pieces[p.first[r]:p.first[r+1]] {
		end := at + x.length
		if err := p.piece(inputs[at:end], targets[at:end], x); err != nil {
			return err
		}
		if docs != nil {
			pad(nil, nil, docs[at:end], id)
		}
		at, id = end, id+1
	}
	if docs != nil {
		docs = docs[at:]
	}
	pad(inputs[at:], targets[at:], docs, id)
	return nil
}

// fullRow is the first token of full row i of the group.
func (p *packer) fullRow(i int64) int64 {
	for d := 0; ; d++ {
		full := (p.bounds[d+1] - p.bounds[d]) / int64(p.t)
		if i < full {
			return p.bounds[d] + i*int64(p.t)
		}
		i -= full
	}
}

// piece fills a part of a row.
func (p *packer) piece(inputs, targets []int32, x piece) error {
	if err := p.tokens(inputs, targets, x.start); err != nil {
		return err
	}
	end := x.start + int64(x.length)
	if _, border := slices.BinarySearch(p.bounds, end); border && !p.rule.keepsBorders(p.text) {
		targets[x.length-1] = -1
	}
	return nil
}

// Packing is what packing comes to in an epoch.
type Packing struct {
	Rows   int64
	Tokens int64
	T      int
}

// Waste is the share of places in rows that hold no token.
func (p Packing) Waste() float64 { return 1 - float64(p.Tokens)/(float64(p.Rows)*float64(p.T)) }
