package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"prenorm/data/dataset"
	"prenorm/train/checkpoint"
	"prenorm/train/lab"
)

// interrupting is a text that sends the process Ctrl-C when it begins to be read.
type interrupting struct {
	text  *strings.Reader
	begun bool
}

func (r *interrupting) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun = true
		signalSelf("interrupt")
	}
	return r.text.Read(p)
}

// hanging is standard input that sends the process Ctrl-C when it is first waited for, and then gives nothing for ever.
type hanging struct{ begun bool }

func (r *hanging) Read([]byte) (int, error) {
	if !r.begun {
		r.begun = true
		signalSelf("interrupt")
	}
	select {}
}

// interrupted runs the program on standard input within a time in which nothing can have been waited for.
func interrupted(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	ended := make(chan result, 1)
	go func() {
		var out, errOut bytes.Buffer
		code := execute(context.Background(), args, stdin, &out, &errOut)
		ended <- result{code, out.String(), errOut.String()}
	}()
	select {
	case r := <-ended:
		return r
	case <-time.After(20 * time.Second):
		t.Fatalf("%v goes on after Ctrl-C", args)
		return result{}
	}
}

// TestHangingInputStops wants Ctrl-C to act while standard input is waited for.
func TestHangingInputStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	for _, args := range [][]string{
		{"train", "tiny.yaml", "--set", "data.train=-"},
		{"train", "tiny.yaml", "--set", "data.train=-", "--dry-run"},
		{"data", "export", "tiny.yaml", "--set", "data.train=-", "--out", "tokens"},
		{"data", "report", "-"},
	} {
		interrupted(t, &hanging{}, args...).want(t, exitInterrupted, "stopping")
	}
}

// TestInput wants the bytes of a reader, its end and its error as they are, and nothing once the context has ended.
func TestInput(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	ctx, cancel := context.WithCancel(context.Background())
	for _, from := range []io.Reader{strings.NewReader(text), iotest.DataErrReader(strings.NewReader(text)), iotest.OneByteReader(strings.NewReader(text))} {
		if got, err := io.ReadAll(inputOf(ctx, from)); string(got) != text || err != nil {
			t.Errorf("%T: %d bytes, %v", from, len(got), err)
		}
	}
	broken := errors.New("broken")
	if got, err := io.ReadAll(inputOf(ctx, io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))); string(got) != text || err != broken {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	in := inputOf(ctx, strings.NewReader(text))
	cancel()
	if n, err := in.Read(make([]byte, 8)); n != 0 || err != errInterrupted {
		t.Errorf("after the end: %d bytes, %v", n, err)
	}
}

// TestLabStops wants the laboratory's text to be given up at Ctrl-C.
func TestLabStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := lab.OpenText(lab.Opticks(), t.TempDir(), stopOf(ctx)); !errors.Is(err, errInterrupted) {
		t.Errorf("says %v", err)
	}
}

// TestVerifyResumeStops interrupts a check during its first run and its second, and wants to be told how far it came, and nothing left behind but
// what was asked for.
func TestVerifyResumeStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	t.Setenv(asCommand, "")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, c := range []struct{ begun, said string }{{"training 2000000 steps", " of 2000000 steps were trained without a kill, 0 with one"}, {"training again", "12 of 12 steps were trained without a kill, "}} {
		args := []string{"verify-resume", "tiny.yaml", "--set", "train.steps=4000000", "--steps", "1000000"}
		if c.begun == "training again" {
			args = []string{"verify-resume", "tiny.yaml", "--steps", "6"}
		}
		for _, out := range []string{"", "both"} {
			does := keepsNone
			if out != "" {
				args, does = append(args, "--out", out), keepsParts
			}
			ended := make(chan result, 1)
			go func() {
				var text bytes.Buffer
				notes := &sending{at: c.begun}
				code := execute(context.Background(), args, strings.NewReader(""), &text, notes)
				ended <- result{code, text.String(), notes.String()}
			}()
			select {
			case r := <-ended:
				r.want(t, exitInterrupted, "stopped: nothing was compared; ", c.said, does)
			case <-time.After(20 * time.Second):
				t.Fatal("goes on after Ctrl-C")
			}
			if left := filesLike(temporary, "*"); len(left) > 0 || exists("both") != (out != "") {
				t.Errorf("left behind: %v", left)
			}
			must(os.RemoveAll("both"))
		}
	}
}

// sending is notes that send the process Ctrl-C at some text.
type sending struct {
	at string
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sending) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.at)) {
		signalSelf("interrupt")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sending) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestDataStops wants commands that prepare text to stop at Ctrl-C, to say what they do, and to leave nothing behind.
func TestDataStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	text := read(t, "text.txt")
	for _, args := range [][]string{{"data", "export", "tiny.yaml", "--set", "data.train=-", "--out", "tokens"}, {"data", "report", "-"}} {
		var out, errOut bytes.Buffer
		code := execute(context.Background(), args, &interrupting{text: strings.NewReader(text)}, &out, &errOut)
		result{code, out.String(), errOut.String()}.want(t, exitInterrupted, keepsNone+"; again to quit at once")
	}
	if exists("tokens") {
		t.Error("a folder is left behind")
	}
}

