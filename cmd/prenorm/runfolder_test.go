package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunFolderForRunFile gives a run's folder to commands that take a run file.
func TestRunFolderForRunFile(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--max-step", "4").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	command("data", "export", run, "--out", "tokens").want(t, exitOK, "train.bin")
	command("plan", run, "--device", "cpu").want(t, exitOK)
	command("config", run).want(t, exitOK, "name: tiny")
	command("data", "report", run).want(t, exitOK, "text.txt", "bigram")
	command("config", "tiny.yaml", "--diff", run).want(t, exitOK, "no differences")
	few := []string{"--set", "train.steps=2", "--set", "train.schedule.warmup=0", "--lrs", "1e-3", "--seeds", "1", "--placements", "pre"}
	for _, name := range []string{"compare", "lr"} {
		command(append([]string{"lab", name, run, "--out", name}, few...)...).want(t, exitOK, "1 run of 2 steps into "+name)
	}
	command("bench", "--config", run, "--set", "model.layers=0").want(t, exitUsage, "--set model.layers=0: 0 is out of range") // its settings are read
	for path, want := range map[string]string{
		filepath.Join(run, "checkpoints", "step-00000004"): "is the folder of a checkpoint: give its run's folder, or its settings, ",
		filepath.Join(run, "checkpoints"):                  "is the folder of a run's checkpoints: give the run's folder, " + run,
		filepath.Join(run, "data"):                         "holds no run, as it has no config.yaml",
	} {
		for _, args := range [][]string{{"plan", path}, {"verify-resume", path}, {"data", "export", path, "--out", "none"}, {"bench", "--config", path}, {"config", run, "--diff", path}} {
			command(args...).want(t, exitUsage, want)
		}
	}
}

// TestOwnRunFile wants the line of a run's own file, which may be changed, to be told, and none of a checkpoint's, which may not.
func TestOwnRunFile(t *testing.T) {
	inTiny(t)
	write(t, filepath.Join("new", "config.yaml"), "name: new\nmodel: {layers: 0}\n")
	command("plan", "new", "--device", "cpu").want(t, exitUsage, filepath.Join("new", "config.yaml")+":2")
	command("train", "tiny.yaml", "--max-step", "4").want(t, exitOK)
	if r := command("plan", filepath.Join("runs", "tiny"), "--device", "cpu", "--set", "model.layers=0").want(t, exitUsage, "model.layers"); strings.Contains(r.errOut, "checkpoints") {
		t.Errorf("points to a checkpoint: %s", r.errOut)
	}
}

// TestReportTellsOnce has notes on the text in the report alone.
func TestReportTellsOnce(t *testing.T) {
	inTexts(t)
	write(t, "b.jsonl", "{\"text\": \"one \\u0000\"}\n{\"text\": \"two\"}\n")
	r := command("data", "report", "b.jsonl").want(t, exitOK, "1 NUL character (at b.jsonl:1)")
	if strings.Count(r.out+r.errOut, "1 NUL character") != 1 {
		t.Errorf("told more than once:\n%s%s", r.out, r.errOut)
	}
}

// TestStoppedTellsOfPreparedText stops a start whose text is there from before.
func TestStoppedTellsOfPreparedText(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--dry-run").want(t, exitOK)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	kept := "the text that was prepared is kept in " + filepath.Join("runs", "tiny", "data") + ": the same command goes on where that was"
	commandWith(ctx, "", "train", "tiny.yaml").want(t, exitInterrupted, kept, "to start: prenorm train tiny.yaml")
}
