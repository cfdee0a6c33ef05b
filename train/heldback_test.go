package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// faulty is a backend that spoils the gradient of the embedding of some batches: of every one whose tokens sum up to a multiple of a number. It
// does so to the same batches each time.
type faulty struct {
	kernels.Backend
	multiple int
	value    float32
}

func (f faulty) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	run, err := f.Backend.Bind(c, a)
	if _, ok := c.(kernels.EmbedGrad); !ok || err != nil {
		return run, err
	}
	return func() error {
		if err := run(); err != nil {
			return err
		}
		ids, x := make([]int32, a.In[0].Len()), make([]float32, a.Out[0].Len())
		if err := errors.Join(f.Download(ids, a.In[0]), f.Download(x, a.Out[0])); err != nil {
			return err
		}
		sum := 0
		for _, id := range ids {
			sum += int(id)
		}
		if sum%f.multiple != 0 {
			return nil
		}
		x[len(x)/2] = f.value
		return f.Upload(a.Out[0], x)
	}, nil
}

func faults(multiple int, value float64) func(workers int) kernels.Backend {
	return func(workers int) kernels.Backend { return faulty{cpu.New(workers), multiple, float32(value)} }
}

// guarded is the tiny job with a guard.
func guarded(t *testing.T, policy string) Job {
	j := tinyJob(t)
	j.Train.Steps, j.Train.Eval.Every, j.Train.Sample.Every, j.Checkpoint.Keep = 26, 0, 0, 0
	j.Train.Guard = Guard{Policy: policy, Sigma: 6, Window: 6, Limit: 5, Factor: 0.5, Every: 3, Bundles: 3}
	return j
}

// runOn runs a job on a backend.
func runOn(open func(int) kernels.Backend, j Job) (Outcome, error) {
	be := open(1)
	defer be.Close()
	return Run(context.Background(), be, j)
}

// events are the records of steps held back.
func events(t *testing.T, j Job) (list []metrics.Guard, trained map[int64]metrics.Train) {
	t.Helper()
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	trained = map[int64]metrics.Train{}
	for _, r := range records {
		switch r := r.(type) {
		case metrics.Guard:
			list = append(list, r)
		case metrics.Train:
			trained[r.Step] = r
		}
	}
	return list, trained
}

// TestSkipped wants bad batches to be passed over, told of, counted, and to leave no trace.
func TestSkipped(t *testing.T) {
	for _, value := range []float64{math.NaN(), 1e5} {
		j := guarded(t, GuardSkip)
		open := faults(13, value)
		if _, err := runOn(open, j); err != nil {
			t.Fatal(err)
		}
		held, trained := events(t, j)
		if len(held) < 2 || len(held)+len(trained) != j.Train.Steps {
			t.Fatalf("%d steps held back, %d trained of %d", len(held), len(trained), j.Train.Steps)
		}
		tokens := int64(0)
		for _, e := range held {
			if _, ok := trained[e.Attempt]; ok || e.Step != e.Attempt || e.Action != GuardSkip || (e.First != "") != math.IsNaN(value) ||
				math.IsNaN(value) && (e.Cause != "the gradient norm is NaN" || !strings.HasPrefix(e.First, "embed_tokens.grad") || e.Pass != passBackward) ||
				!math.IsNaN(value) && !strings.HasPrefix(e.Cause, "the gradient norm is a spike") {
				t.Errorf("event %+v", e)
			}
			if !strings.Contains(fmt.Sprint(j.Out), fmt.Sprintf("step %d/%d  held back: %s", e.Step, j.Train.Steps, e.Cause)) {
				t.Errorf("the progress says nothing of step %d:\n%s", e.Step, j.Out)
			}
		}
		for _, r := range trained {
			tokens = max(tokens, r.Tokens)
		}
		if want := int64(len(trained) * j.Train.Accumulate * j.Train.Batch * j.Model.Context); tokens != want {
			t.Errorf("%d tokens are counted, wants %d", tokens, want)
		}
		c, _, err := OpenCheckpoint(j.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`"unapplied":%d`, len(held)); !bytes.Contains(c.State, []byte(want)) {
			t.Errorf("the state %s lacks %s", c.State, want)
		}
	}
}

// TestGuardResumes wants a run with steps held back that is stopped anywhere to end as one that was not stopped, byte for byte, under each
// policy, bundles included.
func TestGuardResumes(t *testing.T) {
	for _, policy := range []string{GuardSkip, GuardRewind} {
		t.Run(policy, func(t *testing.T) {
			j := guarded(t, policy)
			j.Checkpoint.Keep = 2
			j.Train.Steps = 13
			testResumedOn(t, faults(13, math.NaN()), j, 2, 9, 30)
			if held, _ := events(t, j); len(held) < 2 || policy == GuardRewind && held[1].To == 0 {
				t.Errorf("too little happens for the test to show anything: %+v", held)
			}
		})
	}
}

// TestRewound wants weights and moments to be those of the step that the record names, and the rate to be lower from there on.
func TestRewound(t *testing.T) { checkRewound(t, faults(13, math.NaN()), 26) }

// checkRewound runs that test on a backend, for so many steps.
func checkRewound(t *testing.T, open func(int) kernels.Backend, steps int) {
	j := guarded(t, GuardRewind)
	j.Checkpoint.Every, j.Train.Steps = 1, steps
	if _, err := runOn(open, j); err != nil {
		t.Fatal(err)
	}
	held, trained := events(t, j)
	if len(held) < 2 {
		t.Fatalf("%d steps held back", len(held))
	}
	for _, e := range held {
		if e.To >= e.Attempt || e.Attempt-e.To > int64(2*j.Train.Guard.Every+1) {
			t.Errorf("step %d went back to %d", e.Attempt, e.To)
		}
		if e.To > 0 {
			wantSameTensors(t, savedAt(t, j, e.To), savedAt(t, j, e.Attempt))
		}
		next, ok := trained[e.Attempt+1]
		before, ok2 := trained[e.Attempt-1]
		if ok && ok2 && !(float64(next.LR) < 0.8*float64(before.LR)) {
			t.Errorf("the rate went from %v to %v at step %d", before.LR, next.LR, e.Attempt)
		}
	}
}

