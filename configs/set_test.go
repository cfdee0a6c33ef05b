package configs

import (
	"reflect"
	"strings"
	"testing"
)

// TestSetTakesPathsAsTheyStand gives data.train what shells and file systems allow.
func TestSetTakesPathsAsTheyStand(t *testing.T) {
	for value, want := range map[string][]string{
		"a.txt":             {"a.txt"},
		"a,b.txt":           {"a,b.txt"},
		"-":                 {"-"},
		"*.txt":             {"*.txt"},
		"{a,b}.txt":         {"{a,b}.txt"},
		"[ab].txt":          {"[ab].txt"},
		"/x/[1]/a #1.txt":   {"/x/[1]/a #1.txt"},
		`C:\text: new\a=b`:  {`C:\text: new\a=b`},
		"~/a.txt":           {"~/a.txt"},
		"null":              {"null"},
		"123":               {"123"},
		"":                  nil,
		"[]":                nil,
		"[a.txt, 'b, c']":   {"a.txt", "b, c"},
		`"a b"`:             {"a b"},
		`'it''s'`:           {"it's"},
		`"half`:             {`"half`},
		`"a" and "b"`:       {`"a" and "b"`},
		"[[a]]":             {"[[a]]"},
		"$GOROOT/src/x.txt": {"$GOROOT/src/x.txt"},
		"zwei\nZeilen":      {"zwei\nZeilen"},
	} {
		l, err := Parse("run.yaml", nil, []string{"data.train=" + value})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if !reflect.DeepEqual(l.Run.Data.Train, want) {
			t.Errorf("%q gives %q, want %q", value, l.Run.Data.Train, want)
		}
		roundTrip(t, l)
	}
}

// TestSetLaterWins overrides the file, a mistake in the file's value, and an earlier --set.
func TestSetLaterWins(t *testing.T) {
	l, err := Parse("run.yaml", []byte("model: {width: 100, heads: 5}\n"), []string{
		"model.heads=3", "model.heads = 8", "model.width=64", "train.optimizer={lr: 2, betas: [0, 0.5]}", "train.optimizer.lr=1e-2", "train.sample.prompt=yes", "model.norm={eps: 1e-6}"})
	if err != nil {
		t.Fatal(err)
	}
	r := l.Run
	if r.Model.Heads != 8 || r.Model.Width != 64 || r.Train.Optimizer.LR != 0.01 || r.Train.Optimizer.Betas[1] != 0.5 || r.Train.Sample.Prompt != "yes" {
		t.Errorf("got %s", l.YAML())
	}
	if r.Model.Norm.Kind != "rmsnorm" || r.Model.Norm.Eps != 1e-6 {
		t.Errorf("a section of --set must go onto what is there: %+v", r.Model.Norm)
	}
}

func TestSetMessages(t *testing.T) {
	for set, want := range map[string]string{
		"model.heads=5":            "5 does not divide width 128 (try 4 or 8)",
		"model.heads":              "has no = (write --set key=value, such as --set train.steps=100)",
		"=5":                       "unknown key (allowed: name, seed, init_from, data, model, train, checkpoint, device, precision, kernels, workers)",
		"optimizer.lr=1":           "unknown key (did you mean train.optimizer.lr?)",
		"lr=1":                     "unknown key (did you mean train.optimizer.lr?)",
		"train.lr=1":               "unknown key (did you mean train.optimizer.lr?)",
		"train.optimiser.lr=1":     "unknown key (did you mean train.optimizer.lr?)",
		"train.shedule={min: 0}":   "unknown key (did you mean train.schedule?)",
		"seed.x=1":                 "unknown key (seed is a whole number and has no keys)",
		"model.norm.kind.x=1":      "unknown key (model.norm.kind is a text and has no keys)",
		"model=3":                  "is a number, want a section (keys: layers, width, heads, kv_heads, head_dim, ffn, context, vocab, norm, mlp, position, attention, bias, tied, logit_softcap, embed_scale, dropout, init)",
		"train.steps=":             "has no value (give one, or leave the key out for its default)",
		"train.steps=ten":          `"ten" is text, want a whole number`,
		"train.steps={":            "not valid YAML: did not find expected node content",
		"model.tied=yes":           `"yes" is text, want true or false`,
		"model.norm={knd: x}":      "model.norm.knd: unknown key (did you mean model.norm.kind?)",
		"model.norm={kind: x}":     `model.norm.kind: "x" is not known (allowed: rmsnorm, layernorm, dyt, batchnorm)`,
		"data.train=[{a: b}, '']x": "",
		"data.train=\xff":          "is not UTF-8",
	} {
		got := messages(t, "", set)
		if want == "" {
			same(t, got)
			continue
		}
		shown := set
		if strings.Contains(set, "\xff") {
			shown = `"data.train=\xff"`
		}
		same(t, got, "--set "+shown+": "+want)
	}
}

