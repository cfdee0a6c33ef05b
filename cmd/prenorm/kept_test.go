package main

import "testing"

// TestVerifySaysWhy wants each checkpoint's reasons, that of the last validation among them.
func TestVerifySaysWhy(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "checkpoint={every: 4, keep: 1, keep_best: 2, keep_every: 8}").want(t, exitOK)
	command("verify", "runs/tiny").want(t, exitOK, "step-00000008: whole, step 8", "files; kept: every 8 steps\n", "files; kept: newest, best validation loss\n",
		"step-00000015: whole", "kept: validation loss number 2\n")
	if r := command("verify", "runs/tiny/checkpoints/step-00000020").want(t, exitOK); r.out[len(r.out)-7:] != " files\n" {
		t.Errorf("one checkpoint: %q", r.out)
	}
}
