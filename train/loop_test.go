package train

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/kernels/cpu"
	"prenorm/model"
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
	j := Job{Name: "tiny", Seed: 5, Data: data.Default(), Model: model.Default(), Train: Default(), Checkpoint: Checkpoint{Every: 4, Keep: 2},
		Dir: filepath.Join(t.TempDir(), "run"), Out: &bytes.Buffer{}, Config: []byte("name: tiny\n")}
	j.Data.Train = []string{path}
	j.Data.Tokenizer.Kind = "byte"
	j.Model.Layers, j.Model.Width, j.Model.Heads, j.Model.Context, j.Model.Dropout = 2, 16, 2, 16, 0.1
	j.Train.Steps, j.Train.Batch, j.Train.Accumulate = 13, 3, 3
	j.Train.Schedule.Warmup = 3
	j.Train.Eval = Eval{Every: 5, Windows: 8}
	j.Train.Sample = Sample{Every: 6, Prompt: "line", Tokens: 8, Temperature: 0.8, TopK: 5}
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
	whole := tinyJob(t)
	be := cpu.New(2)
	defer be.Close()
	if _, err := Run(context.Background(), be, whole); err != nil {
		t.Fatalf("%v\n%s", err, whole.Out)
	}
	want := result(t, whole.Dir)
	if len(want) < 10 {
		t.Fatalf("only %d files are left: %v", len(want), want)
	}
	others := []*cpu.Backend{cpu.New(1), cpu.New(3)}
	defer others[0].Close()
	defer others[1].Close()
	stops := 0
	for _, questions := range []int{1, 2, 3, 7, 14, 23, 30, 45} {
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
	if stops < 20 { // or the test shows nothing
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
