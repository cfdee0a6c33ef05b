package configs

import (
	"reflect"
	"strings"
	"testing"

	"prenorm/model"
)

// parameters counts those of the model that is built.
func parameters(t *testing.T, r Run, vocab int) int {
	t.Helper()
	r.Model.Vocab = vocab
	table, err := model.Table(r.Model)
	if err != nil {
		t.Fatal(err)
	}
	return int(model.Count(table))
}

func TestPresets(t *testing.T) {
	want := map[string]struct {
		vocab, parameters int
		tokens            int64
	}{
		"quickstart":           {1024, 869504, 600 * 16 * 128},
		"shakespeare-char-cpu": {65, 809856, 2000 * 12 * 64},
		"shakespeare-char":     {65, 10750080, 5000 * 64 * 256},
		"gpt2-124m":            {50257, 124439808, 600000 * 480 * 1024},
		"llama-15m":            {32000, 15191712, 100000 * 512 * 256},
		"llama-110m":           {32000, 109529856, 200000 * 128 * 1024},
	}
	if len(Presets()) != len(want) {
		t.Errorf("presets are %v, want %d", Presets(), len(want))
	}
	for _, name := range Presets() {
		l, err := Load(name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if l.Run.Name != name {
			t.Errorf("%s: its name is %s", name, l.Run.Name)
		}
		if w := l.Warnings(); len(w) > 0 {
			t.Errorf("%s: warnings %q", name, w)
		}
		if err := l.NeedsData(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := parameters(t, l.Run, want[name].vocab); got != want[name].parameters {
			t.Errorf("%s: %d parameters, want %d", name, got, want[name].parameters)
		}
		train := l.Run.Train
		if got := int64(train.Steps) * int64(train.Batch*train.Accumulate*l.Run.Model.Context); got != want[name].tokens {
			t.Errorf("%s: %d tokens, want %d", name, got, want[name].tokens)
		}
		src, _ := Preset(name)
		if header, _, _ := strings.Cut(string(src), "\nname:"); !strings.HasPrefix(header, "# ") || !strings.Contains(header, "--set data.train=PATH") {
			t.Errorf("%s: the header does not say what the preset is and how to choose a text:\n%s", name, header)
		}
		fromFile, err := Load(name+".yaml", nil)
		if err != nil || !reflect.DeepEqual(fromFile.Run, l.Run) {
			t.Errorf("%s: the file and the preset differ (%v)", name, err)
		}
		roundTrip(t, l)
	}
}

// roundTrip checks that the resolved run reads back as the same run and the same bytes.
func roundTrip(t *testing.T, l *Loaded) {
	t.Helper()
	out := l.YAML()
	again, err := Parse("resolved.yaml", out, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !reflect.DeepEqual(again.Run, l.Run) {
		t.Fatalf("read back differently: %v\n%s", Diff(l.Run, again.Run), out)
	}
	if string(again.YAML()) != string(out) {
		t.Fatalf("written differently:\n%s\n%s", out, again.YAML())
	}
}

func TestPresetUnknown(t *testing.T) {
	if _, ok := Preset("../configs/quickstart"); ok {
		t.Error("a path is no preset")
	}
	_, err := Load("quikstart", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "no run file and no preset quikstart (did you mean quickstart?)") {
		t.Error(err)
	}
	if _, err = Load("nowhere/run.yaml", nil); err == nil || !strings.Contains(err.Error(), "or a preset (gpt2-124m, ") {
		t.Error(err)
	}
}

func TestQuickstartResolved(t *testing.T) {
	l, err := Load("quickstart", nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `name: quickstart
seed: 1337
init_from: ""
data:
  train: ["$GOROOT/src/testdata/Isaac.Newton-Opticks.txt"]
  val: {files: [], fraction: 0.1, by: auto}
  sources: []
  stages: []
  tokenizer: {kind: bpe, vocab: 1024, unknown: fail, file: ""}
  format: txt
  field: text
  newlines: keep
  nul: keep
  invalid_utf8: fail
  packing: stream
  cross_documents: true
  verify: false
  duplicates: keep
  cache: ""
model:
  layers: 4
  width: 128
  heads: 4
  kv_heads: 2
  head_dim: 32
  ffn: 352
  context: 128
  vocab: 0
  norm: {kind: rmsnorm, placement: pre, eps: 1e-5, unit_offset: false, embed: false, alpha: 0.5, momentum: 0.1}
  mlp: swiglu
  position: {kind: rope, theta: 10000, scaling: {kind: none, factor: 1, original: 0, low_freq: 1, high_freq: 4}}
  attention: {qk_norm: none, window: 0, scale: 0, softcap: 0}
  bias: none
  tied: true
  logit_softcap: 0
  embed_scale: false
  dropout: 0
  init: {kind: gpt2, std: 0.02, residual: scaled}
train:
  steps: 600
  batch: 16
  accumulate: 1
  optimizer: {kind: adamw, lr: 0.002, betas: [0.9, 0.95], eps: 1e-8, momentum: 0, weight_decay: 0.1}
  schedule: {kind: cosine, warmup: 50, min: 0.1, decay: 0.2}
  clip: 1
  guard: {policy: stop, sigma: 0, window: 128, limit: 4, factor: 0.5, every: 50, bundles: 2}
  eval: {every: 100, windows: 0}
  sample: {every: 200, prompt: The, tokens: 64, temperature: 0.8, top_k: 50}
  inspect: {every: 50}
  log: {every: 10}
checkpoint: {every: 100, minutes: 15, keep: 3, keep_best: 1, keep_every: 0, background: auto}
device: auto
precision: fp32
kernels: {matmul: auto}
workers: 0
`
	if got := string(l.YAML()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
