//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"prenorm/train"
)

// inTime runs the program and fails the test when it waits.
func inTime(t *testing.T, args ...string) result {
	t.Helper()
	ended := make(chan result, 1)
	go func() { ended <- command(args...) }()
	select {
	case r := <-ended:
		return r
	case <-time.After(20 * time.Second):
		t.Fatalf("%v waits", args)
		return result{}
	}
}

// TestPipedBundle puts a pipe, a device and a folder at the name of the bundle that a run is about to write: the run says so and ends as it would without.
func TestPipedBundle(t *testing.T) {
	inTiny(t)
	diverge := []string{"train", "tiny.yaml", "--set", "train.optimizer.kind=sgd", "--set", "train.optimizer.lr=10", "--set", "train.clip=0",
		"--set", "train.optimizer.momentum=0.9", "--set", "train.schedule.warmup=0", "--workers", "1", "--out"}
	command(append(diverge, "wild")...).want(t, exitFailure, "the update was not applied")
	bundles := filesLike(filepath.Join("wild", train.BundleFolder), "*.zip")
	if len(bundles) != 1 {
		t.Fatal(bundles)
	}
	name := filepath.Base(bundles[0])
	for _, c := range []struct {
		run, most string
		put       func(path string) error
		says      string
	}{
		{"pipe", "3", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is no regular file but p"},
		{"full", "1", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is no regular file but p"},
		{"device", "3", func(path string) error { return os.Symlink("/dev/zero", path) }, "is no regular file but D"},
	} {
		dir := filepath.Join(c.run, train.BundleFolder)
		must(os.MkdirAll(dir, 0o777))
		must(c.put(filepath.Join(dir, name)))
		r := inTime(t, append(diverge, c.run, "--set", "train.guard.bundles="+c.most)...)
		r.want(t, exitFailure, "no bundle of step", filepath.Join(dir, name), c.says, "the update was not applied")
	}
}

// TestPipedLines puts a pipe in the place of the kept lines of reference, which are measured again.
func TestPipedLines(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "2").want(t, exitOK)
	lines := filesLike(filepath.Join("run", "data"), "lines-*.json")
	if len(lines) != 1 {
		t.Fatal(lines)
	}
	kept := read(t, lines[0])
	must(os.Remove(lines[0]))
	must(syscall.Mkfifo(lines[0], 0o600))
	inTime(t, "train", "tiny.yaml", "--out", "run", "--max-step", "4").want(t, exitOK, "step  4/20")
	if read(t, lines[0]) != kept {
		t.Error("other lines")
	}
}
