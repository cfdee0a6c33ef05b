package train

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/kernels/cpu"
	"prenorm/train/metrics"
)

// TestValidationWarning wants a run, and its rehearsal, to say that validations read more than training does, unless somebody chose how much
// they read, or it is little.
func TestValidationWarning(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	const said = "warning: validation reads more than training: 3 validations of all 59 windows, 2.83k tokens, beside 1.87k in 13 steps (--set train.eval.windows=3 makes one about a tenth of the training between two)"
	for name, c := range map[string]struct {
		change func(*Job)
		warned bool
	}{
		"all windows":  {func(*Job) {}, true},
		"chosen":       {func(j *Job) { j.ValidationChosen = true }, false},
		"some windows": {func(j *Job) { j.Train.Eval.Windows = 40 }, false},
		"at the end":   {func(j *Job) { j.Train.Eval.Every = 0 }, false},
	} {
		runs := []func(j Job) error{func(j Job) error { _, err := Rehearse(context.Background(), be, j); return err }}
		if c.warned {
			runs = append(runs, func(j Job) error { _, err := Run(context.Background(), be, j); return err })
		}
		for _, run := range runs {
			j := tinyJob(t)
			var out bytes.Buffer
			j.Out, j.Train.Eval.Windows = &out, 0
			c.change(&j)
			if err := run(j); err != nil {
				t.Fatal(name, err)
			}
			if got := strings.Contains(out.String(), "validation reads more"); got != c.warned || got && !strings.Contains(out.String(), said) {
				t.Errorf("%s: warned %v, want %v of %q:\n%s", name, got, c.warned, said, &out)
			}
		}
	}
}

// TestValidationIsShown wants a line for every batch but the last of a validation whose batches take eleven seconds each, over all sources, and none after it.
func TestValidationIsShown(t *testing.T) {
	c, w := smallWeights(t)
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &loop{data: &dataset.Dataset{Sources: make([]dataset.Source, 2)}}
	l.Data.Sources = make([]data.Source, 2)
	l.Train.Batch, l.state.Step = 1, 7
	l.progress = metrics.NewProgress(&out, 9, metrics.Options{Now: func() time.Time { now = now.Add(11 * time.Second); return now }})
	for range 2 {
		reader, err := openReader(batch.Rule{}, batch.Text{Tokens: make(batch.IDs, 2*c.Context+1)}, 1, c.Context, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.validation = append(l.validation, reader)
	}
	evaluator, err := NewEvaluator(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer evaluator.Free()
	l.evaluator = evaluator
	if _, err := l.evaluateSources(context.Background()); err != nil || l.evaluator.after != nil {
		t.Fatal(err, l.evaluator.after != nil)
	}
	l.progress.Close()
	if want := "step 7/9  validation 25%  33s left\nstep 7/9  validation 50%  22s left\nstep 7/9  validation 75%  11s left\n"; out.String() != want {
		t.Errorf("shown\n%s, want\n%s", &out, want)
	}
}

// TestNoWarningWithoutRemedy wants nothing to be said of two short texts whose validations are a batch each, the least there is.
func TestNoWarningWithoutRemedy(t *testing.T) {
	for windows, warned := range map[int]bool{4: false, 5: true} {
		l := &loop{}
		l.Model.Context, l.Train.Batch, l.Train.Steps = 8, 4, 1
		for range 2 {
			reader, err := openReader(batch.Rule{}, batch.Text{Tokens: make(batch.IDs, 8*windows+1)}, 4, 8, 0)
			if err != nil {
				t.Fatal(err)
			}
			l.validation = append(l.validation, reader)
		}
		if got := l.warnValidation(); (got != "") != warned || warned && !strings.Contains(got, "train.eval.windows=4 makes one a single batch of each text)") {
			t.Errorf("%d windows each: warned with %q, want %v", windows, got, warned)
		}
	}
}

// TestPromptRemedy wants a prompt that the text lacks the characters of to be the first thing to change.
func TestPromptRemedy(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	j := tinyJob(t)
	j.Data.Tokenizer.Kind, j.Train.Sample.Prompt = "char", "The"
	_, err := Run(context.Background(), be, j)
	if err == nil || !strings.Contains(err.Error(), "characters of the vocabulary: use a prompt of characters of the text, or none (--set train.sample.prompt=); or train the tokenizer on") {
		t.Errorf("error %v", err)
	}
	j.Train.Sample.Prompt = ""
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Errorf("without a prompt: %v", err)
	}
}
