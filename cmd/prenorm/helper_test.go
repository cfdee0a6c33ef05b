package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prenorm/kernels"
	"prenorm/train/checkpoint"
	"prenorm/train/checkpoint/checkpointtest"
)

// The test binary is the program itself where this variable is set. Its value may name an event: "kill 7" kills the process in the middle
// of step 7, "interrupt 7" sends it the signal of Ctrl-C, and "interrupts 7" twice; "operation 7" kills it before the seventh time that saving writes to the disk.
const asCommand = "PRENORM_AS_COMMAND"

// A process of this event looks for a GPU as the program does.
const withRealGPU = "real GPU"

// TestMain has the tests run as in a build without a GPU, whatever this one has: a test that wants one asks for it, by withGPU, withBrokenGPU
// or needGPU.
func TestMain(m *testing.M) {
	event, ok := os.LookupEnv(asCommand)
	if event != withRealGPU {
		knownKernels = func() []string { return noGPU }
	}
	if !ok {
		os.Exit(m.Run())
	}
	if verb, step, ok := strings.Cut(event, " "); ok && event != withRealGPU {
		at, err := strconv.Atoi(step)
		must(err)
		if verb == "operation" {
			killAtOperation(int64(at))
		} else {
			openKernels = hooked(at, func() {
				signalSelf(verb)
				if verb == "interrupts" { // the second ends the process
					signalSelf(verb)
					time.Sleep(20 * time.Second)
				}
			})
		}
	}
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// killAtOperation kills the process before an operation of its checkpoints, counted from 1.
func killAtOperation(at int64) {
	var n atomic.Int64
	checkpoint.OS = checkpointtest.Hooked{FS: checkpoint.OS, Before: func(string, string) error {
		if n.Add(1) == at {
			signalSelf("kill")
		}
		return nil
	}}
}

// signalSelf kills the process, or interrupts it and waits until that was noticed.
func signalSelf(verb string) {
	self, err := os.FindProcess(os.Getpid())
	must(err)
	if verb == "kill" {
		must(self.Kill())
		select {} // never goes on
	}
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, os.Interrupt)
	must(self.Signal(os.Interrupt))
	<-arrived
	time.Sleep(100 * time.Millisecond) // the program's own watch gets it at the same time; give it a chance to act
}

// spy passes everything on to a backend and looks at what is uploaded and allocated.
type spy struct {
	kernels.Backend
	upload func(data any)
	arena  func(bytes int)
}

func (s *spy) Upload(dst kernels.View, src any) error {
	if s.upload != nil {
		s.upload(src)
	}
	return s.Backend.Upload(dst, src)
}

// Precision implements [kernels.Mixed].
func (s *spy) Precision() kernels.Precision { return kernels.PrecisionOf(s.Backend) }

// Joins implements [kernels.Joiner].
func (s *spy) Joins(c kernels.Call, a kernels.Args) bool {
	j, ok := s.Backend.(kernels.Joiner)
	return ok && j.Joins(c, a)
}

// BindJoint implements [kernels.Joiner] where Joins says so.
func (s *spy) BindJoint(calls []kernels.BoundCall) (kernels.Launch, error) {
	return s.Backend.(kernels.Joiner).BindJoint(calls)
}

func (s *spy) NewArena(bytes int) (kernels.Arena, error) {
	if s.arena != nil {
		s.arena(bytes)
	}
	return s.Backend.NewArena(bytes)
}

// hooked opens backends that call event in the middle of an update: after the first of its micro-batches. The counter of dropout tells.
func hooked(step int, event func()) func(string, kernels.Options) (kernels.Backend, error) {
	return func(name string, o kernels.Options) (kernels.Backend, error) {
		be, err := kernels.Open(name, o)
		return &spy{Backend: be, upload: func(data any) {
			if c, ok := data.([]int32); ok && len(c) == 4 && c[2] == int32(step) && c[3] == 1 {
				event()
			}
		}}, err
	}
}

// withKernels replaces how backends are opened during a test.
func withKernels(t *testing.T, open func(string, kernels.Options) (kernels.Backend, error)) {
	t.Helper()
	before := openKernels
	openKernels = open
	t.Cleanup(func() { openKernels = before })
}

// disguised is the CPU's backend as a GPU of some precision.
type disguised struct {
	kernels.Backend
	precision kernels.Precision
}

func (d *disguised) Name() string                 { return "cuda" }
func (d *disguised) Precision() kernels.Precision { return d.precision }

func (d *disguised) Multiplies() string { return "cublas" }

// withGPU makes the build have a GPU for a test, which is the CPU in disguise.
func withGPU(t *testing.T) {
	t.Helper()
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		if name != "cuda" {
			return kernels.Open(name, o)
		}
		precision := o.Precision
		o.Precision = kernels.PrecisionFP32
		be, err := kernels.Open("cpu", o)
		return &disguised{be, precision}, err
	})
	withKnown(t, []string{"cpu", "cuda", "ref"})
}

// noGPU is what a build without a GPU knows.
var noGPU = []string{"cpu", "ref"}

// withoutGPU undoes it.
func withoutGPU(t *testing.T) { withKnown(t, noGPU) }

func withKnown(t *testing.T, names []string) {
	before := knownKernels
	knownKernels = func() []string { return names }
	t.Cleanup(func() { knownKernels = before })
}

// result is what a command did.
type result struct {
	code        int
	out, errOut string
}

// command runs the program in this process, without standard input.
func command(args ...string) result { return commandWith(context.Background(), "", args...) }

func commandWith(ctx context.Context, in string, args ...string) result {
	var out, errOut bytes.Buffer
	code := execute(ctx, args, strings.NewReader(in), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// process runs the program in a process of its own, with an event.
func process(t *testing.T, event string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"="+event)
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// want checks the exit code, and that the output and the errors contain some texts.
func (r result) want(t *testing.T, code int, texts ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\n%s\n%s", r.code, code, r.out, r.errOut)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.errOut, text) {
			t.Errorf("%q is not in\n%s\n%s", text, r.out, r.errOut)
		}
	}
	return r
}

// tiny is a run whose epoch has 18 and some updates, with dropout and accumulation.
const tiny = `name: tiny
seed: 5
data:
  train: text.txt
  tokenizer: {kind: byte}
model: {layers: 2, width: 16, heads: 2, kv_heads: 1, ffn: 32, context: 16, dropout: 0.1}
train:
  steps: 20
  batch: 2
  accumulate: 3
  optimizer: {lr: 0.01}
  schedule: {warmup: 3}
  eval: {every: 5, windows: 3}
  sample: {every: 7, prompt: "a", tokens: 12}
  log: {every: 1}
checkpoint: {every: 4, keep: 2}
`

// inTiny goes to a new folder with the files of the run tiny.
func inTiny(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var text strings.Builder
	for i := 0; text.Len() < 2000; i++ {
		fmt.Fprintf(&text, "%d times %d is %d.\n", i%13, i%7, i%13*(i%7))
	}
	write(t, "text.txt", text.String())
	write(t, "tiny.yaml", tiny)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
