package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyResumeResumes wants the killed run to go on from a checkpoint that it saved before it was killed, however short its steps and however
// few of its checkpoints it keeps.
func TestVerifyResumeResumes(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "")
	for _, background := range []string{"always", "never"} {
		out := "both-" + background
		r := command("verify-resume", "tiny.yaml", "--steps", "1", "--out", out, "--set", "checkpoint.keep=1", "--set", "checkpoint.background="+background).want(t, exitOK, "going on from step 1 …")
		r.want(t, exitOK, sameAfter(r, 1))
		if !exists(filepath.Join(out, "parts", "checkpoints", "step-00000001")) {
			t.Error("there is no checkpoint that was gone on from")
		}
	}
}

// sameAfter is what a comparison of twice so many steps says in the end: a kill is spoken of where there was one, which a few short steps may be too
// quick for.
func sameAfter(r result, steps int) string {
	between := "kill"
	if strings.Contains(r.errOut, "it came to its end before it could be killed") {
		between = "put back to its checkpoint, not killed"
	}
	return fmt.Sprintf("same, bit for bit: %d steps, and %d + %s + %d", 2*steps, steps, between, steps)
}

// TestPutBack removes what a run saved that was at its end when it was killed, and wants a checkpoint to be left.
func TestPutBack(t *testing.T) {
	dir := t.TempDir()
	v := &resumeCheck{verifyResumeFlags: &verifyResumeFlags{steps: 5}}
	root := filepath.Join(dir, "checkpoints")
	for _, name := range []string{"step-00000005", "step-00000007", "step-00000010"} {
		must(os.MkdirAll(filepath.Join(root, name), 0o777))
	}
	if savedStep(dir) != 10 || savedStep(t.TempDir()) != -1 {
		t.Error("the newest is another")
	}
	if at, err := v.putBack(dir); err != nil || at != 7 || savedStep(dir) != 7 {
		t.Errorf("put back to %d, %v", at, err)
	}
	v.steps = 2
	if at, err := v.putBack(dir); err == nil || !strings.Contains(err.Error(), "no checkpoint to go on from") {
		t.Errorf("put back to %d, %v", at, err)
	}
}

// TestVerifyResumeTooQuick has a run come to its end before it is killed: it is not said to have been.
func TestVerifyResumeTooQuick(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "")
	cmd := newVerifyResume()
	cmd.SetErr(io.Discard)
	v := &resumeCheck{verifyResumeFlags: &verifyResumeFlags{steps: 1}, cmd: cmd, file: "tiny.yaml"}
	if _, err := v.train(t.Context(), "parts", 0, 99); err != nil || !strings.Contains(v.between(), "not killed") {
		t.Errorf("%s, %v", v.between(), err)
	}
}

// TestVerifyResumeRefused damages the checkpoint that the killed run is to go on from: it comes to the same end from an older one, which is no proof.
func TestVerifyResumeRefused(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "")
	command("train", "tiny.yaml", "--out", "parts", "--max-step", "5").want(t, exitOK)
	cmd := newVerifyResume()
	cmd.SetErr(io.Discard)
	v := &resumeCheck{verifyResumeFlags: &verifyResumeFlags{steps: 5}, cmd: cmd, file: "tiny.yaml", at: 5}
	v.sets = []string{"checkpoint.keep=2"}
	path := filepath.Join("parts", "checkpoints", "step-00000005", "model.safetensors")
	write(t, path, read(t, path)+"x")
	if differ, err := v.goOn(t.Context(), "parts"); err != nil || !strings.Contains(differ, "did not go on from the checkpoint of step 5") || !strings.Contains(differ, "resumed from step 4 of") {
		t.Errorf("%s, %v", differ, err)
	}
}
