package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// countedStarts are starts that count how often they are read for packing, which asks for many at a time.
type countedStarts struct {
	batch.Places
	packed *int
}

func (c countedStarts) Read(dst []int64, off int64) error {
	if len(dst) > 1 {
		*c.packed++
	}
	return c.Places.Read(dst, off)
}

// smallWeights is a small model with weights of its own.
func smallWeights(t *testing.T) (model.Config, *model.Weights) {
	t.Helper()
	c := small()
	w, err := model.NewWeights(ref.New(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Free() })
	if err := w.Initialise(3); err != nil {
		t.Fatal(err)
	}
	return c, w
}

// TestTextIsPackedOnce wants a text to be packed once, however often it is looked at or evaluated. Its documents are one group of the packing,
// which is worked out again only where a reader is made anew.
func TestTextIsPackedOnce(t *testing.T) {
	c, w := smallWeights(t)
	rule := batch.Rule{Whole: true, Closed: true}
	packed := 0
	text := batch.Text{Tokens: make(batch.IDs, 60), Starts: countedStarts{batch.Places{0, 1, 2, 7, 20, 23, 24, 40, 41}, &packed}}
	loader, err := openLoader(rule, text, 2, c.Context, 1)
	if err != nil {
		t.Fatal(err)
	}
	if packed != 1 || loader.Cursor() != (batch.Cursor{}) {
		t.Errorf("the training text is packed %d times, and stands at %+v", packed, loader.Cursor())
	}
	packed = 0
	l := &loop{data: &dataset.Dataset{Sources: make([]dataset.Source, 1)}}
	reader, err := openReader(rule, text, 2, c.Context, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.validation = append(l.validation, reader)
	if l.evaluator, err = NewEvaluatorBy(w, 2, rule); err != nil {
		t.Fatal(err)
	}
	defer l.evaluator.Free()
	want, err := l.evaluator.RunText(context.Background(), batch.Text{Tokens: text.Tokens, Starts: text.Starts.(countedStarts).Places}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if all, err := l.evaluateSources(context.Background()); err != nil || all[0].Evaluation != want {
			t.Errorf("%+v, %v, want %+v", all, err, want)
		}
	}
	if packed != 1 {
		t.Errorf("the validation text is packed %d times", packed)
	}
}

// TestValidationKey wants a validation text in which nothing can be predicted to be told of by the key that made it.
func TestValidationKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.jsonl")
	text := strings.Repeat("{\"text\": \"a document of some length\"}\n", 200) + strings.Repeat("{\"text\": \"a\"}\n", 900)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(t.TempDir(), "small.jsonl")
	if err := os.WriteFile(small, []byte(text[len(text)-2800:]), 0o666); err != nil {
		t.Fatal(err)
	}
	for key, windows := range map[string]int{"data.val.fraction": 0, "data.val.files": 3} {
		j := tinyJob(t)
		j.Data.Train, j.Data.Cross, j.Data.Val.By, j.Data.Val.Fraction, j.Train.Eval.Windows = []string{path}, false, "end", 0.1, windows
		if key == "data.val.files" {
			j.Data.Val.Files = []string{small}
		}
		_, err := finish(t, j)
		var r *Refused
		if !errors.As(err, &r) || len(r.Problems) != 1 || r.Problems[0].Key != key || !strings.Contains(r.Problems[0].What, "no token can be predicted") ||
			strings.Contains(r.Problems[0].What, "train.eval.windows: 3") != (windows > 0) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
