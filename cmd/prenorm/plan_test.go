package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
)

func planJSON(t *testing.T, args ...string) plan {
	t.Helper()
	var p plan
	if err := json.Unmarshal([]byte(command(append([]string{"plan", "--json"}, args...)...).want(t, exitOK).out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanIsAllocated trains and holds the plan's memory against every byte that the backend was asked for.
func TestPlanIsAllocated(t *testing.T) {
	inTiny(t)
	for _, sets := range [][]string{nil, {"train.accumulate=1", "model.dropout=0", "train.optimizer.kind=sgd"}, {"train.batch=5", "model.tied=false", "model.context=80"},
		{"data.cross_documents=false", "model.dropout=0"}} {
		args := []string{"tiny.yaml", "--set", "train.steps=3", "--set", "train.schedule.warmup=0"}
		for _, s := range sets {
			args = append(args, "--set", s)
		}
		planned := planJSON(t, args...)
		var allocated atomic.Int64
		withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
			be, err := kernels.Open(name, o)
			return &spy{Backend: be, arena: func(bytes int) { allocated.Add(int64(bytes)) }}, err
		})
		command(append([]string{"train", "--fresh"}, args...)...).want(t, exitOK)
		withKernels(t, openOriginal)
		if got := allocated.Load(); got != planned.Memory.Total {
			t.Errorf("%v: plan says %d bytes, training allocates %d", sets, planned.Memory.Total, got)
		}
	}
}

// TestPlanParts holds the parts of the plan against the objects that they are about.
func TestPlanParts(t *testing.T) {
	l, err := configs.Parse("tiny.yaml", []byte(tiny), []string{"model.vocab=256"})
	if err != nil {
		t.Fatal(err)
	}
	run := l.Run
	be, err := openKernels("cpu", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	p, err := planOf(be, run)
	if err != nil {
		t.Fatal(err)
	}
	w, err := model.NewWeights(be, run.Model)
	if err != nil {
		t.Fatal(err)
	}
	s, err := train.NewStepper(w, train.StepOptions{Batch: run.Train.Batch, Context: run.Model.Context, Accumulate: run.Train.Accumulate,
		Optimizer: run.Train.Optimizer, Clip: run.Train.Clip, Inspect: run.Train.Inspect.Every > 0})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(s.Free(), w.Free()); err != nil {
			t.Error(err)
		}
	}()
	moments := 0
	for _, m := range s.Moments() {
		moments += m.Bytes()
	}
	update := p.Memory.Train - int64(s.ArenaBytes())
	if update < train.StepBytes || update > 1<<13 {
		t.Errorf("the training step is planned with %d bytes, its programs have %d", p.Memory.Train, s.ArenaBytes())
	}
	for _, c := range []struct {
		what      string
		plan, got int64
	}{
		{"weights", p.Memory.Weights, int64(w.Slab.Bytes())},
		{"gradients", p.Memory.Gradients, int64(s.Grads().Bytes())},
		{"moments", p.Memory.Moments, int64(moments)},
		{"parameters", p.Parameters.Total, w.Count()},
		{"copies of weights and two moments", p.Memory.Saving, 4 * 3 * w.Count()},
		{"tokens of a step", p.Tokens.Step, 2 * 16 * 3},
		{"tokens of the run", p.Tokens.Run, 2 * 16 * 3 * 20},
		{"operations of a pass", int64(p.Arithmetic.TrainToken*2*16 + 0.5), s.Plan().FLOPs()},
	} {
		if c.plan != c.got {
			t.Errorf("%s: plan says %d, it is %d", c.what, c.plan, c.got)
		}
	}
}

// TestPlanByHand counts one model's parameters and forward operations by hand.
func TestPlanByHand(t *testing.T) {
	inTiny(t)
	p := planJSON(t, "tiny.yaml", "--params")
	const layer = 16*16 + 2*16*8 + 16*16 + 3*16*32 // q, k and v, output, MLP
	if want := int64(256*16 + 2*(layer+2*16) + 16); p.Parameters.Total != want {
		t.Errorf("%d parameters, want %d", p.Parameters.Total, want)
	}
	// Every weight of a matrix is multiplied and added once a token; scores and their use are 2·2·T·C a token and layer.
	if want := float64(2*(2*layer+256*16) + 2*2*2*16*16); p.Arithmetic.ForwardToken != want {
		t.Errorf("%v operations a token, want %v", p.Arithmetic.ForwardToken, want)
	}
	if r := p.Arithmetic.TrainToken / p.Arithmetic.ForwardToken; r < 2.9 || r > 3.1 {
		t.Errorf("training takes %.2f times the forward pass, want about 3", r)
	}
	var values int64
	for _, x := range p.Tensors {
		values += x.Values
		if x.Decay != (len(x.Shape) > 1) {
			t.Errorf("%s %v: decay %v", x.Name, x.Shape, x.Decay)
		}
	}
	if values != p.Parameters.Total || len(p.Tensors) != p.Parameters.Tensors {
		t.Errorf("%d tensors with %d values are listed", len(p.Tensors), values)
	}
}

// TestPlanOfOne counts single things in words.
func TestPlanOfOne(t *testing.T) {
	inTiny(t)
	one := "model={layers: 1, width: 16, heads: 1, kv_heads: 1, ffn: 32, context: 16}"
	command("plan", "tiny.yaml", "--set", one, "--set", "train.batch=1", "--set", "train.steps=1", "--set", "train.schedule.warmup=0").want(t, exitOK,
		": 1 layer, width 16, 1 head, context 16", "1 sequence × 16 tokens × 3 accumulated", "1 step\n")
	command("plan", "tiny.yaml").want(t, exitOK, ": 2 layers, width 16, 2 heads,", "2 sequences × 16 tokens", "20 steps\n")
}

// TestPlanVocabulary takes the vocabulary from the configuration alone.
func TestPlanVocabulary(t *testing.T) {
	inTiny(t)
	for kind, want := range map[string]int{"byte": 256, "bpe": 300, "gpt2": 50257} {
		if p := planJSON(t, "tiny.yaml", "--set", "data.tokenizer={kind: "+kind+", vocab: 300}"); p.Vocab != want {
			t.Errorf("%s: vocabulary %d, want %d", kind, p.Vocab, want)
		}
	}
	command("train", "tiny.yaml", "--set", "data.tokenizer.kind=char", "--set", "train.sample.prompt=1", "--max-seconds", "1e-9").want(t, exitOK, "char tokenizer, 18 ids")
	write(t, "raw.txt", "ab\xff")
	for _, c := range []struct {
		set    string
		vocab  int
		source string
	}{
		{"data.train=text.txt", 18, vocabText},
		{"model.vocab=65", 65, vocabGiven},
		{"data.train=missing.txt", 96, vocabAssumed},
		{"data.train=-", 96, vocabAssumed},
		{"data.train=raw.txt", 96, vocabAssumed},
		{"data.tokenizer.file=" + tokenizerOf(t, filepath.Join("runs", "tiny")), 18, vocabTokenizer},
	} {
		if p := planJSON(t, "tiny.yaml", "--set", "data.tokenizer.kind=char", "--set", c.set); p.Vocab != c.vocab || p.VocabSource != c.source {
			t.Errorf("%s: vocabulary %d (%s), want %d (%s)", c.set, p.Vocab, p.VocabSource, c.vocab, c.source)
		}
	}
	write(t, "wide.txt", "\u0416\u0428")
	if p := planJSON(t, "tiny.yaml", "--set", "data.tokenizer.kind=char", "--set", "data.train=", "--set", "data.val.by=end",
		"--set", "data.sources=[{name: a, train: text.txt}, {name: b, train: wide.txt, val: text.txt}]"); p.Vocab != 20 || p.VocabSource != vocabText {
		t.Errorf("several sources: vocabulary %d (%s), want 20 (%s)", p.Vocab, p.VocabSource, vocabText)
	}
	command("plan", "shakespeare-char-cpu").want(t, exitOK, "vocab 96 assumed", "--set model.vocab=N", "in all")
	if r := command("plan", "tiny.yaml"); strings.Contains(r.out, "assumed") {
		t.Errorf("the vocabulary is known:\n%s", r.out)
	}
}

// TestPlanPresets plans every preset, the largest with a small batch.
func TestPlanPresets(t *testing.T) {
	for _, name := range configs.Presets() {
		r := command("plan", name, "--set", "model.vocab=50257", "--set", "train.batch=1", "--params").want(t, exitOK, "parameters", "embed_tokens.weight", "in all", "the run")
		for _, line := range strings.Split(r.out, "\n") {
			if len([]rune(line)) > 120 || strings.HasSuffix(line, " ") {
				t.Errorf("%s: line is wide or ends in a space: %q", name, line)
			}
		}
	}
}

// tokenizerOf is the tokenizer file of a run's first checkpoint.
func tokenizerOf(t *testing.T, run string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(run, "checkpoints", "*", "tokenizer.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tokenizer in %s: %v", run, err)
	}
	return found[0]
}
