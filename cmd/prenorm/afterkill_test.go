package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpareAfterKill puts back a checkpoint that a save has removed, as a process leaves it that is killed between the two: the next start
// removes it, and says so, where a process was killed, its policy has not changed, and nobody asks for a step by its number.
func TestSpareAfterKill(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "begun", "--max-step", "4").want(t, exitOK)
	must(os.CopyFS("spare", os.DirFS(filepath.Join("begun", "checkpoints", "step-00000004"))))
	command("train", "begun", "--max-step", "13").want(t, exitOK)
	before := checkpointNames(t, "begun")
	if strings.Contains(before, "step-00000004") {
		t.Fatalf("it was not removed: %s", before)
	}
	for _, c := range []struct {
		name   string
		killed bool
		args   []string
		goes   bool
	}{
		{"killed", true, []string{"--max-step", "13"}, true},
		{"not killed", false, []string{"--max-step", "13"}, false},
		{"another policy", true, []string{"--max-step", "13", "--set", "checkpoint.keep=1"}, false},
		{"more of the best", true, []string{"--max-step", "13", "--set", "checkpoint.keep_best=3"}, false},
		{"multiples", true, []string{"--max-step", "13", "--set", "checkpoint.keep_every=4"}, false},
		{"by its step", true, []string{"--max-step", "4", "--from-step", "4"}, false},
		{"refused", true, []string{"--set", "seed=7"}, false},
	} {
		run := strings.ReplaceAll(c.name, " ", "-")
		must(os.CopyFS(run, os.DirFS("begun")))
		spare := filepath.Join(run, "checkpoints", "step-00000004")
		must(os.CopyFS(spare, os.DirFS("spare")))
		if c.killed {
			write(t, filepath.Join(run, "run.pid"), "1\n")
		}
		r := command(append([]string{"train", run}, c.args...)...)
		if c.name != "refused" {
			r.want(t, exitOK)
		}
		said := strings.Contains(r.out, "removed "+spare+", which the process before would have removed")
		if exists(spare) == c.goes || said != c.goes {
			t.Errorf("%s: it is there: %v, and its removal was said: %v\n%s", c.name, exists(spare), said, r.out)
		}
		if now := checkpointNames(t, run); c.goes && now != before {
			t.Errorf("%s: there are %s, want %s", c.name, now, before)
		}
	}
}

// TestSpareOfDoneRun is the same for a run that is at its last step, and so never saves again.
func TestSpareOfDoneRun(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "4").want(t, exitOK)
	spare := filepath.Join("run", "checkpoints", "step-00000004")
	must(os.CopyFS("spare", os.DirFS(spare)))
	command("train", "run").want(t, exitOK)
	must(os.CopyFS(spare, os.DirFS("spare")))
	command("train", "run").want(t, exitOK, "nothing was trained")
	if !exists(spare) {
		t.Fatal("nobody was killed, and it is gone")
	}
	write(t, filepath.Join("run", "run.pid"), "1\n")
	command("train", "run").want(t, exitOK, "removed "+spare, "nothing was trained")
	if exists(spare) || newestOf(t, "run") != 20 {
		t.Errorf("there are %s", checkpointNames(t, "run"))
	}
}

// TestUnfinishedRunFiles wants what killed processes have left of run files and copies of measurements to be removed at the next start, and
// nothing else of such a name.
func TestUnfinishedRunFiles(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "4").want(t, exitOK)
	left := map[string]bool{"config.yaml.tmp-123-0123abcd": false, "metrics.aside-1.jsonl.tmp-9-ffffffff": false,
		"config.yaml.tmp-mine": true, "config.yaml.tmp-123-0123ABCD": true, "notes.txt.tmp-123-0123abcd": true, "my.config.yaml.tmp-123-0123abcd": true, "config.yaml.tmp-123-0123abcd0": true}
	for name := range left {
		write(t, filepath.Join("run", name), "half")
	}
	must(os.Mkdir(filepath.Join("run", "config.yaml.tmp-124-0123abcd"), 0o755))
	left["config.yaml.tmp-124-0123abcd"] = true
	command("train", "run", "--dry-run").want(t, exitOK)
	for name := range left {
		if !exists(filepath.Join("run", name)) {
			t.Errorf("a dry run removes %s", name)
		}
	}
	command("train", "run", "--max-step", "5").want(t, exitOK)
	for name, stays := range left {
		if exists(filepath.Join("run", name)) != stays {
			t.Errorf("%s is there: %v", name, !stays)
		}
	}
}
