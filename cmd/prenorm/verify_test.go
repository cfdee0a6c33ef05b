package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify: whole checkpoints, one with a changed byte, one cut short, and what is no checkpoint.
func TestVerify(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml").want(t, exitOK)
	var all []verifyRecord
	read := func(code int, args ...string) {
		t.Helper()
		all = nil
		if err := json.Unmarshal([]byte(command(append([]string{"verify", "--json"}, args...)...).want(t, code).out), &all); err != nil {
			t.Fatal(err)
		}
	}
	read(exitOK, "runs/tiny")
	if len(all) < 2 || !all[0].Whole || all[0].Step >= all[1].Step || all[0].Files < 5 || all[0].Bytes < 1000 {
		t.Fatalf("found %+v", all)
	}
	first, second := all[0].Checkpoint, all[1].Checkpoint
	command("verify", "runs/tiny").want(t, exitOK, first+": whole, step ")
	path := filepath.Join(first, "optimizer.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	write(t, path, string(data))
	read(exitFailure, "runs/tiny")
	if all[0].Whole || !strings.Contains(all[0].Problem, "optimizer.safetensors: does not have the checksum") || !all[1].Whole {
		t.Errorf("found %+v", all)
	}
	write(t, path, string(data[:9]))
	command("verify", first).want(t, exitFailure, first+": NOT WHOLE: optimizer.safetensors: has 9 bytes")
	read(exitOK, second)
	command("verify", "runs").want(t, exitFailure, "runs: holds no checkpoint: give the folder of a run")
	must(os.Remove(filepath.Join(second, "manifest.json")))
	command("verify", second).want(t, exitFailure, second+": NOT WHOLE: manifest.json: is missing")
	command("verify", "nowhere").want(t, exitFailure, "nowhere: there is no such folder: give that of a run")
	command("verify").want(t, exitUsage, "takes folders of runs or of checkpoints")
}

// TestDiff: a run that was stopped and gone on with is the same as one that was not, and another seed is another run.
func TestDiff(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "runs/a").want(t, exitOK)
	process(t, "kill 15", "train", "tiny.yaml", "--out", "runs/b", "--set", "checkpoint.background=never")
	command("train", "tiny.yaml", "--out", "runs/b").want(t, exitOK, "resumed from step 12 of 20")
	command("diff", "runs/a", "runs/b").want(t, exitOK, "same, bit for bit")
	command("train", "tiny.yaml", "--out", "runs/c", "--set", "seed=6").want(t, exitOK)
	r := command("diff", "runs/a", "runs/c").want(t, exitFailure, "state: ", "seed", "settings: seed 5, 6\n", "embed_tokens.weight", "changed")
	if strings.Contains(r.out, "only in") {
		t.Errorf("says\n%s", r.out)
	}
	var d diffRecord
	if err := json.Unmarshal([]byte(command("diff", "runs/a", "runs/c", "--json").want(t, exitFailure).out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Same || len(d.Tensors) < 10 || d.Tensors[0].Changed == 0 || d.Tensors[0].Largest == 0 {
		t.Errorf("found %+v", d)
	}
	command("diff", "runs/a").want(t, exitUsage, "takes two folders")
	command("diff", "runs/a", "runs").want(t, exitFailure, "runs holds no checkpoint")
}

// TestVerifyResumeHeldBack checks a run that holds steps back: each counts as a step, and what was recorded of it is compared.
func TestVerifyResumeHeldBack(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "")
	wild := []string{"verify-resume", "tiny.yaml", "--steps", "5", "--out", "both", "--set", "train.optimizer.lr=0.1", "--set", "train.schedule.warmup=0",
		"--set", "train.guard={policy: skip, sigma: 0.01, window: 2, limit: 2, bundles: 0}"}
	command(wild...).want(t, exitOK, "same, bit for bit")
	path := "both/parts/metrics.jsonl"
	text := read(t, path)
	if !strings.Contains(text, `"kind":"guard"`) {
		t.Fatalf("nothing is held back:\n%s", text)
	}
	if got := losses("both/parts"); len(got) != 10 {
		t.Errorf("steps %q", got)
	}
	write(t, path, strings.Replace(text, `"cause":"`, `"cause":"not `, 1))
	c := &resumeCheck{verifyResumeFlags: &verifyResumeFlags{steps: 5}}
	if differ, err := c.differ("both/whole", "both/parts", stopOf(t.Context())); err != nil || !strings.Contains(differ, "held back") {
		t.Errorf("another cause: %q, %v", differ, err)
	}
}

// TestVerifyResume: the whole check with real kills, also with another number of workers after it, and with a step that is not what it was.
func TestVerifyResume(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "") // the processes that it starts
	r := command("verify-resume", "tiny.yaml", "--steps", "6", "--workers", "1", "--resume-workers", "2")
	r.want(t, exitOK, sameAfter(r, 6))
	if _, err := os.Stat("runs"); err == nil {
		t.Error("runs/ was touched")
	}
	command("train", "tiny.yaml", "--max-step", "4").want(t, exitOK)
	r = command("verify-resume", "runs/tiny", "--steps", "2")
	r.want(t, exitOK, sameAfter(r, 2))
	if saved := filesLike("runs/tiny/checkpoints", "*"); len(saved) != 1 {
		t.Errorf("the run was gone on with: %v", saved)
	}
	command("verify-resume", "tiny.yaml", "--steps", "5", "--out", "both").want(t, exitOK, "same, bit for bit")
	if got := losses("both/parts"); len(got) != 10 || !strings.HasPrefix(got[9], "step 10: loss ") {
		t.Errorf("steps %q", got)
	}
	c := &resumeCheck{verifyResumeFlags: &verifyResumeFlags{steps: 5}}
	if differ, err := c.differ("both/whole", "both/parts", stopOf(t.Context())); differ != "" || err != nil {
		t.Errorf("differ: %s, %v", differ, err)
	}
	path := "both/parts/metrics.jsonl"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(data), `"loss":`, `"loss":1`, 3))
	if differ, err := c.differ("both/whole", "both/parts", stopOf(t.Context())); err != nil || !strings.Contains(differ, "step 1: loss ") || !strings.Contains(differ, "with it step 1: loss 1") {
		t.Errorf("another loss: %q, %v", differ, err)
	}
	command("train", "tiny.yaml", "--out", "both/other", "--max-step", "10", "--set", "train.log.every=1", "--set", "checkpoint.every=5", "--set", "train.optimizer.lr=0.02").want(t, exitOK, "step limit of 10 reached")
	if differ, err := c.differ("both/whole", "both/other", stopOf(t.Context())); err != nil || !strings.Contains(differ, "files [config.yaml]") {
		t.Errorf("another rate: %q, %v", differ, err)
	}
	for args, want := range map[string]string{
		"verify-resume tiny.yaml --steps 11":                    "--steps 11: wants 1 to 10",
		"verify-resume tiny.yaml --steps 0":                     "--steps 0: wants 1 to 10",
		"verify-resume tiny.yaml --out both":                    "--out: mkdir both",
		"verify-resume tiny.yaml --set data.train=-":            "comes from standard input",
		"train tiny.yaml --max-step -1":                         "--max-step -1: wants a step from 1 on",
		"verify-resume tiny.yaml --steps 5 --resume-workers -1": "--resume-workers -1",
	} {
		command(strings.Fields(args)...).want(t, exitUsage, want)
	}
}

// TestDiffOfSettings compares runs whose settings alone differ: those that change no result leave the state the same, and others are named.
func TestDiffOfSettings(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "tiny.yaml", "--out", "other", "--max-step", "9").want(t, exitOK)
	command("train", "tiny.yaml", "--out", "other", "--workers", "2", "--set", "checkpoint.background=never").want(t, exitOK)
	r := command("diff", "whole", "other").want(t, exitOK, "settings: workers 1, 2 (changes no result)", "settings: checkpoint.background auto, never (changes no result)", "the rest is the same, bit for bit")
	if strings.Contains(r.out, "files:") {
		t.Error(r.out)
	}
	var d diffRecord
	if err := json.Unmarshal([]byte(command("diff", "whole", "other", "--json").want(t, exitOK).out), &d); err != nil || d.Same || !d.SameState || len(d.Settings) != 2 || !d.Settings[1].Free {
		t.Errorf("%v, found %+v", err, d)
	}
	command("train", "other", "--set", "train.steps=21", "--set", "train.optimizer.lr=0.02").want(t, exitOK)
	if r := command("diff", "whole", "other").want(t, exitFailure, "settings: train.steps 20, 21\n"); strings.Contains(r.out, "the rest is the same") {
		t.Error(r.out)
	}
}
