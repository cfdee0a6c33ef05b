package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train"
)

// checkpointNames are the checkpoints in a run's folder.
func checkpointNames(t *testing.T, run string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(run, train.CheckpointFolder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestKeptWhereNobodyAsks wants checkpoints that a run's own policy keeps to be removed where the command line says so alone, and that to be said
// before; and a run that is done already to remove none whatever is asked.
func TestKeptWhereNobodyAsks(t *testing.T) {
	inTiny(t)
	all := []string{"train", "tiny.yaml", "--out", "run", "--set", "checkpoint.keep=0"}
	command(append(all, "--max-step", "13")...).want(t, exitOK)
	before := checkpointNames(t, "run")
	if len(strings.Fields(before)) < 4 {
		t.Fatalf("there are %s", before)
	}
	const stays = "checkpoint.keep stays 0 as the run has it: 2 would remove checkpoints that it keeps (--set checkpoint.keep=2 does so)"
	command("train", "tiny.yaml", "--out", "run", "--max-step", "17").want(t, exitOK, stays)
	if now := checkpointNames(t, "run"); !strings.HasPrefix(now, before) {
		t.Errorf("there were %s, now there are %s", before, now)
	}
	r := command("train", "run").want(t, exitOK, "done: step 20")
	done := checkpointNames(t, "run")
	if !strings.HasPrefix(done, before) || strings.Contains(r.out, "stays") {
		t.Errorf("there were %s, now there are %s\n%s", before, done, r.out)
	}
	command("train", "run", "--set", "checkpoint.keep=1").want(t, exitOK, "changed: checkpoint.keep from 0 to 1", "nothing was trained")
	if now := checkpointNames(t, "run"); now != done {
		t.Errorf("nothing was trained: there were %s, now there are %s", done, now)
	}
	command("train", "run", "--set", "checkpoint.keep=1", "--set", "train.steps=21", "--set", "checkpoint.keep_best=0").want(t, exitOK, "changed: checkpoint.keep from 0 to 1")
	if now := checkpointNames(t, "run"); now != "step-00000021" {
		t.Errorf("it was asked for: there are %s", now)
	}
}

func TestTighter(t *testing.T) {
	for _, c := range []struct {
		f       func(was, is int) bool
		was, is int
		want    bool
	}{
		{fewerKept, 0, 3, true}, {fewerKept, 3, 0, false}, {fewerKept, 3, 2, true}, {fewerKept, 2, 3, false}, {fewerKept, 0, 0, false},
		{fewerMultiples, 0, 100, false}, {fewerMultiples, 100, 0, true}, {fewerMultiples, 100, 50, false}, {fewerMultiples, 100, 200, true}, {fewerMultiples, 100, 100, false},
	} {
		if got := c.f(c.was, c.is); got != c.want {
			t.Errorf("from %d to %d: %v", c.was, c.is, got)
		}
	}
}

// TestStartsOver wants a run without checkpoints to say that it starts over, and its measurements to be kept beside.
func TestStartsOver(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	metrics := read(t, filepath.Join("whole", "metrics.jsonl"))
	if err := os.RemoveAll(filepath.Join("whole", train.CheckpointFolder)); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join("whole", "metrics.aside-1.jsonl")
	r := command("train", "whole", "--max-step", "2", "--set", "data.train=gone.txt")
	if r.code == exitOK {
		t.Error("trains on no text")
	}
	command("train", "whole", "--max-step", "2").want(t, exitOK, "no checkpoint yet: starting at step 0", aside)
	if read(t, aside) != metrics {
		t.Error("the measurements were not kept")
	}
	if exists(filepath.Join("whole", "metrics.aside-2.jsonl")) {
		t.Error("the same measurements are kept twice")
	}
	if r := command("train", "whole", "--max-step", "3").want(t, exitOK); strings.Contains(r.out, "no checkpoint") {
		t.Errorf("there is one:\n%s", r.out)
	}
	if r := command("train", "tiny.yaml", "--out", "new", "--max-step", "1").want(t, exitOK); strings.Contains(r.out, "no checkpoint") {
		t.Errorf("a new run says:\n%s", r.out)
	}
}
