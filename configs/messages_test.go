package configs

import (
	"errors"
	"strings"
	"testing"

	"prenorm/model"
)

// messages parses src with sets and returns what is wrong, one problem a line.
func messages(t *testing.T, src string, sets ...string) []string {
	t.Helper()
	l, err := Parse("run.yaml", []byte(src), sets)
	if err == nil {
		roundTrip(t, l)
		return nil
	}
	var e *Error
	if !errors.As(err, &e) || l != nil {
		t.Fatalf("want an *Error and no run, got %T %v and %v", err, err, l)
	}
	return strings.Split(e.Error(), "\n")
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAllProblemsAtOnce breaks a file in every way and expects every message, by line, then defaults, then --set.
func TestAllProblemsAtOnce(t *testing.T) {
	const src = `name: .hidden
sed: 1
lr: 1e-3
model.norm.eps: 1e-5
data:
  train: [a.txt, 3]
  val: {fraction: 1, by: ende}
  tokenizer: {kind: bpe, vocab: 100}
model:
  layers: "4"
  width: 128
  width: 256
  heads: 5
  kv_heads: 3
  norm: {kind: rmsnrom, placment: pre, eps: 0}
  tied: yes
  position: {theta: [1, 2, 3, 4, 5], scaling: {kind: yarn}}
  dropout:
  context: 010
  ffn: 1e-3
  <<: {layers: 1}
train:
  lr: 3
  steps: 10
  optimizer: {betas: 0.9, lr: .inf}
  schedule: 5
device: gpu
checkpoint: [1]
workers: !foo 3
`
	same(t, messages(t, src, "model.heds=3", "model.attention.window=[1, -1]", "train.optimizer={eps: 2, foo: 1}"),
		`run.yaml:1: name: ".hidden" cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)`,
		`run.yaml:2: sed: unknown key (did you mean seed?)`,
		`run.yaml:3: lr: unknown key (did you mean train.optimizer.lr?)`,
		`run.yaml:4: model.norm.eps: unknown key (nest it: model: {norm: {eps: …}})`,
		`run.yaml:6: data.train: value 2: 3 is a number, want text (write "3")`,
		`run.yaml:7: data.val.fraction: 1 is out of range (above 0, below 1, or name separate files in val.files)`,
		`run.yaml:7: data.val.by: "ende" is not known (did you mean end? allowed: auto, end, hash)`,
		`run.yaml:8: data.tokenizer.vocab: 100 is out of range (258 to 1048576)`,
		`run.yaml:10: model.layers: "4" is quoted and so text, want a whole number (remove the quotes)`,
		`run.yaml:12: model.width: is given twice (first on line 11)`,
		`run.yaml:13: model.heads: 5 does not divide width 128 (try 4 or 8)`,
		`run.yaml:14: model.kv_heads: 3 does not divide heads 5 (try 1 or 5)`,
		`run.yaml:15: model.norm.placment: unknown key (did you mean model.norm.placement?)`,
		`run.yaml:15: model.norm.kind: "rmsnrom" is not known (did you mean rmsnorm? allowed: rmsnorm, layernorm, dyt, batchnorm)`,
		`run.yaml:15: model.norm.eps: 0 is out of range (above 0, up to 0.01)`,
		`run.yaml:16: model.tied: "yes" is text, want true or false`,
		`run.yaml:17: model.position.theta: has 5 values for 4 layers (at most one a layer)`,
		`run.yaml:18: model.dropout: has no value (give one, or leave the key out for its default)`,
		`run.yaml:19: model.context: 010 starts with a 0 (write it without)`,
		`run.yaml:20: model.ffn: 1e-3 is not a whole number`,
		`run.yaml:21: model: the merge key << is not read here (write the keys out)`,
		`run.yaml:23: train.lr: unknown key (did you mean train.optimizer.lr?)`,
		`run.yaml:25: train.optimizer.lr: .inf is not a finite number in decimal`,
		`run.yaml:25: train.optimizer.betas: wants exactly two values, such as [0.9, 0.95], not 1`,
		`run.yaml:26: train.schedule: is a number, want a section (keys: kind, warmup, min, decay)`,
		`run.yaml:27: device: "gpu" is not known (allowed: auto, cpu, cuda)`,
		`run.yaml:28: checkpoint: is a list, want a section (keys: every, minutes, keep, keep_best, keep_every, background)`,
		`run.yaml:29: workers: has the tag !foo, which is not read here (remove it)`,
		`run.yaml: model.position.scaling.original: 0 is no context and kind yarn needs the one from before scaling (try 128)`,
		`--set model.heds=3: unknown key (did you mean model.heads?)`,
		`--set train.optimizer={eps: 2, foo: 1}: train.optimizer.foo: unknown key (allowed: kind, lr, betas, eps, momentum, weight_decay)`,
		`--set model.attention.window=[1, -1]: value 2: -1 is out of range (0 to 1048576)`,
		`--set train.optimizer={eps: 2, foo: 1}: train.optimizer.eps: 2 is out of range (above 0, up to 1)`,
	)
}

// TestPrecisionOfTheDevice wants the line of the key that is to be changed.
func TestPrecisionOfTheDevice(t *testing.T) {
	const want = "run.yaml:3: precision: bf16 needs a GPU and device is cpu (--set precision=fp32, or device: cuda)"
	if got := messages(t, "device: cpu\nkernels: {matmul: own}\nprecision: bf16\n"); len(got) != 1 || got[0] != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	l, err := Parse("run.yaml", []byte("device: cpu\nkernels:\n  matmul: own\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const unused = "run.yaml:3: kernels.matmul: is not used with device cpu"
	if got := l.Warnings(); len(got) != 1 || got[0] != unused {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), unused)
	}
}

// TestSyntax checks the line and the remedy of texts that are no YAML or not one section.
func TestSyntax(t *testing.T) {
	const keys = "(keys: name, seed, init_from, data, model, train, checkpoint, device, precision, kernels, workers)"
	for src, want := range map[string]string{
		"seed:\n}":                              "run.yaml:2: not valid YAML: did not find expected node content",
		"seed: 1\n\tname: b\n":                  "run.yaml:2: not valid YAML: found a tab character that violates indentation (indent with spaces)",
		"data: [1,2\nname: b\n":                 "run.yaml:2: not valid YAML: did not find expected ',' or ']' (close the list with ])",
		"seed: 1\ndata: {a: 2\n":                "run.yaml:2: not valid YAML: did not find expected ',' or '}' (close the section with })",
		"name: b: c\n":                          "run.yaml:1: not valid YAML: mapping values are not allowed in this context (quote text with a colon in it; start the keys of a section in the same column)",
		"seed: 1\nname: @a\n":                   "run.yaml:2: not valid YAML: found character that cannot start any token (quote text that starts with @, %, ` or a tab; indent with spaces)",
		"seed: 1\nname: *a\n":                   "run.yaml:2: not valid YAML: unknown anchor 'a' referenced (quote text that starts with *)",
		"seed: 1\nname: 'a\n\n":                 "run.yaml:2: not valid YAML: found unexpected end of stream (close the quotes)",
		"seed: 1\n---\nseed: 2":                 "run.yaml:2: a second document starts here (a run file is one document, without ---)",
		"seed: 1\nname: \xff":                   "run.yaml:2: byte 0xff is not UTF-8 (save the file as UTF-8)",
		"\xff\xfes\x00":                         "run.yaml:1: byte 0xff is not UTF-8 (save the file as UTF-8)",
		"\nname: \x01":                          "run.yaml:2: control character 0x01 is not allowed (remove it)",
		"\n- seed\n":                            "run.yaml:2: is a list, want keys with values " + keys,
		"seed 1":                                "run.yaml:1: is text, want keys with values " + keys,
		"[1]: 2":                                "run.yaml:1: has a key that is no plain word " + keys,
		"? {a: b}\n: 1":                         "run.yaml:1: has a key that is no plain word " + keys,
		strings.Repeat("[", 1e5):                "run.yaml: not valid YAML: exceeded max depth of 10000 (a run file nests three deep)",
		"name: " + strings.Repeat("a", largest): "run.yaml: is larger than 1048576 bytes and so no run file",
	} {
		same(t, messages(t, src), want)
	}
}

// TestValues checks what each type takes and refuses.
func TestValues(t *testing.T) {
	for src, want := range map[string]string{
		"model: {layers: 1e3}":                      "",
		"model: {layers: +4, width: 1_28}":          "",
		"model: {layers: 4.0, dropout: 0}":          "",
		"train: {clip: 1, optimizer: {lr: 1e-3}}":   "",
		"train: {clip: .5}":                         "",
		"name: 2024-01-01":                          "",
		"data: {train: a.txt}":                      "",
		"data: {train: []}":                         "",
		"model: {layers: &n 8, heads: *n}":          "",
		"model: {attention: {window: 16}}":          "",
		"model: {attention: {window: [16, 1e1]}}":   "",
		"seed: -9223372036854775808":                "",
		"seed: 9223372036854775808":                 "seed: 9223372036854775808 does not fit 64 bits",
		"seed: 0x10":                                "seed: 0x10 is not a whole number in decimal",
		"seed: 1.5":                                 "seed: 1.5 is not a whole number",
		"seed: 1e300":                               "seed: 1e300 is not a whole number",
		"seed: true":                                "seed: true is not a whole number in decimal",
		"seed: [1]":                                 "seed: is a list, want a whole number",
		"seed: {a: 1}":                              "seed: is a section, want a whole number",
		"seed: ~":                                   "seed: has no value (give one, or leave the key out for its default)",
		"seed: one":                                 `seed: "one" is text, want a whole number`,
		"seed: !!int abc":                           "seed: abc is not a whole number in decimal",
		"name: 123":                                 `name: 123 is a number, want text (write "123")`,
		"name: true":                                `name: true is true/false, want text (write "true")`,
		"name: [a]":                                 "name: is a list, want text",
		"name: !!binary YQ==":                       "name: has the tag !!binary, which is not read here (remove it)",
		"model: !!omap {}":                          "model: has the tag !!omap, which is not read here (remove it)",
		"model: {tied: True}":                       "model.tied: True is neither true nor false",
		"model: {tied: 1}":                          "model.tied: 1 is neither true nor false",
		"model: {dropout: .nan}":                    "model.dropout: .nan is not a finite number in decimal",
		"model: {dropout: 1e999}":                   `model.dropout: "1e999" is text, want a number`,
		"model: {layers: 4, layers: 5}":             "model.layers: is given twice (first on line 1)",
		"model: {position: {theta: {a: 1}}}":        "model.position.theta: is a section, want a list of numbers",
		"model: {position: {theta: [1, [2]]}}":      "model.position.theta: value 2: is a list, want a number",
		"data: {train: [a, ~]}":                     "data.train: value 2: is empty, want text",
		"data: {train: &a [*a]}":                    "data.train: value 1: is a list, want text",
		"model: &m {norm: *m}":                      "model.norm.norm: unknown key (did you mean model.norm?)",
		`"model\n": 1`:                              `"model\n": unknown key (did you mean model?)`,
		"model:":                                    "model: has no value (give one, or leave the key out for its default)",
		"train: {kind: a}":                          "train.kind: unknown key (allowed: steps, batch, accumulate, optimizer, schedule, clip, guard, eval, sample, inspect, log)",
		"model: {kv-heads: 2}":                      "model.kv-heads: unknown key (did you mean model.kv_heads?)",
		"optimizer: {lr: 1}":                        "optimizer: unknown key (did you mean train.optimizer?)",
		strings.Repeat("x", 200) + ": 1":            strings.Repeat("x", 100) + "…: unknown key (allowed: name, seed, init_from, data, model, train, checkpoint, device, precision, kernels, workers)",
		"model: {norm: {placement: qqqqqqqq}}":      `model.norm.placement: "qqqqqqqq" is not known (allowed: ` + strings.Join(model.Placements(), ", ") + ")",
		"<<: {}":                                    "the merge key << is not read here (write the keys out)",
		"train: {optimizer: {betas: [0.9, 1]}}":     "train.optimizer.betas: value 2: 1 is out of range (from 0 to below 1)",
		"init_from: \"a\"\ninit_from: \"b\"\n# end": "init_from: is given twice (first on line 1)",
	} {
		got := messages(t, src)
		if want == "" {
			same(t, got)
			continue
		}
		line := "run.yaml:1: "
		if strings.HasPrefix(want, "init_from") {
			line = "run.yaml:2: "
		}
		same(t, got, line+want)
	}
}

// TestNoRuleOnUnreadKeys expects nothing about a default that stands in for a value that could not be read.
func TestNoRuleOnUnreadKeys(t *testing.T) {
	same(t, messages(t, "model:\n  width: 130\n  heads: four\n"), `run.yaml:3: model.heads: "four" is text, want a whole number`)
}

// TestAliasesStayCheap reads aliases of aliases, which expand to 10^9 values where they are followed blindly.
func TestAliasesStayCheap(t *testing.T) {
	src := "data: &a0 [x]\n"
	for i := range 9 {
		src += "k" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat("*a"+string(rune('0'+i))+",", 10) + "]\n"
	}
	if got := messages(t, src+"model: {position: {theta: *a9}}\n"); len(got) != 11 {
		t.Errorf("%d problems, want 11:\n%s", len(got), strings.Join(got, "\n"))
	}
}
