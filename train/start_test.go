package train

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// finish runs a job, and returns what it printed and its error.
func finish(t *testing.T, j Job) (string, error) {
	t.Helper()
	be := cpu.New(2)
	defer be.Close()
	return finishOn(be, j)
}

func finishOn(be kernels.Backend, j Job) (string, error) {
	var out bytes.Buffer
	j.Out = &out
	_, err := Run(context.Background(), be, j)
	return out.String(), err
}

// TestStartTakesTokenizer starts runs from a run of another tokenizer, and from its bare weights.
func TestStartTakesTokenizer(t *testing.T) {
	source := tinyJob(t)
	source.Data.Tokenizer.Kind, source.Data.Tokenizer.Vocab = "bpe", 300
	if out, err := finish(t, source); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, _, err := findCheckpoint(checkpoint.OS, source.Dir, checkpoint.Latest)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, TokenizerFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{source.Dir, dir} {
		j := tinyJob(t) // asks for bytes
		j.InitFrom = from
		out, err := finish(t, j)
		if err != nil || strings.Count(out, "the tokenizer is that of the weights (bpe, 300 ids)") != 1 {
			t.Fatalf("from %s: %v\n%s", from, err, out)
		}
		mine, _, err := findCheckpoint(checkpoint.OS, j.Dir, checkpoint.Latest)
		if err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(filepath.Join(mine, TokenizerFile)); err != nil || !bytes.Equal(have, want) {
			t.Errorf("from %s: the run has another tokenizer, %v", from, err)
		}
		j.Train.Steps++ // a resumed run does not look at init_from again
		j.InitFrom = "gone"
		if out, err := finish(t, j); err != nil || strings.Contains(out, "init_from") {
			t.Errorf("resumed: %v\n%s", err, out)
		}
	}
	j := tinyJob(t)
	j.InitFrom = filepath.Join(dir, "model.safetensors")
	out, err := finish(t, j)
	if err == nil || !strings.Contains(err.Error(), "vocabulary 300, the model here has layers 2, width 16, vocabulary 256") || !strings.Contains(out, "it holds no tokenizer") {
		t.Errorf("bare weights of another vocabulary: %v\n%s", err, out)
	}
	j.Data.Tokenizer.File = filepath.Join(dir, TokenizerFile)
	if out, err := finish(t, j); err != nil || !strings.Contains(out, "it holds no tokenizer") {
		t.Errorf("bare weights and their tokenizer: %v\n%s", err, out)
	}
}

