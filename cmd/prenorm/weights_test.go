package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestPackedWeights: eval measures what packing costs, sample writes with it, and both refuse what is no packing.
func TestPackedWeights(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "model.width=64").want(t, exitOK)
	losses := map[string]float64{}
	for _, weights := range []string{"fp32", "bf16", "int8"} {
		var r evalRecord
		if err := json.Unmarshal([]byte(command("eval", "runs/tiny", "--json", "--weights", weights).want(t, exitOK).out), &r); err != nil {
			t.Fatal(err)
		}
		losses[weights] = float64(r.Loss)
		if r.Weights != weights {
			t.Errorf("eval --weights %s says %q", weights, r.Weights)
		}
		command("sample", "runs/tiny", "--prompt", "a", "--tokens", "5", "--weights", weights).want(t, exitOK)
	}
	for _, weights := range []string{"bf16", "int8"} {
		if d := math.Abs(losses[weights] - losses["fp32"]); d == 0 || d > 0.01 {
			t.Errorf("the loss is %v with %s weights and %v with fp32", losses[weights], weights, losses["fp32"])
		}
	}
	for _, args := range []string{"eval runs/tiny --weights int4", "sample runs/tiny --prompt a --weights int4"} {
		command(strings.Fields(args)...).want(t, exitUsage, `--weights "int4": wants fp32, bf16, int8`)
	}
}

// TestSamplesSideBySide: what a sample is does not depend on how many there are, plain or as JSON, with a text that ends some early.
func TestSamplesSideBySide(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml").want(t, exitOK)
	samples := func(n string, more ...string) string {
		return command(append([]string{"sample", "runs/tiny", "--prompt", "a", "--tokens", "40", "--temperature", "2", "--stop", "e", "-n", n}, more...)...).want(t, exitOK).out
	}
	many := strings.SplitAfter(samples("11"), "---\n")
	if len(many) != 11 {
		t.Fatalf("%d samples", len(many))
	}
	lengths := map[int]bool{}
	for _, s := range many {
		lengths[len(s)] = true
	}
	if len(lengths) < 3 {
		t.Errorf("all samples end together: %q", many)
	}
	for _, n := range []int{1, 2, 5} {
		want := strings.TrimSuffix(strings.Join(many[:n], ""), "---\n")
		if got := samples(fmt.Sprint(n)); got != want {
			t.Errorf("%d samples are %q, of 11 they are %q", n, got, want)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(samples("11", "--json")), "\n") {
		var r sampleRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if plain := strings.TrimSuffix(many[i], "---\n"); r.Sample != i || strings.TrimSuffix("a"+r.Text, "\n") != strings.TrimSuffix(string([]rune(plain)), "\n") || r.End != "stop" && r.Tokens != 40 {
			t.Errorf("sample %d is %+v, plain it is %q", i, r, plain)
		}
	}
}

// TestMisfitNamesSettings starts from a run whose model differs in settings that change tensors and in others: the former are named, with both
// values, and what is advised makes the run start.
func TestMisfitNamesSettings(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "first", "--max-step", "1").want(t, exitOK)
	args := []string{"train", "tiny.yaml", "--out", "second", "--max-step", "1", "--set", "init_from=first", "--set", "model.ffn=48", "--set", "model.kv_heads=2", "--set", "model.dropout=0.2", "--set", "model.norm.kind=layernorm"}
	r := command(args...)
	r.want(t, r.code, "model.ffn is 32 there and 48 here", "model.kv_heads is 1 there and 2 here", "model.norm.kind is rmsnorm there and layernorm here")
	_, advised, found := strings.Cut(r.errOut, "set as there:")
	advised, _, _ = strings.Cut(advised, ";")
	if r.code == exitOK || !found || strings.Contains(r.errOut, "model.dropout is") {
		t.Fatalf("exit code %d\n%s", r.code, r.errOut)
	}
	command(append(args, strings.Fields(advised)...)...).want(t, exitOK, "stopped: step limit of 1 reached")
}
