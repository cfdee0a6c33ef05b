package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train/metrics"
)

// sourcesJob is a tiny job over two sources of several documents each, whose weights change in the middle.
func sourcesJob(t *testing.T) Job {
	t.Helper()
	j := tinyJob(t)
	dir := t.TempDir()
	for _, name := range []string{"lines", "words"} {
		for i := range 30 {
			path := filepath.Join(dir, name, fmt.Sprintf("%02d.txt", i))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintf("%s %d. ", name, i*i%17), 1+i%7)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		j.Data.Sources = append(j.Data.Sources, data.Source{Name: name, Train: []string{filepath.Join(dir, name)}, Weight: float64(1 + 2*len(j.Data.Sources))})
	}
	j.Data.Train, j.Data.Val.Fraction = nil, 0.4
	j.Data.Stages = []data.Stage{{From: 6, Weights: []float64{1, 0.5}}}
	return j
}

// TestResumedSources is TestResumedEqualsUninterrupted over several sources, packed documents and closed borders.
func TestResumedSources(t *testing.T) {
	j := sourcesJob(t)
	j.Data.Packing, j.Data.Cross = "documents", false
	testResumed(t, j, 2, 9)
}

// TestGuardResumesSources is TestGuardResumes over several sources, packed documents and closed borders.
func TestGuardResumesSources(t *testing.T) {
	for _, policy := range []string{GuardSkip, GuardRewind} {
		t.Run(policy, func(t *testing.T) {
			j, g := sourcesJob(t), guarded(t, policy)
			j.Data.Packing, j.Data.Cross = "documents", false
			j.Train, j.Checkpoint = g.Train, g.Checkpoint
			j.Train.Steps, j.Checkpoint.Keep = 13, 2
			open := faults(5, math.NaN())
			testResumedOn(t, open, j, 2, 9)
			held, _ := events(t, j)
			if len(held) < 2 || policy == GuardRewind && held[len(held)-1].To == 0 {
				t.Fatalf("too little happens for the test to show anything: %+v", held)
			}
			c, _, err := OpenCheckpoint(j.Dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := stateOf(c, c.Dir)
			if m := s.Cursor.Mixture; err != nil || m == nil || m.Step != s.Step+1 || m.Row != 0 { // held back steps have passed over their rows
				t.Errorf("step %d, cursor %+v, %v", s.Step, m, err)
			}
			replayed(t, open, j, held[0])
		})
	}
}

// replayed wants the bundle of a step to give it again, to the bit.
func replayed(t *testing.T, open func(int) kernels.Backend, j Job, e metrics.Guard) {
	t.Helper()
	b, err := ReadBundle(filepath.Join(j.Dir, filepath.FromSlash(e.Bundle)))
	if err != nil {
		t.Fatal(err)
	}
	be := open(2)
	defer be.Close()
	tokenizer, err := token.Unmarshal(b.State.Files[TokenizerFile])
	if err != nil {
		t.Fatal(err)
	}
	j.Model.Vocab = tokenizer.Vocab()
	if r, err := Replay(context.Background(), be, b, j.Model, j.Train, j.Seed); err != nil || r.Applied() || !r.SameBits(b) || !r.SameFinding(b) {
		t.Errorf("step %d: %+v, %v, recorded %+v", e.Step, r.Result, err, b.Report)
	}
}

// TestSourcesRefused wants everything that is wrong with sources to be told at once, each by the source's name, before anything is trained.
func TestSourcesRefused(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	refused := func(change func(*Job)) string {
		j := sourcesJob(t)
		change(&j)
		_, err := Run(context.Background(), be, j)
		var r *Refused
		if !errors.As(err, &r) {
			t.Fatalf("%v is no refusal", err)
		}
		var lines []string
		for _, p := range r.Problems {
			lines = append(lines, p.Key+": "+p.What)
		}
		return strings.Join(lines, "\n")
	}
	short := filepath.Join(t.TempDir(), "short.txt")
	if err := os.WriteFile(short, []byte("short"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Job)
		want   []string
	}{
		{func(j *Job) { j.Data.Sources[0].Val, j.Data.Sources[1].Train = []string{short}, []string{"gone.txt"} }, []string{"data.sources: words: gone.txt"}},
		{func(j *Job) {
			j.Data.Sources[0].Val, j.Data.Sources[1].Train, j.Data.Sources[1].Val = []string{short}, []string{short}, j.Data.Sources[0].Train
		}, []string{"data.sources: lines: the validation text has 5 tokens", "data.sources: words: the training text is too short (tokens: 5)"}},
		{func(j *Job) {
			j.Data.Val.By, j.Data.Val.Fraction, j.Data.Sources[1].Train = "hash", 1e-9, []string{short}
		}, []string{"data.sources: lines: data.val: "}},
	} {
		got := refused(c.change)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q lacks %q", got, want)
			}
		}
	}
}

