package survey

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"prenorm/data/corpus"
	"prenorm/data/dedup"
)

// TestListed has more copies than are listed, and more documents with overlap, of which those with the largest shares are kept: of equal shares
// those with more n-grams, then the first.
func TestListed(t *testing.T) {
	s := survey(t, rows(slices.Repeat([]string{"the same few words"}, mostListed+5)...), rows("others"), nil)
	if c := s.Copies; c.Exact != mostListed+4 || len(c.List) != mostListed || c.List[mostListed-1].Document != fmt.Sprintf("train.jsonl:%d", mostListed+1) {
		t.Errorf("%d copies, %d listed", c.Exact, len(c.List))
	}
	o, looked := Overlap{}, &sample{names: []string{"there"}}
	add := func(found, grams int64) {
		o.list(fmt.Sprint(len(o.List)), overlayCount{grams: grams, found: found}, looked)
	}
	add(0, 5) // nothing of it was found
	for i := range int64(3 * mostListed) {
		add(1+i%3, 4)
		if len(o.List) >= 2*mostListed {
			t.Fatalf("%d are held", len(o.List))
		}
	}
	o.trim(mostListed)
	for i, d := range o.List {
		if d.Share != 0.75 || d.Train != "there" || d.Grams != 4 {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	o.List = []Overlaid{{"a", "", 0.5, 2}, {"b", "", 1, 1}, {"c", "", 0.5, 4}, {"d", "", 0.5, 4}, {"e", "", 0.1, 100}}
	o.trim(4)
	if got, want := o.List, []Overlaid{{"b", "", 1, 1}, {"c", "", 0.5, 4}, {"d", "", 0.5, 4}, {"a", "", 0.5, 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPrune wants each hash once, and where there are too many those up to the largest power of two, itself less one included, at which there are not.
func TestPrune(t *testing.T) {
	defer func(most int) { mostGrams = most }(mostGrams)
	mostGrams = 3
	const half, quarter = math.MaxUint64 >> 1, math.MaxUint64 >> 2
	for _, c := range []struct {
		hashes, want []uint64
		bound        uint64
	}{
		{[]uint64{9, 1, 9, 1, 5, 5}, []uint64{1, 5, 9}, math.MaxUint64},
		{[]uint64{half, 1, half + 1, 2}, []uint64{1, 2, half}, half},
		{[]uint64{half, 1, half + 1, quarter, 2}, []uint64{1, 2, quarter}, quarter},
	} {
		g := newGatherer(func(uint64) bool { return true })
		g.hashes = slices.Clone(c.hashes)
		if g.prune(); !slices.Equal(g.hashes, c.want) || g.bound != c.bound {
			t.Errorf("%x: %x up to %x, want %x", c.hashes, g.hashes, g.bound, c.want)
		}
	}
}

// TestJoin wants what is told of all sources to be sums, of every count.
func TestJoin(t *testing.T) {
	a := Copies{Compared: 1, Exact: 2, Near: 3, Bytes: 4, Full: true, Hist: [10]int{5, 9: 6}}
	sum := a
	sum.join(Copies{Compared: 10, Exact: 20, Near: 30, Bytes: 40, Hist: [10]int{50, 9: 60}})
	if want := (Copies{Compared: 11, Exact: 22, Near: 33, Bytes: 44, Full: true, Hist: [10]int{55, 9: 66}}); !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
	p := Packed{Bytes: 5, Gzip: 1, Zstd: 2, ZstdGiven: 3}
	p.add(Packed{Bytes: 7, Gzip: 10, Zstd: 20, ZstdGiven: 30}, 0.5)
	if want := (Packed{12, 6, 12, 18}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}

// TestFullAcross says that documents of all sources were too many to compare.
func TestFullAcross(t *testing.T) {
	out := &Across{}
	a := newAcross(out)
	if of := a.of(&source{}); of == nil || (*across)(nil).of(&source{}) != nil {
		t.Fatal("nobody is told")
	}
	a.of(&source{})(corpus.Stays{Name: "a", Print: dedup.Print{}})
	if out.Full || out.Compared != 1 || len(a.names) != 1 {
		t.Errorf("%+v", out)
	}
}