// TestDryRunStops wants a dry run not to speak of saving.
func TestDryRunStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself the signal of Ctrl-C")
	}
	inTiny(t)
	for _, c := range []struct{ does, flag string }{{keepsTokens, "--dry-run"}, {savesFirst, "--fresh"}} {
		var out, errOut bytes.Buffer
		code := execute(context.Background(), []string{"train", "tiny.yaml", "--set", "data.train=-", c.flag}, &interrupting{text: strings.NewReader(read(t, "text.txt"))}, &out, &errOut)
		result{code, out.String(), errOut.String()}.want(t, exitInterrupted, c.does+"; again to quit at once")
	}
}

// TestRereadableCloses wants the file of standard input to be closed.
func TestRereadableCloses(t *testing.T) {
	cmd := newDataReport()
	stdin, closeFile, err := rereadable(cmd, strings.NewReader("text"), []string{"-"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := stdin()
	must(closeFile())
	if _, err := in.Read(make([]byte, 4)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
}

// TestStageUnits holds what is told of the preparation of a text against the unit that it is told with: bytes, and merges once they are counted.
func TestStageUnits(t *testing.T) {
	inTiny(t)
	units := map[bool]int64{} // the largest total while the tokenizer is trained, by whether it is bytes
	progress := dataset.WithUnit(func(stage string, _, total int64, bytes bool) {
		if stage == "training tokenizer" {
			units[bytes] = max(units[bytes], total)
		} else if !bytes {
			t.Errorf("%s is not in bytes", stage)
		}
	})
	l, err := (&runFlags{sets: []string{"data.tokenizer={kind: bpe, vocab: 280}"}}).load(newTrain(), "tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(l.Run.Data, dataset.Options{Dir: "data", Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	must(d.Close())
	if total, counted := units[true]; !counted || total != 0 || units[false] != 280-257 {
		t.Errorf("totals %v", units)
	}
}

// opened is a file system that tells of every file that is opened.
type opened struct {
	checkpoint.FS
	tell func(path string)
}

func (o opened) Open(path string) (fs.File, error) {
	o.tell(path)
	return o.FS.Open(path)
}

// TestReadingStops wants Ctrl-C to act while checkpoints are read: the run is as it was, and no other file is opened.
func TestReadingStops(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "10").want(t, exitOK)
	before := checkpointNames(t, "run") + read(t, filepath.Join("run", "metrics.jsonl")) + read(t, filepath.Join("run", "config.yaml"))
	real := checkpoint.OS
	t.Cleanup(func() { checkpoint.OS = real })
	const said = "stopped: interrupted before the first step of this session, the run is as it was\nto go on: prenorm train "
	for _, c := range []struct {
		args []string
		said string
		at   int // how many files of weights were opened before
	}{
		{[]string{"train", "run"}, said + "run\n", 1},
		{[]string{"train", "run"}, said + "run\n", 2},
		{[]string{"train", "run"}, said + "run\n", 3},
		{[]string{"train", "run"}, said + "run\n", 4},
		{[]string{"train", "tiny.yaml", "--out", "run"}, said + "tiny.yaml --out run\n", 1},
		{[]string{"train", "run", "--from-step", "8"}, said + "run --from-step 8\n", 1},
		{[]string{"train", "run", "--dry-run"}, said + "run --dry-run\n", 1},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		weights, after := 0, 0
		checkpoint.OS = opened{real, func(path string) {
			if ctx.Err() != nil {
				after++
			}
			if filepath.Base(path) == "model.safetensors" {
				if weights++; weights == c.at {
					cancel()
				}
			}
		}}
		r := commandWith(ctx, "", c.args...).want(t, exitInterrupted, c.said)
		cancel()
		if weights != c.at || after > 0 {
			t.Errorf("%v: %d files of weights were opened, %d files after Ctrl-C\n%s", c.args, weights, after, r.out+r.errOut)
		}
	}
	checkpoint.OS = real
	if now := checkpointNames(t, "run") + read(t, filepath.Join("run", "metrics.jsonl")) + read(t, filepath.Join("run", "config.yaml")); now != before {
		t.Error("the run is not as it was")
	}
	command("train", "run").want(t, exitOK, "resumed from step 10 of 20", "done: step 20")
}

// TestAtOnce wants the second Ctrl-C to say what is saved, and to end the process also where nobody takes that.
func TestAtOnce(t *testing.T) {
	inTiny(t)
	if runtime.GOOS != "windows" { // which has no signal that a process could send itself
		const atOnce = "stopping at once; "
		process(t, "interrupts 3", "train", "tiny.yaml", "--out", "run").want(t, exitInterrupted, savesFirst, atOnce+"no checkpoint is saved in run\n")
		r := process(t, "interrupts 7", "train", "tiny.yaml", "--out", "run", "--set", "checkpoint.background=never").want(t, exitInterrupted, savesFirst,
			atOnce+"the last saved checkpoint is "+filepath.Join("run", "checkpoints", "step-00000005")+"\n")
		if strings.Contains(r.out, "stopped: ") {
			t.Errorf("it was not at once:\n%s", r.out)
		}
	}
	code := 0
	silent, written := io.Pipe() // which nobody reads
	defer silent.Close()
	atOnce(written, func() string { return "" }, func(c int) { code = c })(exitInterrupted)
	if code != exitInterrupted {
		t.Errorf("ended with %d", code)
	}
}