// TestSourcesRehearsed wants a rehearsal over several packed sources to validate all of them.
func TestSourcesRehearsed(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	j := sourcesJob(t)
	j.Data.Packing, j.Data.Cross = "documents", false
	r, err := Rehearse(context.Background(), be, j)
	if err != nil || r.Measured != rehearsed || r.Validation <= 0 || r.Data.Train.Documents < 30 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestResumedDocuments is the same for windows over one text with closed borders.
func TestResumedDocuments(t *testing.T) {
	j := tinyJob(t)
	j.Data.Cross = false
	testResumed(t, j, 3)
}

// TestSourcesAreEvaluated wants a record for each source and the total by the stated weights, and the state to hold every cursor.
func TestSourcesAreEvaluated(t *testing.T) {
	be := cpu.New(2)
	defer be.Close()
	j := sourcesJob(t)
	j.Data.Packing = "documents"
	if _, err := Run(context.Background(), be, j); err != nil {
		t.Fatal(err)
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	evals, notes := 0, ""
	for _, r := range records {
		switch r := r.(type) {
		case metrics.Note:
			notes += r.Text + "\n"
		case metrics.Eval:
			evals++
			if len(r.Sources) != 2 || r.Sources[0].Name != "lines" || r.Sources[1].Weight != 3 || r.Sources[0].Loss == r.Sources[1].Loss {
				t.Fatalf("%+v", r)
			}
			want := (1*float64(r.Sources[0].Loss) + 3*float64(r.Sources[1].Loss)) / 4
			if math.Abs(float64(r.Loss)-want) > 1e-12 || r.Tokens != r.Sources[0].Tokens+r.Sources[1].Tokens {
				t.Errorf("total %+v, want loss %v", r, want)
			}
		}
	}
	if evals != 3 || strings.Count(notes, "documents packed whole into") != 2 || !strings.Contains(notes, "% of the places are padding") {
		t.Errorf("%d evaluations, notes:\n%s", evals, notes)
	}
	c, _, err := OpenCheckpoint(j.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(c.State, &s); err != nil {
		t.Fatal(err)
	}
	if m := s.Cursor.Mixture; m == nil || m.Step != 14 || m.Row != 0 || len(m.Sources) != 2 || m.Sources[0] == (batch.Cursor{}) || m.Sources[1] == (batch.Cursor{}) {
		t.Errorf("cursor %+v", s.Cursor)
	}
	if len(s.Sources) != 2 || s.Sources[1].Name != "words" || len(s.Sources[1].Val) != 64 {
		t.Errorf("sources %+v", s.Sources)
	}
	// Another order of the sources is another text.
	j.Data.Sources[0], j.Data.Sources[1] = j.Data.Sources[1], j.Data.Sources[0]
	j.Train.Steps++
	j.Out = &bytes.Buffer{}
	if _, err := Run(context.Background(), be, j); err == nil || !strings.Contains(err.Error(), "the text is not the one that the run was trained on") {
		t.Error(err)
	}
}

// TestStateOfOneText freezes the state of a run with one text.
func TestStateOfOneText(t *testing.T) {
	s := State{Step: 3, Cursor: batch.Cursor{Epoch: 1, Window: 2}, Tokens: 5, Seed: 7, Data: Fingerprints{"a", "b", "c"}}
	have, err := json.Marshal(s)
	if want := `{"step":3,"cursor":{"epoch":1,"window":2},"tokens":5,"seed":7,"data":{"tokenizer":"a","train":"b","val":"c"}}`; err != nil || string(have) != want {
		t.Errorf("%s, %v", have, err)
	}
}
