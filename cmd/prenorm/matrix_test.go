package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// killMatrix are runs whose resumption is checked with real processes that are killed, each a few settings beside those of the run tiny.
var killMatrix = []string{
	"",
	"model.norm.placement=post model.dropout=0",
	"model.norm.kind=batchnorm train.accumulate=1",
	"train.optimizer.kind=sgd train.optimizer.momentum=0.9 model.norm.placement=sandwich",
	"data.tokenizer.kind=char train.sample.prompt=times data.val.by=end train.schedule.kind=wsd",
	"data.tokenizer.kind=bpe data.tokenizer.vocab=270 data.train=small.txt data.val.fraction=0.3",
	"data.train=texts model.position.kind=learned model.tied=false",
	"model.norm.placement=deepnorm model.init.kind=auto train.schedule.kind=linear",
	"model.norm.placement=mix model.layers=4 train.inspect.every=2",
	"model.norm.placement=residual train.clip=0 model.attention.qk_norm=head",
}

// TestVerifyResumeMatrix has verify-resume kill processes of several runs and go on with another number of workers. PRENORM_SLOW=1 takes all of
// them, else two.
func TestVerifyResumeMatrix(t *testing.T) {
	inTiny(t)
	t.Setenv(asCommand, "")
	text := read(t, "text.txt")
	write(t, "small.txt", text[:700])
	for i := range 6 {
		write(t, filepath.Join("texts", fmt.Sprintf("%d.txt", i)), text[i*300:][:300])
	}
	some := killMatrix
	if os.Getenv("PRENORM_SLOW") == "" {
		some = []string{killMatrix[2], killMatrix[5]}
	}
	for _, settings := range some {
		args := []string{"verify-resume", "tiny.yaml", "--steps", "6", "--workers", "1", "--resume-workers", "2"}
		for _, s := range strings.Fields(settings) {
			args = append(args, "--set", s)
		}
		if r := command(args...); r.code != exitOK || !strings.Contains(r.out, sameAfter(r, 6)) {
			t.Errorf("%s: exit code %d\n%s%s", settings, r.code, r.out, r.errOut)
		}
	}
	if !t.Failed() {
		t.Logf("%d runs are the same after a kill", len(some))
	}
}

// TestMeasurementsAfterKill kills a run, tears the last line of its measurements as a cut in power does, and wants the next start to say so, and
// the file to be in the end that of a run that nothing happened to.
func TestMeasurementsAfterKill(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	for n, tear := range []func(string) string{
		func(s string) string { return s[:len(s)-9] },
		func(s string) string { return s + `{"kind":"train","st` },
		func(s string) string { return s + strings.Repeat("\x00", 512) },
	} {
		dir := fmt.Sprint("parts", n)
		process(t, "kill 15", "train", "tiny.yaml", "--out", dir, "--set", "checkpoint.background=never")
		path := filepath.Join(dir, "metrics.jsonl")
		write(t, path, tear(read(t, path)))
		command("train", "tiny.yaml", "--out", dir, "--set", "checkpoint.background=never").want(t, exitOK, "resumed from step 12 of 20", "metrics: cut off an unfinished line of ")
		same(t, "whole", dir)
	}
}