// TestGuardLimit wants a run with too many steps held back to stop, with its state saved, and to say so.
func TestGuardLimit(t *testing.T) {
	j := guarded(t, GuardSkip)
	j.Train.Guard.Limit, j.Train.Guard.Bundles = 2, 1
	o, err := runOn(faults(1, math.NaN()), j)
	if err == nil || !strings.Contains(err.Error(), "step 3: the gradient norm is NaN") || !strings.Contains(err.Error(), "after 2 other steps held back within 6 (train.guard.limit)") ||
		!strings.Contains(err.Error(), "embed_tokens.grad") || o.Step != 2 || !strings.HasSuffix(o.Checkpoint, "step-00000002") {
		t.Errorf("%+v, %v", o, err)
	}
	held, _ := events(t, j)
	if len(held) != 3 || held[2].Action != GuardStop || held[2].Step != 3 || held[2].Attempt != 3 || held[0].Bundle == "" || held[2].Bundle != "" {
		t.Errorf("events %+v", held)
	}
	if text := fmt.Sprint(j.Out); !strings.Contains(text, "no bundle of step 2, nor of later ones: ") || strings.Count(text, "no bundle") != 1 {
		t.Errorf("the progress does not say once that there is room for one bundle:\n%s", j.Out)
	}
}

// TestBundleCannotBeWritten wants a bundle that cannot be written to be told of, and the run to go on.
func TestBundleCannotBeWritten(t *testing.T) {
	j := guarded(t, GuardSkip)
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.Dir, BundleFolder), nil, 0o666); err != nil { // a file where the folder must be
		t.Fatal(err)
	}
	if o, err := runOn(faults(13, math.NaN()), j); err != nil || o.Step != int64(j.Train.Steps) {
		t.Fatal(o, err)
	}
	if !strings.Contains(fmt.Sprint(j.Out), "nothing else is lost") {
		t.Errorf("the progress says nothing:\n%s", j.Out)
	}
}

// TestReplayed wants the bundle of a run to give the step again, to the bit, with what it was made of, and a tokenizer and text that fit.
func TestReplayed(t *testing.T) {
	for _, value := range []float64{math.NaN(), 1e5} {
		j := guarded(t, GuardSkip)
		open := faults(13, value)
		if _, err := runOn(open, j); err != nil {
			t.Fatal(err)
		}
		held, _ := events(t, j)
		for _, e := range held[:2] {
			b, err := ReadBundle(filepath.Join(j.Dir, filepath.FromSlash(e.Bundle)))
			if err != nil {
				t.Fatal(err)
			}
			be := open(2)
			j.Model.Vocab = 256
			r, err := Replay(context.Background(), be, b, j.Model, j.Train, j.Seed)
			if err != nil || r.Applied() || !r.SameBits(b) || !r.SameFinding(b) || !sameBits(r.GradNorm, float64(e.GradNorm)) || (r.First == nil) == math.IsNaN(value) {
				t.Errorf("step %d: %+v, %v, recorded %+v", e.Step, r.Result, err, b.Report)
			}
			be.Close()
			well, err := Replay(context.Background(), cpu.New(1), b, j.Model, j.Train, j.Seed)
			if err != nil || !well.Applied() || well.SameBits(b) {
				t.Errorf("step %d without its fault: %+v, %v", e.Step, well.Result, err)
			}
			tokenizer, err := token.Unmarshal(b.State.Files[TokenizerFile])
			if err != nil || tokenizer.Vocab() < 256 || !strings.Contains(b.Text, " of ") || len(b.Report.Tensors) == 0 || len(b.Report.Launches) == 0 {
				t.Errorf("tokenizer %v, %v; text %.200q", tokenizer, err, b.Text)
			}
		}
	}
}

// TestProven wants a state to be copied only once the gradient of a later step has shown it to be good.
func TestProven(t *testing.T) {
	w, s, step := heldRun(t)
	defer s.Free()
	step()
	c := Guard{Policy: GuardRewind, Sigma: 6, Window: 4, Every: 3}
	l := &loop{weights: w, stepper: s, saver: checkpoint.NewSaver(checkpoint.OS, t.TempDir())}
	l.Train.Guard, l.Model.Vocab = c, 256
	l.state.Guard = feed(c, 1, 3, 1, 3)
	var err error
	if l.good, err = newHeld(w, s); err != nil {
		t.Fatal(err)
	}
	defer l.good.Free()
	if err := l.keepGood(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		step int64
		r    Result
		good int64
	}{
		{3, Result{math.NaN(), 1, math.NaN()}, 0}, // step 4 is held back
		{4, Result{4.5, 1, 1}, 0},                 // no spike, and yet more than two deviations above the mean
		{5, Result{3.5, 1, 1}, 5},
		{7, Result{}, 5}, // none is due
		{8, Result{1, 1, 1}, 8},
		{11, Result{math.Inf(1), 1, math.NaN()}, 8},
	} {
		l.state.Step = test.step
		l.limit()
		if due := s.between != nil; due != (test.r != Result{}) {
			t.Errorf("step %d: a copy is due: %v", test.step+1, due)
		} else if due {
			if err := s.between(test.r); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.state.Guard.Good.Step; got != test.good {
			t.Errorf("step %d: the good state is of step %d, wants %d", test.step+1, got, test.good)
		}
	}
}
