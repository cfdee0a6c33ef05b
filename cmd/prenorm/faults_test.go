package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prenorm/train/checkpoint"
)

// slow says whether tests may take minutes.
func slow() bool { return os.Getenv("PRENORM_SLOW") != "" }

// newestOf is the step of a run's newest whole checkpoint, -1 without one. Nothing that has a checkpoint's name may be damaged.
func newestOf(t *testing.T, run string) int64 {
	t.Helper()
	dir, refused, err := checkpoint.Latest(checkpoint.OS, filepath.Join(run, "checkpoints"))
	if err != nil || len(refused) > 0 {
		t.Fatalf("%s: refused %v, %v", run, refused, err)
	}
	if dir == "" {
		return -1
	}
	return stepOf(strings.TrimSuffix(dir, ".old"))
}

// unfinished says whether something lies there that a save was at work on.
func unfinished(run string) bool {
	temp, _ := filepath.Glob(filepath.Join(run, "checkpoints", ".tmp-*"))
	old, _ := filepath.Glob(filepath.Join(run, "checkpoints", "*.old"))
	return len(temp)+len(old) > 0
}

// killer carries one run on and on by processes that are killed, and looks at what is left each time.
type killer struct {
	*testing.T
	run                   string
	number                int // of runs
	kills, during, ending int // processes killed, those of them during a save, runs that came to their end
}

// carryOn carries the run on with a process that kill ends, or its last step.
func (k *killer) carryOn(event string, kill func(*os.Process)) {
	k.Helper()
	before := newestOf(k.T, k.run)
	var out bytes.Buffer
	c := exec.Command(os.Args[0], "train", "tiny.yaml", "--out", k.run, "--workers", "1", "--set", "checkpoint.every=1")
	c.Env = append(os.Environ(), asCommand+"="+event)
	c.Stdout, c.Stderr = &out, &out
	must(c.Start())
	if kill != nil {
		kill(c.Process)
	}
	_ = c.Wait()
	done := c.ProcessState.ExitCode() == exitOK
	if started := strings.Contains(out.String(), "of 96 tokens on cpu"); started && before >= 0 && !strings.Contains(out.String(), fmt.Sprintf("resumed from step %d of 20", before)) {
		k.Fatalf("the newest checkpoint was of step %d, and the run began elsewhere:\n%s", before, &out)
	}
	if after := newestOf(k.T, k.run); after < before {
		k.Fatalf("the newest checkpoint was of step %d, and is now of %d", before, after)
	}
	switch {
	case done:
		k.ending++
		same(k.T, "whole", k.run)
		k.number++
		k.run = fmt.Sprint("run-", k.number)
	case c.ProcessState.ExitCode() >= 0:
		k.Fatalf("was not killed, and failed:\n%s", &out)
	default:
		k.kills++
		if unfinished(k.run) {
			k.during++
		}
	}
}

// TestKilled kills processes at moments by chance, and at file operations of saving by chance; PRENORM_SLOW=1 does so 200 times. Whatever is
// left, the run goes on from the newest checkpoint there was, and ends as one that nobody killed.
func TestKilled(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	wanted := 8
	if slow() {
		wanted = 200
	}
	k := &killer{T: t, run: "run-0"}
	r := rand.New(rand.NewPCG(6, 6))
	for i := 0; k.kills < wanted; i++ {
		if i%2 == 0 {
			k.carryOn("", func(p *os.Process) {
				time.AfterFunc(time.Duration(r.IntN(300))*time.Millisecond, func() { _ = p.Kill() })
			})
		} else {
			k.carryOn(fmt.Sprint("operation ", 1+r.IntN(120)), nil)
		}
	}
	for ended := k.ending; k.ending == ended; {
		k.carryOn("", nil)
	}
	t.Logf("%d kills, %d of them during a save; %d runs came to their end, the same as without a kill", k.kills, k.during, k.ending)
	if k.during == 0 {
		t.Error("no kill was during a save: the test shows little")
	}
}

// TestCorruptNewest changes a byte of each file of the newest checkpoint in turn: the run says so, goes on from the one before, and ends as if
// nothing had happened.
func TestCorruptNewest(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "tiny.yaml", "--out", "begun", "--max-step", "10").want(t, exitOK)
	newest := filepath.Join("checkpoints", "step-00000010")
	files, err := os.ReadDir(filepath.Join("begun", newest))
	must(err)
	for _, f := range files {
		run := "run-" + f.Name()
		must(os.CopyFS(run, os.DirFS("begun")))
		path := filepath.Join(run, newest, f.Name())
		data := []byte(read(t, path))
		data[len(data)/2] ^= 16
		write(t, path, string(data))
		command("train", "tiny.yaml", "--out", run).want(t, exitOK, "checkpoint refused: "+filepath.Join(run, newest), f.Name(), "resumed from step 8 of 20")
		same(t, "whole", run)
	}
	t.Logf("%d files damaged", len(files))
}

// TestClockGoesBack has the files of a run be of the past and of the future: which checkpoint is the newest does not hang on the clock.
func TestClockGoesBack(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	for _, part := range []struct {
		until string
		now   time.Time
	}{{"6", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}, {"13", time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)}} {
		command("train", "tiny.yaml", "--out", "run", "--max-step", part.until).want(t, exitOK)
		must(filepath.WalkDir("run", func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Chtimes(path, part.now, part.now)
			}
			return err
		}))
	}
	must(os.Chtimes(filepath.Join("run", "checkpoints", "step-00000012"), time.Now(), time.Now()))
	command("train", "tiny.yaml", "--out", "run").want(t, exitOK, "resumed from step 13 of 20")
	same(t, "whole", "run")
}

// TestTwoProcesses starts a process on a run's folder while another trains in it.
func TestTwoProcesses(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	var second result
	withKernels(t, hooked(10, func() { second = process(t, "", "train", "tiny.yaml", "--out", "run") }))
	command("train", "tiny.yaml", "--out", "run").want(t, exitOK, "done: step 20")
	second.want(t, exitFailure, fmt.Sprintf("run folder run: is in use by process %d: wait for it, stop it, or choose another folder", os.Getpid()))
	same(t, "whole", "run")
}
