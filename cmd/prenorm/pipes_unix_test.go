//go:build unix

package main

import (
	"errors"
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
	write(t, "pipe.tok", "x")
	write(t, "old.json", "x")
	for _, c := range []struct {
		path string
		args []string
	}{
		{"run/metrics.jsonl", []string{"train", "run"}},
		{"run/run.lock", []string{"train", "run"}},
		{"run/run.pid", []string{"train", "run"}},
		{"run/config.yaml", []string{"train", "run"}},
		{tokens[0], nil},
		{"old.json", []string{"bench", "train", "--compare", "old.json"}},
		{"pipe.tok", []string{"tokenizer", "inspect", "--tokenizer", "pipe.tok"}},
	} {
		kept, err := os.ReadFile(c.path)
		if err != nil && c.path != "run/run.pid" {
			t.Fatal(err)
		}
		os.Remove(c.path)
		if err := syscall.Mkfifo(c.path, 0o600); err != nil {
			t.Fatal(err)
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

// TestPipedRunFile trains by a run file that comes through a pipe, as from a shell's train <(program).
func TestPipedRunFile(t *testing.T) {
	inTiny(t)
	must(syscall.Mkfifo("pipe", 0o600))
	sent := make(chan error, 1)
	go func() {
		w, err := os.OpenFile("pipe", os.O_WRONLY, 0)
		if err == nil {
			_, err = w.WriteString(tiny)
			err = errors.Join(err, w.Close())
		}
		sent <- err
	}()
	ended := make(chan result, 1)
	go func() { ended <- command("train", "pipe", "--max-step", "1") }()
	select {
	case r := <-ended:
		r.want(t, exitOK, "step 1")
		must(<-sent)
	case <-time.After(20 * time.Second):
		t.Fatal("waits for the pipe")
	}
}
