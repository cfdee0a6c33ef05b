package dataset

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prenorm/data/shard"
)

// marks makes marks come often.
func marks(t *testing.T, every int64) {
	old := markEvery
	markEvery = every
	t.Cleanup(func() { markEvery = old })
}

// rows writes a text of so many rows.
func rows(t *testing.T, n int) {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"text\": %q}\n", fmt.Sprint(i, " ", words(900+i%700)))
	}
	write(t, "text/c.jsonl", b.String())
}

// contents are the names and bytes of the files in the run's folder.
func contents(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("run")
	if err != nil {
		t.Fatal(err)
	}
	list := ""
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join("run", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name(), "sources-") {
			content = nil // it has the time
		}
		list += fmt.Sprintf("%s %d %x\n", e.Name(), len(content), content[:min(len(content), 1<<20)])
	}
	return list
}

// TestGoesOnWhereItWasStopped stops each time that some more is written, which no order of goroutines changes: what is prepared in the end is what it is without a stop, and what was
// on disk by then is not encoded again.
func TestGoesOnWhereItWasStopped(t *testing.T) {
	marks(t, 200_000)
	r := newRun(t)
	rows(t, 3000)
	want := r.open(t)
	files := contents(t)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	wentOn := 0
	for attempt := 0; ; attempt++ {
		if attempt > 200 {
			t.Fatal("it never ends")
		}
		var first, last atomic.Int64 // set by what writes, asked for by what reads
		first.Store(-1)
		r.notes = nil
		opt := r.opt
		opt.Progress = func(stage string, done, _ int64) {
			if stage == "encoding training text" {
				last.Store(done)
				first.CompareAndSwap(-1, done)
			}
		}
		opt.Stop = func() error {
			if begin := first.Load(); begin >= 0 && last.Load()-begin > pieceSize {
				return stopped
			}
			return nil
		}
		d, err := Open(r.cfg, opt)
		if len(r.notes) > 0 {
			wentOn++
			if first.Load() < 200_000+pieceSize || !strings.HasPrefix(r.notes[0], "encoding training text: going on after ") {
				t.Errorf("notes %q, and the first progress is at %d", r.notes, first.Load())
			}
		}
		if err == nil {
			d.Close()
			break
		}
		if !errors.Is(err, stopped) {
			t.Fatal(err)
		}
	}
	if got := contents(t); got != files {
		t.Errorf("other files after stops: %d bytes of list, want %d", len(got), len(files))
	}
	if got := r.open(t); got != want || wentOn < 2 {
		t.Errorf("the same data set: %v; went on %d times", got == want, wentOn)
	}
}

// TestUnfinishedOfAnotherText leaves an unfinished shard of a text that has changed since under the name of this one.
func TestUnfinishedOfAnotherText(t *testing.T) {
	marks(t, 200_000)
	r := newRun(t)
	rows(t, 700)
	want := r.open(t)
	train, _ := filepath.Glob("run/train-*.tokens")
	reader, err := shard.Open(train[0])
	if err != nil {
		t.Fatal(err)
	}
	meta := reader.Meta()
	reader.Close()
	for _, note := range []string{`{"Documents":1,"Bytes":5,"Sum":[1]}`, `{"Documents":3,"Bytes":999999999999,"Sum":[1]}`, `{}`, `[]`} {
		if err := os.Remove(train[0]); err != nil {
			t.Fatal(err)
		}
		w, _, err := shard.Continue(train[0], meta)
		if err == nil {
			err = errors.Join(w.Append([]int32{1, 2, 3}), w.Checkpoint([]byte(note)))
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Suspend()
		if got := r.open(t); got != want {
			t.Errorf("note %s: another data set", note)
		}
		if len(r.notes) == 0 || !strings.Contains(r.notes[len(r.notes)-1], "left unfinished with another text") {
			t.Errorf("note %s: notes %q", note, r.notes)
		}
	}
}

// prepareFolder tells a process of this test that it is the one to be killed, or to be measured, prepareKind another kind of tokenizer
// and prepareWait after how many lines of progress within the training text it waits to be killed.
const (
	prepareFolder = "PRENORM_TEST_PREPARE"
	prepareKind   = "PRENORM_TEST_KIND"
	prepareWait   = "PRENORM_TEST_WAIT"
)

// TestPreparation is the process that is killed.
func TestPreparation(t *testing.T) {
	dir := os.Getenv(prepareFolder)
	if dir == "" {
		t.Skip("only for another test")
	}
	markEvery = 200_000
	r := &run{}
	r.setup(dir)
	r.cfg.Tokenizer.Kind = cmp.Or(os.Getenv(prepareKind), r.cfg.Tokenizer.Kind)
	r.opt.Log = func(note string) { fmt.Println("\nnote", note) }
	shown, held, lines := int64(0), int64(0), 0
	wait, _ := strconv.Atoi(os.Getenv(prepareWait))
	r.opt.Progress = func(stage string, done, total int64) {
		if done < shown || done > shown+100_000 {
			shown, held = done, max(held, anonymous())
			fmt.Println("\nprogress", stage, done)
			if stage == "encoding training text" {
				if lines++; lines == wait {
					time.Sleep(10 * time.Minute) // it is killed as soon as the line is seen
				}
			}
		}
	}
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	fmt.Println("\npeak", max(held, anonymous()))
	fmt.Println("\ndone")
}

// TestKilled kills the process that prepares, at one place after the other, and lets others go on: the shards are those without a kill.
func TestKilled(t *testing.T) {
	kills := 1
	if os.Getenv("PRENORM_SLOW") != "" {
		kills = 12
	}
	r := newRun(t)
	rows(t, 2500)
	r.open(t)
	files := contents(t)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wentOn := 0
	for kill := range kills + 1 {
		last := 3 + kill%3 // the line at which it is killed
		cmd := exec.Command(program, "-test.run=^TestPreparation$")
		cmd.Env = append(os.Environ(), prepareFolder+"="+here)
		waits := kill < kills && kill%2 == 0
		if waits { // every other one goes on until it is killed, which may be too late
			cmd.Env = append(cmd.Env, fmt.Sprint(prepareWait, "=", last))
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		seen, done := 0, false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line := lines.Text()
			wentOn += strings.Count(line, "note encoding training text: going on after ")
			done = done || line == "done"
			if seen += strings.Count(line, "progress encoding training text "); kill < kills && seen == last {
				cmd.Process.Kill()
				break
			}
		}
		if err := cmd.Wait(); waits && err == nil && !done || kill == kills && !done {
			t.Fatalf("kill %d: %v, done %v", kill, err, done)
		}
	}
	if got := contents(t); got != files {
		t.Error("other files after a kill")
	}
	if wentOn == 0 {
		t.Error("no process went on where one was killed")
	}
}
