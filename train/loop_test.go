package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/model"
	"prenorm/train/metrics"
)

// tinyJob trains a model of a few thousand parameters on text of its own, with every source of randomness in use.
func tinyJob(t *testing.T) Job {
	t.Helper()
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "line %d of %d says %d.\n", i, i*i%37, i*i*i%101)
	}
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j := Job{Name: "tiny", Seed: 5, Data: data.Default(), Model: model.Default(), Train: Default(), Checkpoint: Checkpoint{Every: 4, Keep: 2, KeepBest: 1, Background: BackgroundAlways},
		Dir: filepath.Join(t.TempDir(), "run"), Out: &bytes.Buffer{}, Config: []byte("name: tiny\n")}
	j.Data.Train = []string{path}
	j.Data.Tokenizer.Kind = "byte"
	j.Model.Layers, j.Model.Width, j.Model.Heads, j.Model.Context, j.Model.Dropout = 2, 16, 2, 16, 0.1
	j.Train.Steps, j.Train.Batch, j.Train.Accumulate = 13, 3, 3
	j.Train.Schedule.Warmup = 3
	j.Train.Eval = Eval{Every: 5, Windows: 8}
	j.Train.Sample = Sample{Every: 6, Prompt: "line", Tokens: 8, Temperature: 0.8, TopK: 5}
	j.Train.Inspect.Every = 4
	j.Train.Log.Every = 1
	return j
}

// stopAfter is a context that ends on its n-th question, which is asked between micro-batches too.
type stopAfter struct {
	context.Context
	left int
}

func (s *stopAfter) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

// result is everything that a finished run leaves, without the readings of the clock.
func result(t *testing.T, dir string) map[string]string {
	t.Helper()
	clock := regexp.MustCompile(`"(tokens_per_s|seconds)":[^,}]*`)
	out := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(dir, "checkpoints", "*", "*"))
	files = append(files, filepath.Join(dir, MetricsFile))
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, f)
		out[name] = clock.ReplaceAllString(string(content), "")
	}
	return out
}

// TestResumedEqualsUninterrupted stops runs at every place where a stop can be noticed, between steps and inside accumulation windows, goes on
// from there with other numbers of workers, and compares every byte that is left at the end.
func TestResumedEqualsUninterrupted(t *testing.T) {
	testResumed(t, tinyJob(t), 1, 2, 3, 7, 14, 23, 30, 45)
}

// TestResumedStatistics is the same for a model with running statistics.
func TestResumedStatistics(t *testing.T) {
	j := tinyJob(t)
	j.Model.Norm.Kind = "batchnorm"
	testResumed(t, j, 2, 5, 9)
}

func testResumed(t *testing.T, whole Job, first ...int) {
	t.Helper()
	testResumedOn(t, func(workers int) kernels.Backend { return cpu.New(workers) }, whole, first...)
}

func testResumedOn(t *testing.T, open func(workers int) kernels.Backend, whole Job, first ...int) {
	t.Helper()
	be := open(2)
	defer be.Close()
	if _, err := Run(context.Background(), be, whole); err != nil {
		t.Fatalf("%v\n%s", err, whole.Out)
	}
	want := result(t, whole.Dir)
	if len(want) < 10 {
		t.Fatalf("only %d files are left: %v", len(want), want)
	}
	others := []kernels.Backend{open(1), open(3)}
	defer others[0].Close()
	defer others[1].Close()
	stops := 0
	for _, questions := range first {
		j := whole
		j.Dir = filepath.Join(t.TempDir(), "run")
		for i := range 200 { // stopped again and again, and continued with another number of workers
			o, err := Run(&stopAfter{context.Background(), questions}, others[i%2], j)
			if err != nil {
				t.Fatal(err)
			}
			if o.Stopped == "" {
				break
			}
			stops++
			questions += 7
		}
		have := result(t, j.Dir)
		for name, content := range want {
			// The checkpoint before the last is of a step at which a run was stopped.
			if !strings.Contains(name, "step-00000012") && have[name] != content {
				t.Errorf("first stop after %d questions: %s differs: %s", questions, name, firstDifference(have[name], content))
			}
		}
	}
	if stops < 5*len(first)/2 { // or the test shows nothing
		t.Errorf("only %d stops", stops)
	}
}

func firstDifference(have, want string) string {
	h, w := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range max(len(h), len(w)) {
		if i >= len(h) || i >= len(w) || h[i] != w[i] {
			return fmt.Sprintf("line %d: %.300q, uninterrupted %.300q", i+1, strings.Join(h[min(i, len(h)):min(i+1, len(h))], ""), strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return ""
}

// recordsOf runs a job and returns its measurements.
func recordsOf(t *testing.T, j Job) []metrics.Record {
	t.Helper()
	be := cpu.New(1)
	defer be.Close()
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestRecords holds the measurements of a run against what its configuration says of them: warm-up and course of the learning rate, tokens,
// and which steps are measured, evaluated and sampled.
func TestRecords(t *testing.T) {
	j := tinyJob(t)
	j.Train.Schedule = Schedule{Kind: "linear", Warmup: 3, Min: 0.5}
	j.Train.Clip = 0.5
	records := recordsOf(t, j)
	lr := []float64{1. / 3, 2. / 3, 1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5}
	var trained int
	var evaluated, sampled []int64
	for _, r := range records {
		switch r := r.(type) {
		case metrics.Train:
			if want := lr[r.Step-1] * j.Train.Optimizer.LR; math.Abs(float64(r.LR)-want) > 1e-12 {
				t.Errorf("step %d: learning rate %v, want %v", r.Step, r.LR, want)
			}
			if want := r.Step * int64(j.Train.Accumulate*j.Train.Batch*j.Model.Context); r.Tokens != want {
				t.Errorf("step %d: %d tokens, want %d", r.Step, r.Tokens, want)
			}
			if want := math.Min(1, j.Train.Clip/(float64(r.GradNorm)+1e-6)); math.Abs(float64(r.Clip)-want) > 1e-6 || r.Clip == 1 {
				t.Errorf("step %d: clip factor %v of norm %v, want %v", r.Step, r.Clip, r.GradNorm, want)
			}
			trained++
		case metrics.Eval:
			evaluated = append(evaluated, r.Step)
			if p := float64(r.Perplexity); math.Abs(p-math.Exp(float64(r.Loss))) > 1e-9*p || math.Abs(float64(r.BitsPerByte)-float64(r.Loss)/math.Ln2) > 1e-9 {
				t.Errorf("step %d: %+v does not fit itself for a tokenizer of bytes", r.Step, r)
			}
		case metrics.Sample:
			sampled = append(sampled, r.Step)
			if !strings.HasPrefix(r.Text, "line") {
				t.Errorf("step %d: sample %q does not begin with the prompt", r.Step, r.Text)
			}
		}
	}
	if trained != 13 || fmt.Sprint(evaluated, sampled) != "[5 10 13] [6 12 13]" {
		t.Errorf("%d steps measured, evaluated %v, sampled %v", trained, evaluated, sampled)
	}
}
