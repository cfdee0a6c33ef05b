package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data/baseline"
	"prenorm/data/shard"
	"prenorm/train"
)

// TestLines wants the lines of reference wherever a loss is told: at the start of training, behind each validation, in its measurements, in an
// evaluation and in the plot; the same ones, and not measured again.
func TestLines(t *testing.T) {
	inTiny(t)
	r := command("train", "tiny.yaml").want(t, exitOK, "lines   ln V 5.545, unigram ", "step 20/20  the loss is ")
	run := filepath.Join("runs", "tiny")
	kept := filesLike(filepath.Join(run, "data"), "lines-*.json")
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	var e struct{ Lines baseline.Lines }
	if err := json.Unmarshal([]byte(command("eval", run, "--json").want(t, exitOK).out), &e); err != nil {
		t.Fatal(err)
	}
	if l := e.Lines; !(l.Bigram > 0 && l.Bigram < l.Unigram && l.Unigram < l.Uniform) || l.Targets == 0 {
		t.Errorf("lines %+v", l)
	}
	_, stand, _ := strings.Cut(r.out, "step 20/20  the loss is ")
	stand, _, _ = strings.Cut(stand, "\n")
	command("eval", run).want(t, exitOK, "stands", "ln V 5.545, unigram")
	command("inspect", run, "--loss", "loss.svg").want(t, exitOK, "the loss of 20 recorded steps", "the validation loss of step 20 is "+stand)
	for _, name := range []string{"ln V 5.5", "unigram", "bigram", "training loss", "validation loss"} {
		if !strings.Contains(read(t, "loss.svg"), name) {
			t.Errorf("the plot has no %s", name)
		}
	}
	command("inspect", run, "--loss", "loss.png").want(t, exitOK)
	command("inspect", run, "--loss", "loss.pdf").want(t, exitUsage, "ends in .png or .svg")
	for _, other := range []string{"--plot=a.png", "--step=20", "--matrices"} {
		command("inspect", run, "--loss", "loss.png", other).want(t, exitUsage, "exclude each other")
	}
	command("inspect", "nowhere", "--loss", "loss.png").want(t, exitFailure, "holds no metrics.jsonl")

	// A text that is not the run's own has no lines.
	if r := command("eval", run, "text.txt").want(t, exitOK); strings.Contains(r.out, "unigram") {
		t.Error(r.out)
	}
	// Kept lines are read: others in their place, under a checksum that is right, are told. Damaged ones are measured again.
	var l baseline.Lines
	must(shard.Unseal([]byte(read(t, kept[0])), &l))
	l.Uniform += 2
	other, err := json.Marshal(l)
	must(err)
	write(t, kept[0], string(shard.Seal(other)))
	command("eval", run).want(t, exitOK, "ln V 7.545")
	command("train", run, "--set", "train.steps=21").want(t, exitOK, "lines   ln V 7.545")
	write(t, kept[0], strings.Replace(read(t, kept[0]), "7.5", "8.5", 1))
	command("train", run, "--set", "train.steps=22").want(t, exitOK, "lines   ln V 5.545")
	if n := strings.Count(read(t, filepath.Join(run, train.MetricsFile)), `{"kind":"lines"`); n != 1 {
		t.Errorf("%d records of the lines", n)
	}
}
