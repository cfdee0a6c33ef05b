package configs

import (
	"strings"
	"testing"

	"prenorm/configs/problem/problemtest"
)

// FuzzParse looks for a panic, an empty message, and a run that does not survive being written and read.
func FuzzParse(f *testing.F) {
	for _, name := range Presets() {
		src, _ := Preset(name)
		f.Add(string(src), "data.train=a.txt")
	}
	for _, src := range []string{
		"", "---\n", "seed: 1\n---\n", "model: {heads: 5}", "model: &m {norm: *m}", "<<: *a", "a: !!binary x", "? {a: b}\n: c", "key:\n}",
		"train: {sample: {prompt: \"\\0\\x85\\u2028\\ufeff\\ud800\"}}", "train: {sample: {prompt: |\n  a\n   b\n}}", "- - - -", "{{},<<}", "%YAML 1.2\n---\n",
		"model: {position: {theta: [1e-300, -0.0, .5]}}", "init_from: '  a: b # c '", "name: \"a\xc2\x85b\"",
	} {
		f.Add(src, "model.norm={kind: layernorm}")
		f.Add(src, "train.sample.prompt="+src)
	}
	f.Fuzz(func(t *testing.T, src, set string) {
		var l *Loaded
		var err error
		problemtest.Bounded(t, len(src)+len(set), 2000, func() { l, err = Parse("f.yaml", []byte(src), []string{set}) })
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if len(line) < len("f.yaml: x") {
					t.Fatalf("message %q of %q", line, err)
				}
			}
			return
		}
		l.Warnings()
		roundTrip(t, l)
	})
}
