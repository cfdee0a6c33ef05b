package batch

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// count returns the tokens 0 … n-1, so that a token says where it comes from.
func count(n int) IDs {
	ids := make(IDs, n)
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}

func newLoader(t testing.TB, src Tokens, B, T int, seed int64) *Loader {
	t.Helper()
	l, err := NewLoader(src, B, T, seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// clone copies a batch.
func clone(b Batch) Batch {
	b.Inputs, b.Targets = slices.Clone(b.Inputs), slices.Clone(b.Targets)
	return b
}

func equal(a, b Batch) bool {
	return a.B == b.B && a.T == b.T && slices.Equal(a.Inputs, b.Inputs) && slices.Equal(a.Targets, b.Targets)
}

// next returns n batches.
func next(t testing.TB, l interface{ Next(*Batch) error }, n int) []Batch {
	t.Helper()
	list := make([]Batch, n)
	for i := range list {
		if err := l.Next(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestLoaderVisitsEveryWindowOnce(t *testing.T) {
	for _, test := range []struct{ n, B, T int }{{2, 1, 1}, {10, 3, 1}, {129, 1, 128}, {300, 4, 7}, {301, 5, 7}, {302, 64, 7}, {1000, 3, 10}} {
		l := newLoader(t, count(test.n), test.B, test.T, 3)
		windows := (test.n - 1) / test.T
		if l.Windows() != int64(windows) {
			t.Errorf("%+v: %d windows, want %d", test, l.Windows(), windows)
		}
		firsts := map[int]bool{}
		for e := range 6 {
			starts := epochStarts(t, l, test.T)
			sorted := slices.Clone(starts)
			slices.Sort(sorted)
			first := sorted[0]
			firsts[first] = true
			if windows > 20 && slices.Equal(starts, sorted) {
				t.Errorf("%+v: epoch %d is not shuffled", test, e)
			}
			if want := (test.n - 1 - first) / test.T; len(sorted) != want || first >= test.T || e == 0 && first != 0 {
				t.Fatalf("%+v: epoch %d starts at token %d and has %d windows, want %d", test, e, first, len(sorted), want)
			}
			for i, s := range sorted {
				if s != first+i*test.T {
					t.Fatalf("%+v: epoch %d visits %v", test, e, sorted)
				}
			}
		}
		if test.T == 7 && len(firsts) < 3 {
			t.Errorf("%+v: all epochs cut the text at %v", test, firsts)
		}
	}
}

// epochStarts reads the rest of a loader's epoch, whose rows run on from batch to batch, and returns the first token of each window.
func epochStarts(t *testing.T, l *Loader, T int) (starts []int) {
	t.Helper()
	one := newLoader(t, l.text.Tokens, 1, T, l.seed)
	if err := one.Seek(l.Cursor()); err != nil {
		t.Fatal(err)
	}
	for e := one.Cursor().Epoch; one.Cursor().Epoch == e; {
		b := next(t, one, 1)[0]
		for i := range b.Inputs {
			if b.Inputs[i] != b.Inputs[0]+int32(i) || b.Targets[i] != b.Inputs[i]+1 {
				t.Fatalf("inputs %v, targets %v", b.Inputs, b.Targets)
			}
		}
		starts = append(starts, int(b.Inputs[0]))
	}
	if err := l.Seek(one.Cursor()); err != nil {
		t.Fatal(err)
	}
	return starts
}

// TestBatchesRunOn wants batches of any size to be the rows of batches of one.
func TestBatchesRunOn(t *testing.T) {
	src := count(100)
	var rows []int32
	for _, b := range next(t, newLoader(t, src, 1, 7, 2), 200) {
		rows = append(rows, b.Inputs...)
	}
	for _, B := range []int{2, 3, 14, 50} {
		var have []int32
		for _, b := range next(t, newLoader(t, src, B, 7, 2), 200/B) {
			have = append(have, b.Inputs...)
		}
		if !slices.Equal(have, rows[:len(have)]) {
			t.Errorf("batches of %d differ from rows one by one", B)
		}
	}
}

func TestLoaderRefuses(t *testing.T) {
	_, err := NewLoader(count(37), 4, 128, 0)
	if err == nil || err.Error() != "the training text is too short (tokens: 37): one block needs context+1 = 129; use a longer text or a smaller model.context" {
		t.Errorf("short text: %v", err)
	}
	for _, shape := range [][2]int{{0, 1}, {1, 0}, {-1, -1}, {math.MaxInt / 2, 2}, {1, math.MaxInt}, {2, math.MaxInt}} {
		if _, err := NewLoader(count(37), shape[0], shape[1], 0); err == nil {
			t.Errorf("a batch of shape %v was accepted", shape)
		}
	}
	if _, err := NewLoader(count(129), 4, 128, 0); err != nil {
		t.Error(err)
	}
}

func TestResumeAtEveryPlace(t *testing.T) {
	src := count(100)
	const steps = 40
	for _, B := range []int{1, 4, 9, 40} { // 14 windows: batches inside an epoch, across its end, and across several
		all := newLoader(t, src, B, 7, 11)
		var cursors []Cursor
		var batches []Batch
		for range steps {
			cursors = append(cursors, all.Cursor())
			batches = append(batches, next(t, all, 1)...)
		}
		for i, c := range cursors {
			l := newLoader(t, src, B, 7, 11)
			if err := l.Seek(c); err != nil {
				t.Fatal(err)
			}
			for j, b := range next(t, l, steps-i) {
				if !equal(b, batches[i+j]) {
					t.Fatalf("B %d: resumed at %+v, batch %d differs", B, c, i+j)
				}
			}
			if l.Cursor() != all.Cursor() {
				t.Errorf("B %d: resumed at %+v, the end is %+v, want %+v", B, c, l.Cursor(), all.Cursor())
			}
		}
	}
}

func TestSeekRefuses(t *testing.T) {
	l := newLoader(t, count(100), 2, 7, 1)
	next(t, l, 3)
	for _, c := range []Cursor{{Epoch: -1}, {Window: -1}, {Window: 14}, {Epoch: 3, Window: 1 << 40}} {
		if err := l.Seek(c); err == nil || !strings.Contains(err.Error(), "an epoch has windows 0…1") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if l.Cursor() != (Cursor{Epoch: 0, Window: 6}) {
		t.Errorf("a refused seek moved the loader to %+v", l.Cursor())
	}
	for range 4 {
		next(t, l, 1)
	}
	if l.Cursor() != (Cursor{Epoch: 1, Window: 0}) {
		t.Errorf("after a whole epoch the cursor is %+v", l.Cursor())
	}
}

// broken fails each read whose number is in its list.
type broken struct {
	IDs
	reads int
	fail  map[int]bool
}

func (b *broken) Read(dst []int32, off int64) error {
	b.reads++
	if b.fail[b.reads] {
		return errors.New("broken disk")
	}
	return b.IDs.Read(dst, off)
}

func TestErrorsCostNoBatch(t *testing.T) {
	want := next(t, newLoader(t, count(100), 5, 7, 1), 6)
	for _, prefetch := range []bool{false, true} {
		// Read 13 is in the middle of batch 2, read 18 its last one when it is tried again, after the epoch's end.
		l := newLoader(t, &broken{IDs: count(100), fail: map[int]bool{13: true, 18: true}}, 5, 7, 1)
		var source interface{ Next(*Batch) error } = l
		if prefetch {
			p := Prefetch(l, 3)
			defer p.Close()
			source = p
		}
		var got []Batch
		failures := 0
		for len(got) < len(want) {
			var b Batch
			if err := source.Next(&b); err == nil {
				got = append(got, b)
			} else if failures++; failures > 2 || !strings.Contains(err.Error(), "broken disk") || len(got) != 2 {
				t.Fatalf("after %d batches: %v", len(got), err)
			}
		}
		if failures != 2 || !slices.EqualFunc(got, want, equal) {
			t.Errorf("prefetch %v: %d failures, other batches", prefetch, failures)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	l := newLoader(t, count(1000), 4, 7, 1)
	e, err := Eval(count(1000), 4, 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	next(t, l, 1)
	if n := testing.AllocsPerRun(200, func() {
		if l.Next(&b) != nil {
			panic("next")
		}
	}); n != 0 {
		t.Errorf("Loader.Next allocates %v times", n)
	}
	if n := testing.AllocsPerRun(30, func() {
		if e.Next(&b) != nil {
			panic("next")
		}
	}); n != 0 {
		t.Errorf("Evaluation.Next allocates %v times", n)
	}
	small := Batch{Inputs: make([]int32, 3), Targets: make([]int32, 100), Docs: make([]int32, 100)}
	if err := l.Next(&small); err != nil || len(small.Inputs) != 28 || len(small.Targets) != 28 || small.Docs != nil {
		t.Errorf("a reused batch has %d inputs, %d targets, %v", len(small.Inputs), len(small.Targets), err)
	}
	p := Prefetch(l, 2)
	defer p.Close()
	next(t, p, 10)
	if n := testing.AllocsPerRun(200, func() {
		if p.Next(&b) != nil {
			panic("next")
		}
	}); n != 0 {
		t.Errorf("Prefetcher.Next allocates %v times", n)
	}
}

func BenchmarkNext(b *testing.B) {
	l := newLoader(b, count(1<<20), 16, 128, 1)
	var dst Batch
	b.SetBytes(16 * 128 * 4)
	for range b.N {
		if err := l.Next(&dst); err != nil {
			b.Fatal(err)
		}
	}
}
