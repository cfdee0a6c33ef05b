package survey

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
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

// always is a finder that says of every document but the first that it is a copy of that, and that there are too many.
type always struct{ texts int }

func (a *always) Add(dedup.Print) (dedup.Copy, bool) {
	a.texts++
	return dedup.Copy{Of: 0, Similarity: 1, Exact: a.texts%2 == 0}, a.texts > 1
}

func (a *always) Full() bool { return a.texts > 1 }

// TestAcrossLimits counts no copies within a source, lists no more than it may, and says that there were too many documents to compare.
func TestAcrossLimits(t *testing.T) {
	out := &Across{}
	a := newAcross(out)
	a.finder = &always{}
	first, second := &source{name: "a", copies: make([]Between, 2)}, &source{name: "b", number: 1, copies: make([]Between, 2)}
	own, other := a.of(first), a.of(second)
	own(corpus.Stays{Name: "1", Bytes: 7})
	if out.Full || out.Compared != 1 {
		t.Errorf("%+v", out)
	}
	own(corpus.Stays{Name: "2", Bytes: 7})
	if !out.Full || out.Compared != 2 || out.Exact+out.Near != 0 || len(out.List) != 0 {
		t.Errorf("%+v", out)
	}
	for range mostListed + 10 {
		other(corpus.Stays{Name: "3", Bytes: 7})
	}
	if n := mostListed + 10; out.Exact+out.Near != n || out.Exact != n/2 || out.Bytes != int64(7*n) || len(out.List) != mostListed || out.List[0] != (AcrossListing{"b", "a", CopyListing{"3", "1", 1, false, 7}}) ||
		second.copies[0] != (Between{n / 2, n / 2, int64(7 * n)}) || len(a.names) != n+2 {
		t.Errorf("%d and %d copies, %d bytes, %d listed, %v", out.Exact, out.Near, out.Bytes, len(out.List), second.copies)
	}
	if (*across)(nil).of(first) != nil {
		t.Error("one source has copies across sources")
	}
	s := Survey{Across: out}
	if copies, _, _, _ := s.Methods(); !strings.Contains(copies, "Only the first") {
		t.Error(copies)
	}
}

// TestNames keeps the names of those documents alone that were the first to have an n-gram.
func TestNames(t *testing.T) {
	s := newSample(1)
	s.add([]uint64{5, 6}, math.MaxUint64)
	s.freeze()
	five, _ := s.place(5)
	s.mark("none", 0, nil)
	s.mark("first", 0, []int32{five})
	s.mark("again", 0, []int32{five})
	if !slices.Equal(s.names, []string{"first"}) || s.first[five] != 0 || !s.isIn(five, 0) {
		t.Errorf("%q, %v", s.names, s.first)
	}
}
