package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prenorm/data/batch"
	"prenorm/data/dataset"
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
	testSavesBefore(t, BackgroundNever, func(dir string) error {
		_, err := os.Stat(dir)
		return err
	})
}

// TestCopiesBeforeEvaluating wants the save in the background to have its copy by then: it ends well, with nothing of the evaluation done.
func TestCopiesBeforeEvaluating(t *testing.T) {
	testSavesBefore(t, BackgroundAlways, func(dir string) (err error) {
		for range 1000 {
			if _, err = os.Stat(dir); err == nil {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return err
	})
}

func testSavesBefore(t *testing.T, background string, saved func(dir string) error) {
	j := tinyJob(t)
	j.Checkpoint.Every, j.Checkpoint.Background, j.Train.Eval.Every, j.Train.Sample.Every = 5, background, 5, 0
	be := cpu.New(1)
	defer be.Close()
	questions := 5 * (1 + j.Train.Accumulate) // of five steps: one for the step, one for each micro-batch; the evaluation asks next
	looked := false
	ctx := &asked{Context: context.Background(), do: func(n int) {
		dir := filepath.Join(j.Dir, CheckpointFolder, "step-00000005")
		switch n {
		case questions:
			if _, err := os.Stat(dir); err == nil {
				t.Error("the checkpoint is there before the step is done: the test looks at the wrong place")
			}
		case questions + 1:
			looked = true
			if err := saved(dir); err != nil {
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
		"model.vocab: 255 is smaller than the tokenizer's 256 ids": func(j *Job) { j.Model.Vocab = 255 },
		"the validation text has":                                  func(j *Job) { j.Model.Context, j.Data.Val.Fraction = 256, 0.01 },
		"this machine has":                                         func(j *Job) { j.Train.Batch, j.Train.Accumulate, j.Model.Width = 1<<16, 1, 1<<12 },
		"context+1 = 20001":                                        func(j *Job) { j.Model.Context = 20000 },
		"init_from":                                                func(j *Job) { j.InitFrom = filepath.Join(j.Dir, "nothing") },
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
	records := recordsOf(t, j)
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

// windowsOf is how many windows the training text of a job has.
func windowsOf(t *testing.T, j Job) int {
	t.Helper()
	d, err := dataset.Open(j.Data, dataset.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := batch.NewLoader(d.Train, 1, j.Model.Context, j.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return int(l.Windows())
}

// firstLoss trains one step and returns its loss and what is left of the run's checkpoint.
func firstLoss(t *testing.T, change func(*Job)) metrics.Float {
	t.Helper()
	j := tinyJob(t)
	j.Train.Steps, j.Train.Schedule.Warmup = 1, 0
	change(&j)
	for _, r := range recordsOf(t, j) {
		if r, ok := r.(metrics.Train); ok {
			return r.Loss
		}
	}
	t.Fatal("no step is recorded")
	return 0
}

// TestSeedReachesEveryDraw wants initial weights, order of the data and dropout to follow the run's seed, each by itself.
func TestSeedReachesEveryDraw(t *testing.T) {
	base := tinyJob(t)
	base.Train.Steps = 4
	be := cpu.New(1)
	defer be.Close()
	if _, err := Run(context.Background(), be, base); err != nil {
		t.Fatal(err)
	}
	wholeEpoch := windowsOf(t, base)
	window := filepath.Join(t.TempDir(), "window.txt")
	if err := os.WriteFile(window, []byte("abcdefghijklmnopqrstuvwxyz0123456789ABCD"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]func(*Job){
		"initial weights":   func(j *Job) { j.Model.Dropout, j.Train.Batch, j.Train.Accumulate = 0, wholeEpoch, 1 },
		"order of the data": func(j *Job) { j.Model.Dropout, j.InitFrom = 0, base.Dir },
		"dropout": func(j *Job) { // of the one window that there is
			j.InitFrom, j.Data.Train, j.Data.Val.Fraction = base.Dir, []string{window}, 0.45
			j.Model.Dropout, j.Train.Batch, j.Train.Accumulate = 0.5, 1, 1
		},
	} {
		loss := func(seed int64) metrics.Float {
			return firstLoss(t, func(j *Job) { j.Data = base.Data; set(j); j.Seed = seed })
		}
		a, again, b := loss(5), loss(5), loss(6)
		if a != again {
			t.Errorf("%s: one seed gives losses %v and %v", name, a, again)
		}
		if diff := math.Abs(float64(a - b)); diff < 1e-5 {
			t.Errorf("%s: seeds 5 and 6 give the losses %v and %v", name, a, b)
		}
	}
	// A batch of the whole epoch leaves no order to differ by: the sum is the same but for rounding.
	same := func(j *Job) {
		j.Model.Dropout, j.InitFrom, j.Data, j.Train.Batch, j.Train.Accumulate = 0, base.Dir, base.Data, wholeEpoch, 1
	}
	a := firstLoss(t, func(j *Job) { same(j); j.Seed = 5 })
	b := firstLoss(t, func(j *Job) { same(j); j.Seed = 6 })
	if math.Abs(float64(a-b)) > 1e-5 {
		t.Errorf("batches of a whole epoch under two seeds have losses %v and %v: the test above shows nothing", a, b)
	}
}

// TestGreedySamples wants the settings of samples to be used: without temperature, or among one id, a model that stands still repeats itself.
func TestGreedySamples(t *testing.T) {
	for _, set := range []func(*Sample){func(s *Sample) { s.Temperature = 0 }, func(s *Sample) { s.TopK = 1 }} {
		j := tinyJob(t)
		j.Train.Optimizer.LR, j.Train.Optimizer.WeightDecay = 1e-30, 0
		set(&j.Train.Sample)
		records := recordsOf(t, j)
		texts := map[string]bool{}
		for _, r := range records {
			if s, ok := r.(metrics.Sample); ok {
				texts[s.Text] = true
			}
		}
		if len(texts) != 1 {
			t.Errorf("%+v: samples %v", j.Train.Sample, texts)
		}
	}
}

// TestLeftoversAreRemoved wants what a killed save left to be gone once the run goes on.
func TestLeftoversAreRemoved(t *testing.T) {
	j := tinyJob(t)
	left := filepath.Join(j.Dir, CheckpointFolder, ".tmp-step-00000004")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	be := cpu.New(1)
	defer be.Close()
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder of an unfinished save is still there: %v", err)
	}
}
