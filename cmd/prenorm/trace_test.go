package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// trace is the part of Chrome's trace-event format that is written.
type trace struct {
	Events []struct {
		Name  string         `json:"name"`
		Phase string         `json:"ph"`
		TID   int            `json:"tid"`
		Start float64        `json:"ts"`
		Took  float64        `json:"dur"`
		Args  map[string]any `json:"args"`
	} `json:"traceEvents"`
}

func readTrace(t *testing.T, file string) trace {
	t.Helper()
	var tr trace
	if err := json.Unmarshal([]byte(read(t, file)), &tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// counts says how many events of a name a trace has.
func (tr trace) counts() map[string]int {
	n := map[string]int{}
	for _, e := range tr.Events {
		n[e.Name]++
	}
	return n
}

// timeless is a run's measurements without what a clock gave.
func timeless(t *testing.T, run string) string {
	return regexp.MustCompile(`"(seconds|tokens_per_s)":[^,}]*`).ReplaceAllString(read(t, filepath.Join(run, "metrics.jsonl")), "")
}

// TestProfile wants a run that is profiled to compute what it computes otherwise, and the trace to hold three steps with every launch.
func TestProfile(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "plain").want(t, exitOK)
	command("train", "tiny.yaml", "--out", "traced", "--profile", "trace.json", "--set", "checkpoint.keep_best=0").want(t, exitOK, "profile of steps 10 to 12 written to trace.json\n")
	if a, b := timeless(t, "plain"), timeless(t, "traced"); a != b {
		t.Errorf("measurements differ:\n%s\n%s", a, b)
	}
	weights := filepath.Join("checkpoints", "step-00000020", "model.safetensors")
	if read(t, filepath.Join("plain", weights)) != read(t, filepath.Join("traced", weights)) {
		t.Error("a profiled run has other weights")
	}
	tr := readTrace(t, "trace.json")
	n := tr.counts()
	// Three steps of three micro-batches; steps 10 and 12 are followed by an evaluation or a checkpoint.
	for name, want := range map[string]int{"step": 3, "data": 3, "eval": 1, "checkpoint": 1, "adamw": 6, "global_norm": 3, "attention": 3 * 3 * 2, "upload": 3 * (1 + 3*3 + 1), "download": 9} {
		if n[name] != want {
			t.Errorf("%d events %s, want %d (of %v)", n[name], name, want, n)
		}
	}
	for _, e := range tr.Events {
		if e.Phase == "X" && (e.Start < 0 || e.Took < 0) {
			t.Errorf("%+v runs backwards", e)
		}
		if e.Name == "matmul" && (e.Args["flops"].(float64) <= 0 || e.Args["bytes"].(float64) <= 0 || !strings.Contains(e.Args["path"].(string), "layers.") || len(e.Args["in"].([]any)) < 2) {
			t.Errorf("%+v does not say what it is", e)
		}
	}
}

// TestProfileOfAShortRun takes the last steps there are, and says where there are none.
func TestProfileOfAShortRun(t *testing.T) {
	inTiny(t)
	args := []string{"train", "tiny.yaml", "--set", "train.steps=2", "--set", "train.schedule.warmup=0", "--profile", "trace.json"}
	command(args...).want(t, exitOK, "profile of steps 1 to 2 written")
	if n := readTrace(t, "trace.json").counts(); n["step"] != 2 {
		t.Errorf("%v: want two steps", n)
	}
	before := read(t, "trace.json")
	command(args...).want(t, exitOK, "no profile: the run ended before step 3")
	if read(t, "trace.json") != before {
		t.Error("a trace was changed that nothing came into")
	}
	write(t, "long.json", strings.Repeat("x", 1<<20))
	for _, file := range []string{"long.json", "none.json"} {
		args[len(args)-1] = file
		command(args...).want(t, exitOK, "no profile")
	}
	if exists("none.json") || len(read(t, "long.json")) != 1<<20 {
		t.Error("a file was made or emptied for no trace")
	}
	args[len(args)-1] = "long.json"
	command(append(args, "--fresh")...).want(t, exitOK, "written to long.json")
	if n := readTrace(t, "long.json").counts(); n["step"] != 2 {
		t.Errorf("%v: want two steps", n)
	}
	command("train", "tiny.yaml", "--fresh", "--profile", filepath.Join("nowhere", "trace.json")).want(t, exitUsage, "--profile: open nowhere")
}
