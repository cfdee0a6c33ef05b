package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stepFolder is a checkpoint's folder.
func stepFolder(run, step string) string { return filepath.Join(run, "checkpoints", "step-"+step) }

// newerFormat makes a checkpoint one of a later program, and returns its manifest.
func newerFormat(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "manifest.json")
	text := strings.Replace(read(t, path), `"format": 2`, `"format": 3`, 1)
	write(t, path, text)
	return text
}

// TestNewerFormatStopsTheRun wants a run whose newest checkpoint is of a later program neither to go on from an older one nor to write over it:
// it says what to do, and what it says works.
func TestNewerFormatStopsTheRun(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	dir := stepFolder("whole", "00000020")
	manifest := newerFormat(t, dir)
	for _, args := range [][]string{{"train", "whole"}, {"train", "tiny.yaml", "--out", "whole"}, {"train", "tiny.yaml", "--out", "whole", "--dry-run"}} {
		command(args...).want(t, exitFailure, dir, "format 3 is newer than this program", "use the version of prenorm that wrote it", "--from-step 16, which sets it aside", "--fresh")
	}
	command("train", "whole", "--from-step", "20").want(t, exitFailure, "cannot be read", "use the version of prenorm that wrote it")
	if r := command("verify", "whole").want(t, exitFailure, dir+": not checked: manifest.json: format 3"); strings.Contains(r.out, "NOT WHOLE") {
		t.Error(r.out)
	}
	command("sample", "whole", "--tokens", "3").want(t, exitOK, "warning: an older checkpoint is used, because ")
	command("train", "whole", "--from-step", "16").want(t, exitOK, "done: step 20")
	if read(t, filepath.Join(dir+".aside-1", "manifest.json")) != manifest {
		t.Error("the newer one was changed")
	}
	newerFormat(t, dir)
	newerFormat(t, stepFolder("whole", "00000016"))
	r := command("train", "whole").want(t, exitFailure, "none of the 2 under", "can be read by this version of prenorm:\n  step-00000020: manifest.json: format 3", "--fresh, which keeps them")
	if strings.Contains(r.errOut, "whole;") || strings.Contains(r.errOut, "copy") {
		t.Error(r.errOut)
	}
	command("train", "whole", "--fresh", "--max-step", "1").want(t, exitOK, "the old run is now in "+filepath.Join("whole", "old-1"))
}

// TestNoneIsWhole wants a run without a whole checkpoint to name them all, and --fresh, which works for a run's folder too.
func TestNoneIsWhole(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	for _, step := range []string{"00000016", "00000020"} {
		write(t, filepath.Join(stepFolder("whole", step), "state.json"), "spoiled")
	}
	command("train", "whole").want(t, exitFailure, "is whole:\n  step-00000020: state.json: has 7 bytes", "\n  step-00000016: state.json", "restore one from a copy, or start anew with --fresh, which keeps them")
	command("train", "whole", "--fresh", "--max-step", "1").want(t, exitOK, "the old run is now in")
}

// TestFolderOfCheckpoints wants the folder that holds a run's checkpoints to stand for the run where it can, and to be told from a damaged one.
func TestFolderOfCheckpoints(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	folder := filepath.Join("whole", "checkpoints")
	command("verify", folder).want(t, exitOK, stepFolder("whole", "00000020")+": whole, step 20", "kept: newest")
	command("sample", folder, "--tokens", "3").want(t, exitOK)
	command("diff", folder, "whole").want(t, exitOK, "same, bit for bit")
	command("train", folder).want(t, exitUsage, folder+" is the folder of a run's checkpoints: give the run's folder, whole")
	t.Chdir(folder)
	command("verify", ".").want(t, exitOK, "step-00000020: whole")
}

// TestComesBack goes back to an older checkpoint, and returns to what was set aside by what the program says of it.
func TestComesBack(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	measured := read(t, filepath.Join("whole", "metrics.jsonl"))
	dir := stepFolder("whole", "00000020")
	command("train", "whole", "--from-step", "16", "--set", "train.optimizer.lr=0.001", "--max-step", "18").want(t, exitOK, dir+".aside-1", "to come back to one, cut .aside-N off its name")
	command("train", "whole", "--from-step", "20").want(t, exitUsage, "no checkpoint of that step (steps: 16, 18)", "set aside of it:\n  "+dir+".aside-1", "to come back to one")
	must(os.Rename(dir+".aside-1", dir))
	must(os.Rename(filepath.Join("whole", "metrics.aside-1.jsonl"), filepath.Join("whole", "metrics.jsonl")))
	command("train", "whole", "--from-step", "20").want(t, exitOK, "resumed from step 20 of 20")
	if read(t, filepath.Join("whole", "metrics.jsonl")) != measured {
		t.Error("the measurements are not those of before")
	}
}

// TestDryRunOfTheDone wants a rehearsal of a run that is done to say so.
func TestDryRunOfTheDone(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "whole", "--dry-run").want(t, exitOK, "the run is done: it is at step 20 of 20, and nothing is left to train")
	if r := command("train", "whole", "--dry-run", "--set", "train.steps=21").want(t, exitOK); strings.Contains(r.out, "is done") {
		t.Error(r.out)
	}
}
