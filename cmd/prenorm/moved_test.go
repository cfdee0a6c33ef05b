package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMovedFolder moves a run's folder away while it trains, and has another process train a run under its name: the first stops with an error that
// names the new place, and the other's checkpoints and process number are left alone.
func TestMovedFolder(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace bool
		args    []string
	}{
		{"replaced", true, nil},
		{"replaced, saved in the foreground", true, []string{"--set", "checkpoint.background=never"}},
		{"replaced near the end", true, []string{"--set", "checkpoint.every=10", "--set", "train.steps=11", "--set", "checkpoint.background=never"}},
		{"gone", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTiny(t)
			withKernels(t, hooked(11, func() {
				if err := os.Rename("run", "run-2"); err != nil {
					t.Skip("this system moves no folder with an open file: ", err)
				}
				if c.replace {
					process(t, "", "train", "tiny.yaml", "--out", "run", "--set", "checkpoint.keep=1", "--max-step", "3").want(t, exitOK)
					write(t, filepath.Join("run", "run.pid"), "the other's")
				}
			}))
			r := command(append([]string{"train", "tiny.yaml", "--out", "run"}, c.args...)...)
			r.want(t, exitFailure, "run folder run: the folder that this run began in is not there any more", "it is run-2 now", "go on with prenorm train run-2")
			if n := strings.Count(r.errOut, "is not there any more"); n != 1 || strings.Contains(r.out, "done:") || strings.Contains(r.errOut, "trained again") {
				t.Errorf("said %d times:\n%s\n%s", n, r.out, r.errOut)
			}
			if exists("run") != c.replace {
				t.Errorf("a folder under the old name: %v", exists("run"))
			}
			if c.replace && (newestOf(t, "run") != 3 || read(t, filepath.Join("run", "run.pid")) != "the other's") {
				t.Error("the other run is not what it was")
			}
			if newestOf(t, "run-2") < 8 {
				t.Error("what was saved is lost")
			}
			withKernels(t, openOriginal)
			command("train", "run-2").want(t, exitOK, "done: step")
		})
	}
}

// TestMovedStart moves the folder away before the run has begun, which then fails: nothing that it would undo is undone under the old name.
func TestMovedStart(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "other", "--max-step", "3").want(t, exitOK)
	c, err := claimFolder("run")
	must(err)
	c.wrote = true
	write(t, filepath.Join("run", "config.yaml"), tiny)
	if err := os.Rename("run", "run-2"); err != nil {
		t.Skip("this system moves no folder with an open file: ", err)
	}
	must(os.Rename("other", "run"))
	if err := c.release(newTrain(), true); err == nil || !strings.Contains(err.Error(), "it is run-2 now") {
		t.Error(err)
	}
	if step := newestOf(t, "run"); !exists(filepath.Join("run", "config.yaml")) || step != 3 {
		t.Error("the other run is not what it was, at step", step)
	}
}

// TestOtherThings puts a link and a file in the place of checkpoints: each command that looks for checkpoints says so once, and goes on.
func TestOtherThings(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "4").want(t, exitOK)
	root := filepath.Join("run", "checkpoints")
	must(os.Rename(filepath.Join(root, "step-00000004"), "away"))
	away, err := filepath.Abs("away")
	must(err)
	link := filepath.Join(root, "step-00000004")
	if err := os.Symlink(away, link); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	says := "note: " + link + ": is a link and no folder, so no checkpoint"
	command("train", "run", "--resume").want(t, exitUsage, says, "holds no checkpoint to go on from")
	command("verify", "run").want(t, exitFailure, says)
	command("sample", "run", "--tokens", "3").want(t, exitFailure, "run holds no checkpoint: "+link+": is a link and no folder")
	command("train", "run", "--dry-run").want(t, exitOK, says)
	r := command("train", "run")
	r.want(t, exitOK, says, "starting at step 0", "done: step 20 of 20")
	if n := strings.Count(r.out+r.errOut, "is a link"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if at, err := os.Readlink(link + ".aside-1"); err != nil || at != away || !exists(filepath.Join(away, "manifest.json")) {
		t.Errorf("the link leads to %s, %v", at, err)
	}
	command("verify", "run").want(t, exitOK, "whole, step 20")
}