// TestStartNamedTokenizer names the weights' own tokenizer, and another of as many ids.
func TestStartNamedTokenizer(t *testing.T) {
	make := func(text string) (token.Tokenizer, string) {
		k, err := token.New(token.Config{Kind: "bpe", Vocab: 258}, func(yield func([]byte, error) bool) { yield([]byte(text), nil) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		file, err := k.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.json")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		return k, path
	}
	mine, same := make("ababab")
	_, other := make("xyxyxy")
	for path, warned := range map[string]bool{same: false, other: true} {
		got, line, err := startTokenizer(&start{tokenizer: mine}, token.Config{File: path})
		if got != nil || err != nil || strings.Contains(line, "warning: ") != warned {
			t.Errorf("warned %v: %v, %q, %v", warned, got, line, err)
		}
	}
}

// TestMisfitIsShort starts from a model of another shape.
func TestMisfitIsShort(t *testing.T) {
	source := tinyJob(t)
	source.Train.Steps, source.Train.Schedule.Warmup = 2, 1
	if _, err := finish(t, source); err != nil {
		t.Fatal(err)
	}
	j := tinyJob(t)
	j.InitFrom, j.Model.Width, j.Model.Layers = source.Dir, 32, 4
	_, err := finish(t, j)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 1+maxMisfits+1 || !strings.Contains(lines[0], "layers 2, width 16, vocabulary 256, the model here has layers 4, width 32, vocabulary 256") ||
		!strings.HasPrefix(lines[maxMisfits+1], "  … and ") {
		t.Errorf("message:\n%v", err)
	}
}

// TestKeepsTextAndSeed wants a run to go on with its own text and seed alone, and one that would not to be left as it is.
func TestKeepsTextAndSeed(t *testing.T) {
	j := tinyJob(t)
	j.Train.Steps, j.Train.Schedule.Warmup = 2, 1
	if _, err := finish(t, j); err != nil {
		t.Fatal(err)
	}
	before := result(t, j.Dir)
	j.Train.Steps = 3
	for want, change := range map[string]func(j *Job){
		"was started with seed 5, now it is 6: a run keeps its seed; start anew with --fresh": func(j *Job) { j.Seed = 6 },
		"the text is not the one that the run was trained on (fingerprints ": func(j *Job) {
			text, err := os.ReadFile(j.Data.Train[0])
			if err != nil {
				t.Fatal(err)
			}
			j.Data.Train = []string{filepath.Join(t.TempDir(), "text.txt")}
			if err := os.WriteFile(j.Data.Train[0], bytes.Replace(text, []byte("line 7 "), []byte("line 8 "), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		other := j
		change(&other)
		if _, err := finish(t, other); err == nil || !strings.Contains(err.Error(), "run folder "+j.Dir) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if !maps.Equal(result(t, j.Dir), before) {
			t.Errorf("%s: it has changed the run", want)
		}
	}
	if _, err := finish(t, j); err != nil {
		t.Error(err)
	}
}

// TestSampleHidesSeparator samples from an empty prompt, which the separator of documents stands in for.
func TestSampleHidesSeparator(t *testing.T) {
	j := tinyJob(t)
	j.Data.Tokenizer.Kind, j.Data.Tokenizer.Vocab = "bpe", 258
	j.Train.Sample.Prompt, j.Train.Sample.Tokens, j.Train.Sample.TopK = "", 40, 0
	out, err := finish(t, j)
	if err != nil || !strings.Contains(out, "sample:") || strings.Contains(out, "endoftext") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNotFiniteIsSavedBefore trains at a rate that no model survives, and compares what is saved with a run that ends before the fatal step.
func TestNotFiniteIsSavedBefore(t *testing.T) {
	j := tinyJob(t)
	j.Train.Optimizer.LR, j.Train.Schedule.Kind, j.Train.Schedule.Warmup, j.Train.Clip = 1e3, "constant", 0, 0
	_, err := finish(t, j)
	if err == nil {
		t.Fatal("no error")
	}
	dir, _, found := findCheckpoint(checkpoint.OS, j.Dir, checkpoint.Latest)
	if found != nil {
		t.Fatal(found)
	}
	saved, loaded := checkpoint.Load(checkpoint.OS, dir)
	if loaded != nil {
		t.Fatal(loaded)
	}
	if want := fmt.Sprintf("step %d: ", saved.Step+1); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "train.optimizer.lr") {
		t.Errorf("the checkpoint is of step %d, the message: %v", saved.Step, err)
	}
	for _, w := range saved.Weights {
		values, err := w.ToF32()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range values {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("%s holds %v", w.Name, x)
			}
		}
	}
	short := j
	short.Dir, short.Train.Steps = filepath.Join(t.TempDir(), "short"), int(saved.Step)
	if _, err := finish(t, short); err != nil {
		t.Fatal(err)
	}
	for name, have := range result(t, j.Dir) {
		want, ok := result(t, short.Dir)[name]
		if strings.HasPrefix(name, filepath.Join(CheckpointFolder, filepath.Base(dir))) && (!ok || have != want) {
			t.Errorf("%s is not what a run of %d steps saves", name, saved.Step)
		}
	}
	j.Train.Steps = int(saved.Step) // the state opens and passes for this step's
	if out, err := finish(t, j); err != nil || !strings.Contains(out, fmt.Sprint("resumed from step ", saved.Step)) {
		t.Errorf("resumed: %v\n%s", err, out)
	}
}

// TestSpeedForgetsPauses has a long update among short ones.
func TestSpeedForgetsPauses(t *testing.T) {
	var s speed
	for range 60 {
		s.add(100, time.Second/10)
	}
	if got := s.tokensPerSecond(); math.Abs(got-1000) > 1e-6 {
		t.Errorf("%v tokens/s, want 1000", got)
	}
	s.add(100, time.Hour)
	if got := s.tokensPerSecond(); got > 1 {
		t.Errorf("%v tokens/s during the pause", got)
	}
	for range speedUpdates {
		s.add(100, time.Second/10)
	}
	if got := s.tokensPerSecond(); math.Abs(got-1000) > 1e-6 {
		t.Errorf("%v tokens/s after a pause, want 1000", got)
	}
	s = speed{}
	for range 5 {
		s.add(100, time.Minute)
	}
	if len(s.laps) != 1 {
		t.Errorf("%d updates of a minute in the window", len(s.laps))
	}
}

// TestSecondsGoOn: a resumed run counts its time on from the record.
func TestSecondsGoOn(t *testing.T) {
	j := tinyJob(t)
	if _, err := finish(t, j); err != nil {
		t.Fatal(err)
	}
	j.Train.Steps += 2
	if out, err := finish(t, j); err != nil || !strings.Contains(out, " in this session") || strings.Contains(out, " in all") {
		t.Errorf("%v\n%s", err, out)
	}
	records, err := metrics.Read(filepath.Join(j.Dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	var last metrics.Float
	for _, r := range records {
		if r, ok := r.(metrics.Train); ok {
			if r.Seconds <= last {
				t.Errorf("step %d: %v s after %v s", r.Step, r.Seconds, last)
			}
			last = r.Seconds
		}
	}
}

// multiplying is a backend that says who multiplies matrices.
type multiplying struct {
	kernels.Backend
	by string
}

func (m multiplying) Multiplies() string { return m.by }

// TestOtherProducts goes on with a run whose matrix products come from elsewhere than before, there and back, and wants a warning with the
// remedy each time they change, and only then.
func TestOtherProducts(t *testing.T) {
	be := cpu.New(1)
	defer be.Close()
	j, last := tinyJob(t), ""
	for _, by := range []string{"cublas", "cublas", "own", "own", "cublas", ""} {
		on := kernels.Backend(multiplying{be, by})
		if by == "" {
			on = be
		}
		out, err := finishOn(on, j)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		warned := strings.Count(out, "warning: matrix products")
		if changed := last != "" && by != "" && last != by; !changed && warned != 0 || changed && warned != 1 {
			t.Errorf("%q after %q: %d warnings\n%s", by, last, warned, out)
		}
		if words := fmt.Sprintf("of %s, from here on they are those of %s: ", last, by); warned == 1 && (!strings.Contains(out, words) || !strings.Contains(out, "kernels.matmul="+last)) {
			t.Errorf("no %q in\n%s", words, out)
		}
		last = by
		j.Train.Steps++
	}
}
