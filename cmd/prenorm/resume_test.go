package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clock matches what depends on time in a run's measurements.
var clock = regexp.MustCompile(`"(tokens_per_s|seconds)":[^,}]*`)

// same holds the last checkpoint and the measurements of two runs against each other, byte for byte.
func same(t *testing.T, run, other string) {
	t.Helper()
	for _, name := range []string{"model.safetensors", "optimizer.safetensors", "state.json", "tokenizer.json"} {
		file := filepath.Join("checkpoints", "step-00000020", name)
		if read(t, filepath.Join(run, file)) != read(t, filepath.Join(other, file)) {
			t.Errorf("%s and %s differ in %s", run, other, file)
		}
	}
	a, b := clock.ReplaceAllString(read(t, filepath.Join(run, "metrics.jsonl")), ""), clock.ReplaceAllString(read(t, filepath.Join(other, "metrics.jsonl")), "")
	if a != b {
		t.Errorf("the measurements differ:\n%s\n%s", a, b)
	}
	if n := strings.Count(a, "\n"); n != 1+20+4+3+2 {
		t.Errorf("%d measurements, want the lines of reference, 20 of updates, 4 of validations, 3 samples and 2 inspections", n)
	}
}

// uninterrupted trains the run tiny into the folder whole.
func uninterrupted(t *testing.T) {
	t.Helper()
	command("train", "tiny.yaml", "--out", "whole", "--workers", "1").want(t, exitOK, "done: step 20 of 20, checkpoint "+filepath.Join("whole", "checkpoints", "step-00000020"))
}

// TestResumeCancelled stops a run twice, each time between two micro-batches of an update in the middle of an epoch, and goes on with other
// numbers of workers.
func TestResumeCancelled(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	for _, part := range []struct {
		step    int
		workers string
	}{{7, "2"}, {12, "1"}, {19, "2"}} {
		ctx, cancel := context.WithCancel(context.Background())
		withKernels(t, hooked(part.step, cancel))
		r := commandWith(ctx, "", "train", "tiny.yaml", "--out", "parts", "--workers", part.workers)
		before := "step-000000" + map[int]string{7: "06", 12: "11", 19: "18"}[part.step]
		r.want(t, exitInterrupted, "stopped: interrupted at step", "of 20, saved as "+filepath.Join("parts", "checkpoints", before),
			"to go on: prenorm train tiny.yaml --out parts --workers "+part.workers)
	}
	withKernels(t, openOriginal)
	command("train", "tiny.yaml", "--out", "parts", "--workers", "2", "--resume").want(t, exitOK, "resumed from step 18 of 20", "done: step 20")
	same(t, "whole", "parts")
}

var openOriginal = openKernels

// TestResumeSignals does so with a real signal to a process, and with a process that is killed and so saves nothing.
func TestResumeSignals(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	if runtime.GOOS != "windows" { // which has no signal that a process could send itself
		process(t, "interrupt 7", "train", "tiny.yaml", "--out", "parts").want(t, exitInterrupted,
			savesFirst+"; again to quit at once", "stopped: interrupted at step 6 of 20")
	}
	// The checkpoint of step 12 is written by step 15 for certain where training waits for it.
	if r := process(t, "kill 15", "train", "tiny.yaml", "--out", "parts", "--set", "checkpoint.background=never"); r.code == exitOK || strings.Contains(r.out, "stopped") {
		t.Fatalf("was not killed: %+v", r)
	}
	process(t, "", "train", "tiny.yaml", "--out", "parts", "--workers", "1").want(t, exitOK, "resumed from step 12 of 20", "done: step 20")
	same(t, "whole", "parts")
}

// TestResumeDetects wants the comparison to see another result.
func TestResumeDetects(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "tiny.yaml", "--out", "other", "--set", "seed=6").want(t, exitOK)
	file := filepath.Join("checkpoints", "step-00000020", "model.safetensors")
	if read(t, filepath.Join("whole", file)) == read(t, filepath.Join("other", file)) {
		t.Error("another seed gives the same weights")
	}
}

// TestSecondInterrupt wants the second signal to quit at once.
func TestSecondInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	quit := make(chan int, 1)
	var notes strings.Builder
	ctx, release := interruptible(context.Background(), &notes, keepsRuns, func(code int) { quit <- code })
	signalSelf("interrupt")
	<-ctx.Done()
	signalSelf("interrupt")
	select {
	case code := <-quit:
		if code != exitInterrupted {
			t.Errorf("quits with %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Error("does not quit")
	}
	release()
	if !strings.Contains(notes.String(), keepsRuns+"; again to quit at once") {
		t.Errorf("says %q", &notes)
	}
}

// TestInterruptible wants nothing to be said when nobody interrupts.
func TestInterruptible(t *testing.T) {
	var notes strings.Builder
	ctx, release := interruptible(context.Background(), &notes, keepsRuns, func(int) { t.Error("quits") })
	release()
	if ctx.Err() == nil || notes.Len() > 0 {
		t.Errorf("context %v, notes %q", ctx.Err(), &notes)
	}
}

// TestReaderGone wants training to go on, and save, when nobody reads what it prints any more.
func TestReaderGone(t *testing.T) {
	inTiny(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "train", "tiny.yaml")
	c.Env = append(os.Environ(), asCommand+"=")
	c.Stdout = w
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	err = c.Run()
	w.Close()
	if !exists(filepath.Join("runs", "tiny", "checkpoints", "step-00000020", "manifest.json")) {
		t.Errorf("has not trained to the end: %v", err)
	}
}

// TestTerminalGone wants the end of the terminal to stop and save a run, and a second notice of it not to cut that short.
func TestTerminalGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself this signal")
	}
	self, err := os.FindProcess(os.Getpid())
	must(err)
	// The tests may have been started by nohup, whose effect a watch of our own undoes.
	watched := make(chan os.Signal, 8)
	signal.Notify(watched, syscall.SIGHUP)
	defer signal.Stop(watched)
	ctx, release := interruptible(context.Background(), io.Discard, savesFirst, func(int) { t.Error("quits") })
	for range 3 {
		must(self.Signal(syscall.SIGHUP))
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
			t.Fatal("the end of the terminal does not stop the run")
		}
	}
	time.Sleep(50 * time.Millisecond) // for the last to arrive
	release()
}
