package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMeasurementsAreGone removes a run's measurements: whoever goes on is told, and a plot says why there is nothing to draw.
func TestMeasurementsAreGone(t *testing.T) {
	inTiny(t)
	const gone = "holds no record of the steps up to 20"
	every := []string{"--set", "train.log.every=30", "--set", "train.eval.every=0"}
	command(append([]string{"train", "tiny.yaml", "--out", "run"}, every...)...).want(t, exitOK, "done: step 20")
	path := filepath.Join("run", "metrics.jsonl")
	lines := strings.SplitAfter(read(t, path), "\n")
	write(t, path, lines[0]) // the lines of reference alone
	command("inspect", "run", "--loss", "a.svg").want(t, exitFailure, "run: no step is recorded: the run records every 30 steps (train.log.every), and has not come so far")
	must(os.Remove(path))
	command("inspect", "run", "--loss", "a.svg").want(t, exitFailure, "run holds no metrics.jsonl: nothing was trained yet, or it was removed")
	r := command("train", "run", "--set", "train.steps=22", "--max-step", "21").want(t, exitOK, "warning: "+path+" "+gone+": was it removed?")
	if strings.Count(r.out, gone) != 1 {
		t.Error(r.out)
	}
	command("inspect", "run", "--loss", "a.svg").want(t, exitFailure, "run: no step is recorded: metrics.jsonl begins at step 20, what was measured before is gone")
	if r := command("train", "run").want(t, exitOK, "done: step 22"); strings.Contains(r.out, "holds no record") {
		t.Error(r.out)
	}
}

// TestValidationBeginsAgain cuts a run's measurements off before the validation and the sample of its last step, as an interruption there does:
// both are done again, and that is said.
func TestValidationBeginsAgain(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	path := filepath.Join("whole", "metrics.jsonl")
	text := read(t, path)
	write(t, path, text[:strings.LastIndex(text, `{"kind":"eval"`)])
	again := []string{"the validation of this step is not in the measurements", "the sample of this step is not in the measurements", "begins again"}
	command("train", "whole").want(t, exitOK, again...)
	if read(t, path) != text {
		t.Error("the measurements are not those of before")
	}
	if r := command("train", "whole").want(t, exitOK); strings.Contains(r.out, "begins again") {
		t.Error(r.out)
	}
}