func TestDiff(t *testing.T) {
	a, b := Default(), Default()
	b.Name, b.Data.Train, b.Model.Norm.Eps, b.Model.Attention.Window, b.Train.Steps = "a b", []string{"x", "y, z"}, 1e-6, []int{4, 0}, 7
	want := []Change{
		{"name", "run", `"a b"`},
		{"data.train", "[]", `[x, "y, z"]`},
		{"model.norm.eps", "1e-5", "1e-6"},
		{"model.attention.window", "0", "[4, 0]"},
		{"train.steps", "1000", "7"},
	}
	if got := Diff(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Diff(a, a); got != nil {
		t.Errorf("a run differs from itself: %q", got)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		src  string
		sets []string
		want []string
	}{
		{src: "train:\n  steps: 200\n"},
		{"train:\n  steps: 100\n  eval: {every: 250}\ncheckpoint: {every: 101}\n", []string{"train.sample.every=300"}, []string{
			"run.yaml: train.eval.every (250), train.sample.every (300) and checkpoint.every (101) are longer than the run of 100 steps, so these happen at the end only",
		}},
		{"train:\n  steps: 100\n  eval: {every: 250}\n", nil, []string{
			"run.yaml:3: train.eval.every: 250 is longer than the run of 100 steps, so it happens at the end only",
		}},
		{"train:\n  optimizer: {kind: sgd, betas: [0.9, 0.99], momentum: 0.9}\ndata: {tokenizer: {kind: char, vocab: 5000}}", nil, []string{
			"run.yaml:2: train.optimizer.betas: is not used with optimizer kind sgd",
			"run.yaml:3: data.tokenizer.vocab: is not used with data.tokenizer.kind char, which is not trained to a size: leave it out, or set data.tokenizer.kind to bpe",
		}},
		{"data: {tokenizer: {file: a.tok, vocab: 5000}}", nil, []string{
			"run.yaml:1: data.tokenizer.vocab: is not used with data.tokenizer.file, whose ids are the file's: leave one of the two out",
		}},
		{"checkpoint: {every: 100, keep_every: 250}\n", nil, []string{
			"run.yaml:1: checkpoint.keep_every: 250 is no multiple of checkpoint.every (100): only steps that are a multiple of both are saved for it",
		}},
		{"checkpoint: {every: 100, keep_every: 500}\n", nil, nil},
		{"checkpoint: {keep: 0, keep_best: 2}\n", nil, []string{"run.yaml:1: checkpoint.keep_best: is not used with checkpoint.keep 0: all are kept"}},
		{"model:\n  norm: {placement: post}\ntrain:\n  schedule: {warmup: 0}\n", nil, []string{
			"run.yaml:4: train.schedule.warmup: 0, and placement post is known to stay at the unigram loss without a warm-up (-1 takes a usual one)",
		}},
		{"model:\n  norm: {placement: post}\ntrain:\n  schedule: {warmup: 1}\n", nil, nil},
		{"model:\n  norm: {placement: post}\n", nil, nil},
		{"model:\n  norm: {placement: mix}\ntrain:\n  schedule: {warmup: 0}\n", nil, []string{
			"run.yaml:4: train.schedule.warmup: 0, and placement mix is known to stay at the unigram loss without a warm-up (-1 takes a usual one)",
		}},
		{"model:\n  norm: {placement: pre}\ntrain:\n  schedule: {warmup: 0}\n", nil, nil},
		{"model:\n  norm: {kind: batchnorm}\n", nil, []string{
			"run.yaml:2: model.norm.kind: batchnorm is for demonstration only: in training its statistics mix positions and sequences, so every row sees what " +
				"comes after it, and losses there are not those of evaluation and sampling, which use running averages",
		}},
		{"model:\n  norm: {placement: post}\n  init: {kind: fan_in, residual: scaled}\n", nil, []string{
			"run.yaml:3: model.init.kind: fan_in, and placement post was made for xavier (--set model.init.kind=auto follows the placement)",
			"run.yaml:3: model.init.residual: scaled, and placement post was made for plain (--set model.init.residual=auto follows the placement)",
		}},
		{"model:\n  norm: {placement: lns}\n  init: {kind: gpt2, residual: scaled}\n", nil, []string{
			"run.yaml:3: model.init.residual: scaled, and placement lns was made for plain (--set model.init.residual=auto follows the placement)",
		}},
	} {
		l, err := Parse("run.yaml", []byte(c.src), c.sets)
		if err != nil {
			t.Fatal(err)
		}
		same(t, l.Warnings(), c.want...)
	}
}

func TestNeedsData(t *testing.T) {
	l, err := Parse("run.yaml", []byte("seed: 1\ndata: {train: []}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = l.NeedsData()
	if want := `run.yaml:2: data.train: names no text (a file, glob, folder or "-"; --set data.train=PATH)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestKeepRuled takes over what a rule gave at a run's start, and nothing that was given.
func TestKeepRuled(t *testing.T) {
	old, err := Parse("run.yaml", []byte("train: {steps: 400}\nmodel: {kv_heads: 2, ffn: 96}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src  string
		want string // keys that differ
	}{
		{"model: {kv_heads: 2, ffn: 96}", "train.steps"},
		{"model: {kv_heads: 0, ffn: 64}", "model.ffn train.steps"},
		{"train: {schedule: {warmup: 41}}", "train.steps train.schedule.warmup"},
	} {
		l, err := Parse("run.yaml", []byte(c.src), []string{"train.steps=440"})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.KeepRuled(old.Run); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, d := range Diff(old.Run, l.Run) {
			keys = append(keys, d.Key)
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s: %s differ, want %s", c.src, got, c.want)
		}
	}
	short, err := Parse("run.yaml", nil, []string{"train.steps=30"})
	if err != nil {
		t.Fatal(err)
	}
	if err := short.KeepRuled(old.Run); err == nil || !strings.Contains(err.Error(), "train.schedule.warmup: 40 leaves none of 30 steps") {
		t.Errorf("got %v", err)
	}
}
