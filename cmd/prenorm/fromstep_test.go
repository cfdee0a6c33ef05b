package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFromStep goes on from an older checkpoint in place: the result is the run's own, nothing is deleted, and what was set aside can be read.
func TestFromStep(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	const keepAll = "checkpoint.keep=0"
	command("train", "tiny.yaml", "--out", "run", "--set", keepAll).want(t, exitOK)
	metrics := read(t, filepath.Join("run", "metrics.jsonl"))
	aside := filepath.Join("run", "checkpoints", "step-00000020.aside-1")
	r := command("train", "run", "--from-step", "8", "--max-step", "9").want(t, exitOK, "going back to step 8; nothing is deleted", aside, "resumed from step 8 of 20")
	if strings.Contains(r.out, "--from-step") || strings.Contains(r.out, "--max-step") {
		t.Errorf("the command to go on with would go back again, or stop at once:\n%s", r.out)
	}
	for _, name := range []string{"step-00000004", "step-00000008", "step-00000009", "step-00000012.aside-1", "step-00000016.aside-1", "step-00000020.aside-1"} {
		if !exists(filepath.Join("run", "checkpoints", name)) {
			t.Errorf("%s is gone", name)
		}
	}
	if read(t, filepath.Join("run", "metrics.aside-1.jsonl")) != metrics {
		t.Error("the measurements were not kept")
	}
	command("train", "run").want(t, exitOK, "resumed from step 9 of 20", "done: step 20")
	same(t, "whole", "run")
	command("diff", aside, filepath.Join("run", "checkpoints", "step-00000020")).want(t, exitOK, "same, bit for bit")
	command("train", "run", "--from-step", "16", "--set", "train.optimizer.lr=0.001").want(t, exitOK, "step-00000020.aside-2", "changed: train.optimizer.lr", "done: step 20")
}

// TestFromUnmeasured goes back in a run whose measurements are gone: none are kept, and none are spoken of.
func TestFromUnmeasured(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	must(os.Remove(filepath.Join("whole", "metrics.jsonl")))
	r := command("train", "whole", "--from-step", "16", "--max-step", "17").want(t, exitOK, "going back to step 16; nothing is deleted:\n  "+filepath.Join("whole", "checkpoints", "step-00000020.aside-1"))
	if len(filesLike("whole", "metrics.aside-*")) > 0 || strings.Contains(r.out, "measurements") {
		t.Errorf("measurements are kept that there were not\n%s", r.out)
	}
}

// TestFromSpoiled goes on from before the newest checkpoint, whose bytes are not whole any more.
func TestFromSpoiled(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	newest := filepath.Join("whole", "checkpoints", "step-00000020")
	if err := os.CopyFS("copy", os.DirFS(filepath.Join("whole", "checkpoints", "step-00000016"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(newest, "model.safetensors"), "spoiled")
	command("train", "whole", "--from-step", "20").want(t, exitFailure, "--from-step 20: the checkpoint is not whole", "model.safetensors")
	command("train", "whole", "--from-step", "16").want(t, exitOK, "resumed from step 16 of 20", "done: step 20")
	if read(t, filepath.Join(newest+".aside-1", "model.safetensors")) != "spoiled" {
		t.Error("the spoiled one is gone")
	}
}

func TestFromStepRefuses(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "whole", "--from-step", "7").want(t, exitUsage, "--from-step 7: whole has no checkpoint of that step (steps: 16, 20)")
	command("train", "whole", "--from-step", "16", "--fresh").want(t, exitUsage, "exclude each other")
	command("train", "whole", "--from-step", "16", "--dry-run").want(t, exitUsage, "--dry-run and --from-step exclude each other")
	for _, flag := range []string{"--max-step=18", "--max-seconds=1"} {
		command("train", "whole", "--dry-run", flag).want(t, exitUsage, "exclude each other")
	}
	if r := command("train", "whole", "--from-step", "16.aside-1").want(t, exitUsage, "from-step", "wants the step of a checkpoint, a number such as 300"); strings.Contains(r.errOut, "strconv") {
		t.Error(r.errOut)
	}
	for _, step := range []string{"-1", "-2"} {
		command("train", "whole", "--from-step", step).want(t, exitUsage, "wants the step of a checkpoint")
	}
	command("train", "tiny.yaml", "--out", "none", "--from-step", "8").want(t, exitUsage, "--from-step 8: none has no checkpoint at all")
	r := command("train", "tiny.yaml", "--out", "whole", "--from-step", "16", "--set", "data.train=gone.txt")
	if r.code == exitOK || !exists(filepath.Join("whole", "checkpoints", "step-00000020")) || exists(filepath.Join("whole", "checkpoints", "step-00000020.aside-1")) {
		t.Errorf("a start that failed did not put the checkpoints back: %+v", r)
	}
}
