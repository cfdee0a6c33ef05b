package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels/cpu"
	"prenorm/train/metrics"
)

// asked calls a function at each question whether to go on.
type asked struct {
	context.Context
	do func(question int)
	n  int
}

func (a *asked) Err() error {
	a.n++
	a.do(a.n)
	return nil
}

// TestSavesBeforeEvaluating wants the checkpoint of a step to be there when that step's evaluation begins: what an evaluation may cost is
// not the work before it.
func TestSavesBeforeEvaluating(t *testing.T) {
	j := tinyJob(t)
	j.Checkpoint.Every, j.Train.Eval.Every, j.Train.Sample.Every = 5, 5, 0
	be := cpu.New(1)
	defer be.Close()
	questions := 5 * (1 + j.Train.Accumulate) // of five steps: one for the step, one for each micro-batch; the evaluation asks next
	looked := false
	ctx := &asked{Context: context.Background(), do: func(n int) {
		_, err := os.Stat(filepath.Join(j.Dir, CheckpointFolder, "step-00000005"))
		switch n {
		case questions:
			if err == nil {
				t.Error("the checkpoint is there before the step is done: the test looks at the wrong place")
			}
		case questions + 1:
			looked = true
			if err != nil {
				t.Errorf("when the evaluation begins: %v", err)
			}
		}
	}}
	if _, err := Run(ctx, be, j); err != nil || !looked {
		t.Fatal(err, looked)
	}
}

// TestRefusedBeforeTraining wants what would fail hours later to fail at the start, with the key that is wrong.
func TestRefusedBeforeTraining(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	for want, change := range map[string]func(*Job){
		"train.sample.prompt": func(j *Job) { j.Data.Tokenizer.Kind, j.Train.Sample.Prompt = "char", "λ" },
		"model.vocab is 255":  func(j *Job) { j.Model.Vocab = 255 },
		"context+1 = 20001":   func(j *Job) { j.Model.Context = 20000 },
		"init_from":           func(j *Job) { j.InitFrom = filepath.Join(j.Dir, "nothing") },
	} {
		j := tinyJob(t)
		change(&j)
		ctx := &asked{Context: context.Background(), do: func(int) { t.Errorf("%s: training began", want) }}
		if _, err := Run(ctx, be, j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestSamplesDiffer wants the samples of different steps to be drawn with different random numbers, also from a model that stands still.
func TestSamplesDiffer(t *testing.T) {
	j := tinyJob(t)
	j.Train.Optimizer.LR = 1e-30
	j.Train.Sample.TopK, j.Train.Sample.Tokens, j.Train.Log.Every = 0, 12, 4
	be := cpu.New(1)
	defer be.Close()
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	var steps []int64
	for _, r := range records {
		switch r := r.(type) {
		case metrics.Sample:
			texts[r.Text] = true
		case metrics.Train:
			steps = append(steps, r.Step)
		}
	}
	if len(texts) != 3 {
		t.Errorf("three samples are %v", texts)
	}
	if len(steps) != 4 || steps[0] != 4 || steps[3] != 13 {
		t.Errorf("log.every 4 of 13 steps measured steps %v", steps)
	}
}

// TestInterruptedEvaluation wants an interrupted evaluation to end the run as interrupted, not as finished or failed.
func TestInterruptedEvaluation(t *testing.T) {
	j := tinyJob(t)
	be := cpu.New(1)
	defer be.Close()
	o, err := Run(&stopAfter{context.Background(), 5 * (1 + j.Train.Accumulate)}, be, j)
	if err != nil || o.Stopped != "interrupted" || o.Step != 5 || o.Checkpoint == "" || errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", o, err)
	}
}
