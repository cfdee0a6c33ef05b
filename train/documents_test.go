package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// checkDocuments runs the tests of documents on a backend.
func checkDocuments(t *testing.T, be kernels.Backend) {
	for _, position := range []string{"rope", "learned"} {
		c := small()
		c.Context, c.Position.Kind, c.Init.Std = 12, position, 0.3
		t.Run(position+"/neighbours", func(t *testing.T) { checkNeighbours(t, be, c) })
		t.Run(position+"/alone", func(t *testing.T) { checkAlone(t, be, c) })
	}
}

func TestDocuments(t *testing.T) {
	t.Run("ref", func(t *testing.T) { checkDocuments(t, ref.New()) })
	be := cpu.New(2)
	defer be.Close()
	t.Run("cpu", func(t *testing.T) { checkDocuments(t, be) })
}

// packedRow is a row of 12 places: a document of 5 tokens, of which only the targets count, behind one of before tokens that depend on
// filling and before what is left.
func packedRow(before, filling int) *batch.Batch {
	b := &batch.Batch{B: 1, T: 12}
	for i := range 12 {
		input, target, doc := int32((i*filling+3)%23), int32(-1), int32(7)
		switch k := i - before; {
		case k < 0:
			doc = 3
		case k < 5:
			input, target, doc = int32(2*k+1), int32(2*k+3), 9
		}
		b.Inputs, b.Targets, b.Docs = append(b.Inputs, input), append(b.Targets, target), append(b.Docs, doc)
	}
	return b
}

// checkNeighbours wants a document's loss and gradients to be the same bits whatever tokens its neighbours are, and, for the same document at
// another place of the row, the same but for rounding. Without document ids the neighbours do show.
func checkNeighbours(t *testing.T, be kernels.Backend, c model.Config) {
	run := func(documents bool, b *batch.Batch) (float64, []float32) {
		o := options(1, 1)
		o.Context, o.Documents, o.Inspect = 12, documents, true
		w, err := model.NewWeights(be, c)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Free()
		if err := w.Initialise(3); err != nil {
			t.Fatal(err)
		}
		s, err := NewStepper(w, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Free()
		first := step(t, s, 1, b)
		grads := make([]float32, s.Grads().All().Len())
		if err := be.Download(grads, s.Grads().All()); err != nil {
			t.Fatal(err)
		}
		if seen, _, err := s.Inspect(context.Background(), 2, 0, []*batch.Batch{b}); err != nil || documents && math.IsNaN(seen.Loss) {
			t.Fatal(seen, err)
		}
		return first.Loss, grads
	}
	loss, grads := run(true, packedRow(4, 5))
	again, others := run(true, packedRow(4, 8))
	if loss != again || !slices.Equal(grads, others) {
		t.Errorf("other neighbours: loss %v, was %v; gradients equal %v", again, loss, slices.Equal(grads, others))
	}
	moved, shifted := run(true, packedRow(2, 5))
	if !near(moved, loss, 1e-6) || !nearAll(shifted, grads, 1e-5) {
		t.Errorf("at another place: loss %v, was %v", moved, loss)
	}
	alone, own := run(true, packedRow(0, 5))
	if !near(alone, loss, 1e-6) || !nearAll(own, grads, 1e-5) {
		t.Errorf("alone: loss %v, behind another %v", alone, loss)
	}
	open, _ := run(false, packedRow(4, 5))
	if near(open, loss, 1e-4) {
		t.Errorf("loss %v without document ids, %v with them: they have no effect", open, loss)
	}
}

func near(x, want, tolerance float64) bool { return math.Abs(x-want) <= tolerance*math.Abs(want) }

// nearAll compares with a tolerance that is a share of the largest element.
func nearAll(x, want []float32, tolerance float32) bool {
	largest := max(slices.Max(want), -slices.Min(want))
	for i := range x {
		if d := x[i] - want[i]; !(max(d, -d) <= tolerance*largest) {
			return false
		}
	}
	return true
}

// checkAlone wants the loss over documents that are packed, or cut by windows of the stream where they fit, to be that of each evaluated
// alone. The sums are in float64 over float32 losses of a batch, so they agree to a few parts in 10^7.
func checkAlone(t *testing.T, be kernels.Backend, c model.Config) {
	w, err := model.NewWeights(be, c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Free()
	if err := w.Initialise(3); err != nil {
		t.Fatal(err)
	}
	// Documents that end where windows of 12 do, so that windows cut none.
	lengths := []int{5, 7, 12, 1, 3, 8, 2, 2, 8, 12, 6, 6}
	var ids batch.IDs
	var starts batch.Places
	for d, n := range lengths {
		starts = append(starts, int64(len(ids)))
		ids = append(ids, 22) // the separator
		for i := 1; i < n; i++ {
			ids = append(ids, int32((d*d+3*i*i+i)%22))
		}
	}
	ids = append(ids, 22)
	starts = append(starts, int64(len(ids)-1))
	text := batch.Text{Tokens: ids, Starts: starts, Separated: true}
	want, targets := 0.0, int64(0)
	single, err := NewEvaluator(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer single.Free()
	for d, n := range lengths {
		e, err := single.Run(context.Background(), ids[starts[d]:starts[d]+int64(n)+1], 0)
		if err != nil {
			t.Fatal(err)
		}
		want, targets = want+e.Loss*float64(e.Targets), targets+e.Targets
	}
	want /= float64(targets)
	for _, rule := range []batch.Rule{{Closed: true}, {Whole: true, Closed: true}, {}} {
		e, err := NewEvaluatorBy(w, 2, rule)
		if err != nil {
			t.Fatal(err)
		}
		have, err := e.RunText(context.Background(), text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if same := near(have.Loss, want, 1e-6); same != rule.Closed || have.Targets != targets {
			t.Errorf("%+v: loss %v of %d targets, alone %v of %d", rule, have.Loss, have.Targets, want, targets)
		}
		if err := e.Free(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDocumentIDsAreWanted refuses a batch without document ids.
func TestDocumentIDsAreWanted(t *testing.T) {
	o := options(1, 1)
	o.Documents = true
	s := stepper(t, ref.New(), small(), o)
	b := testBatches(1, func(int) bool { return false })
	if _, err := s.Step(context.Background(), 1, 0, []*batch.Batch{b}); err == nil || err.Error() != "train: micro-batch 0 has 0 document ids, the step was made for 5" {
		t.Error(err)
	}
}
