package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// feeds are loaders of every rule and a mixture of them all.
func feeds(t *testing.T) map[string]func() Feed {
	t.Helper()
	list := map[string]func() Feed{}
	loader := func(rule Rule, n int) *Loader {
		text := bordered(rand.New(rand.NewPCG(7, uint64(n))), n, 30, n%2 == 0)
		l, err := rule.Loader(text, 3, 9, 5)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, rule := range rules {
		list[fmt.Sprintf("%+v", rule)] = func() Feed { return loader(rule, 200) }
		list[fmt.Sprintf("mixture of %+v", rule)] = func() Feed {
			m, err := NewMixture([]*Loader{loader(rule, 200), loader(rule, 111), loader(rule, 300)},
				[]Stage{{1, []float64{1, 0, 3}}, {9, []float64{0, 2, 1}}}, 6, 5)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	return list
}

// TestCursorIsExact goes on from every place, with and without batches read ahead.
func TestCursorIsExact(t *testing.T) {
	const batches = 60
	for name, open := range feeds(t) {
		all := open()
		var want []Batch
		cursors := []Cursor{all.Cursor()}
		for range batches {
			want = append(want, next(t, all, 1)...)
			cursors = append(cursors, all.Cursor())
		}
		again := open()
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(batches) {
			if err := again.Seek(cursors[i]); err != nil {
				t.Fatal(err)
			}
			ahead := Prefetch(again, 3)
			for k, b := range next(t, ahead, min(4, batches-i)) {
				if !equal(b, want[i+k]) || !slices.Equal(b.Docs, want[i+k].Docs) {
					t.Fatalf("%s: batch %d differs after going on at batch %d", name, i+k, i)
				}
			}
			if err := ahead.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMixtureDraws wants each source as often as its weight says, none of weight 0, and every source's rows in its own order.
func TestMixtureDraws(t *testing.T) {
	const rows, steps = 8, 4000
	loaders := make([]*Loader, 3)
	for i := range loaders {
		ids := make(IDs, 50)
		for k := range ids {
			ids[k] = int32(1000*i + k)
		}
		loaders[i] = newLoader(t, ids, 4, 7, 2)
	}
	own := newLoader(t, loaders[1].text.Tokens, 1, 7, 2)
	m, err := NewMixture(loaders, []Stage{{1, []float64{1, 2, 1}}, {steps/2 + 1, []float64{0, 0.25, 0.75}}}, rows, 9)
	if err != nil {
		t.Fatal(err)
	}
	var drawn [2][3]int
	for i := range steps * rows / 4 {
		b := next(t, m, 1)[0]
		for k := range b.B {
			source := int(b.Inputs[k*b.T] / 1000)
			drawn[i/(steps*rows/8)][source]++
			if source == 1 && !slices.Equal(row(b.Inputs, k, b.T), next(t, own, 1)[0].Inputs) {
				t.Fatalf("batch %d: source 1 is not in its own order", i)
			}
		}
	}
	for half, want := range [][3]float64{{0.25, 0.5, 0.25}, {0, 0.25, 0.75}} {
		for s, w := range want {
			// Five standard deviations of a share of 16000 draws are below 0.02.
			if share := float64(drawn[half][s]) / (steps * rows / 2); share < w-0.02 || share > w+0.02 || w == 0 && share > 0 {
				t.Errorf("half %d: source %d has share %.3f, want %v", half, s, share, w)
			}
		}
	}
}

// TestMixtureStands wants a mixture to stand where it stood after a read that failed, and after a place that is not its own.
func TestMixtureStands(t *testing.T) {
	failing := &broken{IDs: count(300), fail: map[int]bool{7: true}}
	open := func(second Tokens) *Mixture {
		m, err := NewMixture([]*Loader{newLoader(t, count(200), 3, 9, 5), newLoader(t, second, 3, 9, 5)}, []Stage{{1, []float64{1, 1}}}, 6, 5)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, whole := open(failing), open(count(300))
	errs := 0
	for i := range 20 {
		want := next(t, whole, 1)[0]
		var b Batch
		err := m.Next(&b)
		if err != nil {
			errs++
			err = m.Next(&b)
		}
		if err != nil || !equal(b, want) {
			t.Fatalf("batch %d: %v, equal %v", i, err, equal(b, want))
		}
	}
	if errs != 1 {
		t.Errorf("%d reads failed, want 1", errs)
	}
	here := m.Cursor()
	for _, wrong := range []Cursor{{}, {Mixture: &MixtureCursor{Step: 1, Sources: make([]Cursor, 3)}}, {Mixture: &MixtureCursor{Sources: make([]Cursor, 2)}},
		{Mixture: &MixtureCursor{Step: 1, Row: 6, Sources: make([]Cursor, 2)}}, {Mixture: &MixtureCursor{Step: 1, Sources: []Cursor{{}, {Window: 1 << 40}}}}} {
		if err := m.Seek(wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	if now := m.Cursor(); !slices.Equal(now.Mixture.Sources, here.Mixture.Sources) || now.Mixture.Step != here.Mixture.Step {
		t.Errorf("moved to %+v", now.Mixture)
	}
	if err := newLoader(t, count(200), 3, 9, 5).Seek(here); err == nil {
		t.Error("a loader goes on at a place in a mixture")
	}
}

// TestStagesBeginAtTheirStep gives all weight to one source a stage.
func TestStagesBeginAtTheirStep(t *testing.T) {
	loaders := []*Loader{newLoader(t, IDs(slices.Repeat([]int32{0}, 50)), 2, 7, 2), newLoader(t, IDs(slices.Repeat([]int32{1}, 50)), 2, 7, 2)}
	m, err := NewMixture(loaders, []Stage{{1, []float64{1, 0}}, {3, []float64{0, 1}}, {4, []float64{1, 0}}}, 4, 9)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range next(t, m, 10) {
		want := int32(0)
		if step := i/2 + 1; step == 3 {
			want = 1
		}
		if b.Inputs[0] != want || b.Inputs[7] != want {
			t.Errorf("batch %d comes from sources %d and %d, want %d", i, b.Inputs[0], b.Inputs[7], want)
		}
	}
}
