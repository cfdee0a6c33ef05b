//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipes puts pipes in the place of a run's files, and wants each to be refused by its name: opening one would wait for ever.
func TestPipes(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "4").want(t, exitOK)
	tokens := filesLike(filepath.Join("run", "data"), "train-*.tokens")
	if len(tokens) != 1 {
		t.Fatal(tokens)
	}
	write(t, "pipe.yaml", "x")
	write(t, "pipe.tok", "x")
	for _, c := range []struct {
		path string
		args []string
	}{
		{"run/metrics.jsonl", []string{"train", "run"}},
		{"run/run.lock", []string{"train", "run"}},
		{"run/run.pid", []string{"train", "run"}},
		{"run/config.yaml", []string{"train", "run"}},
		{tokens[0], nil},
		{"pipe.yaml", []string{"train", "pipe.yaml"}},
		{"pipe.tok", []string{"tokenizer", "inspect", "--tokenizer", "pipe.tok"}},
	} {
		kept, err := os.ReadFile(c.path)
		if err != nil && c.path != "run/run.pid" {
			t.Fatal(err)
		}
		os.Remove(c.path)
		if err := syscall.Mkfifo(c.path, 0o600); err != nil {
			t.Skip(err)
		}
		ended := make(chan result, 1)
		args := c.args
		if args == nil {
			args = []string{"eval", "run"}
		}
		go func() { ended <- command(args...) }()
		select {
		case r := <-ended:
			if c.args != nil {
				r.want(t, r.code, c.path, "is no regular file but p")
				if r.code == exitOK {
					t.Errorf("%s: %+v", c.path, r)
				}
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v waits for %s", args, c.path)
		}
		if err := os.Remove(c.path); err != nil {
			t.Fatal(err)
		}
		if kept != nil {
			write(t, c.path, string(kept))
		}
	}
}
