package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
)

// TestRecorder records launches that take a known time at least, in order, and nothing after its end.
func TestRecorder(t *testing.T) {
	r := New(ref.New())
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	end := r.Span("step")
	for i, wait := range []time.Duration{2, 4, 0} {
		step := exec.StepInfo{Index: i, Path: "a", Kernel: "add", Call: kernels.Add{}, FLOPs: 7, Bytes: 9}
		if err := r.Around(step, func() error { time.Sleep(wait * time.Millisecond); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Around(exec.StepInfo{Kernel: Upload, Bytes: 3}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	end()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	r.Span("later")()
	if len(r.Launches) != 3 || len(r.Copies) != 1 || len(r.Spans) != 1 || r.On() {
		t.Fatalf("recorded %+v", r)
	}
	last := 0.0
	for i, least := range []float64{0.002, 0.004, 0} {
		if l := r.Launches[i]; l.Begin < last || l.Seconds() < least {
			t.Errorf("launch %d from %v to %v, after %v", i, l.Begin, l.End, last)
		}
		last = r.Launches[i].End
	}
	if s := r.Spans[0]; s.Name != "step" || s.End < last-0.001 {
		t.Errorf("span %+v ends before its launches at %v", s, last)
	}
	broken := errors.New("broken")
	if err := r.Start(); err != nil || len(r.Launches) != 0 {
		t.Error("a new start keeps what was recorded")
	}
	if err := r.Around(exec.StepInfo{Call: kernels.Add{}}, func() error { return broken }); err != broken {
		t.Errorf("error %v", err)
	}
	var none *Recorder
	none.Span("nothing")()
}

// lateDevice passes its marks only when something waits for it or launches, as a queue may that is not flushed.
type lateDevice struct {
	kernels.Backend
	waiting int
	passed  []time.Time
}

func (d *lateDevice) Mark() { d.waiting++ }

func (d *lateDevice) flush() {
	for ; d.waiting > 0; d.waiting-- {
		d.passed = append(d.passed, time.Now())
	}
}

func (d *lateDevice) Sync() error {
	d.flush()
	return nil
}

func (d *lateDevice) Marks() ([]float64, error) {
	d.flush()
	seconds := make([]float64, len(d.passed))
	for i, at := range d.passed {
		seconds[i] = at.Sub(d.passed[0]).Seconds()
	}
	d.passed = nil
	return seconds, nil
}

// TestLaunchesFollowTheHost wants no launch to begin before the host made it, nor before an upload that it comes after.
func TestLaunchesFollowTheHost(t *testing.T) {
	d := &lateDevice{Backend: ref.New()}
	r := New(d)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	upload := func() error { time.Sleep(5 * time.Millisecond); return nil }
	if err := r.Around(exec.StepInfo{Kernel: Upload, Bytes: 3}, upload); err != nil {
		t.Fatal(err)
	}
	end := r.Span("launch")
	if err := r.Around(exec.StepInfo{Call: kernels.Add{}}, d.Sync); err != nil {
		t.Fatal(err)
	}
	end()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if begin := r.Launches[0].Begin; begin < r.Copies[0].End || begin < r.Spans[0].Begin {
		t.Errorf("a launch begins at %v, its upload ended at %v and the host made it after %v", begin, r.Copies[0].End, r.Spans[0].Begin)
	}
}

// TestWriteChrome wants times in microseconds, on their tracks, with what each launch is.
func TestWriteChrome(t *testing.T) {
	r := New(ref.New())
	v := kernels.Shaped(kernels.F32, 4)
	r.Launches = []Launch{{exec.StepInfo{Path: "p", Kernel: "add", Call: kernels.Add{}, Args: kernels.Args{Out: []kernels.View{v}, In: []kernels.View{v, v}}, FLOPs: 2e9, Bytes: 4e9}, 1, 3}}
	r.Copies = []Launch{{exec.StepInfo{Kernel: Upload, Bytes: 5}, 0.5, 0.75}}
	r.Spans = []Span{{"step", 0, 4}}
	var b bytes.Buffer
	if err := r.WriteChrome(&b, "title"); err != nil {
		t.Fatal(err)
	}
	var got struct{ TraceEvents []event }
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range got.TraceEvents {
		if e.Phase != "X" {
			continue
		}
		found = append(found, e.Name)
		switch e.Name {
		case "add":
			if e.Start != 1e6 || e.Took != 2e6 || e.TID != deviceTrack || e.Args["GFLOP/s"] != 1.0 || e.Args["GB/s"] != 2.0 || e.Args["path"] != "p" {
				t.Errorf("launch %+v", e)
			}
		case "upload":
			if e.Start != 5e5 || e.Took != 2.5e5 || e.TID != copyTrack {
				t.Errorf("copy %+v", e)
			}
		case "step":
			if e.Took != 4e6 || e.TID != hostTrack {
				t.Errorf("span %+v", e)
			}
		}
	}
	if slices.Sort(found); !slices.Equal(found, []string{"add", "step", "upload"}) {
		t.Errorf("events %v", found)
	}
}

// TestByKernel adds up launches, names forms of products apart, and takes the longer of arithmetic and memory as the roof, of memory what is only read at the
// speed of reading.
func TestByKernel(t *testing.T) {
	c := Ceilings{FLOPs: 100, Bytes: 10, Read: 5}
	launch := func(call kernels.Call, flops, bytes int64, seconds float64) Launch {
		return Launch{exec.StepInfo{Call: call, FLOPs: flops, Bytes: bytes}, 1, 1 + seconds}
	}
	sum := launch(kernels.Add{}, 0, 30, 6) // 10 bytes are written
	sum.Args.Out = []kernels.View{kernels.Shaped(kernels.I8, 10)}
	rows := ByKernel([]Launch{
		launch(kernels.MatMul{TransB: true}, 200, 1, 4), sum, launch(kernels.MatMul{TransB: true}, 100, 50, 8),
		launch(kernels.MatMul{TransA: true, Accumulate: true}, 1, 1, 2), launch(kernels.Rope{Inverse: true}, 0, 0, 1),
	}, c)
	want := []Row{
		{"matmul NT", 2, 12, 300, 51, 2 + 10}, {"add", 1, 6, 0, 30, 2 + 2}, {"matmul TN +accumulate", 1, 2, 1, 1, 0.2}, {"rope inverse", 1, 1, 0, 0, 0},
	}
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%+v\nwant\n%+v", rows, want)
	}
}

// TestRoof takes what is read beside the copy of what is written at the speed of reading, where that is known.
func TestRoof(t *testing.T) {
	of := func(n int) []kernels.View { return []kernels.View{kernels.Shaped(kernels.I8, n)} }
	step := exec.StepInfo{Bytes: 70, Args: kernels.Args{Out: of(6), Aux: of(4)}} // 10 bytes are written, 60 read, 50 of them besides
	for _, k := range []struct {
		c    Ceilings
		want float64
	}{{Ceilings{Bytes: 10, Read: 5}, 2 + 10}, {Ceilings{Bytes: 10}, 7}, {Ceilings{FLOPs: 1, Bytes: 10, Read: 5}, 20}} {
		if got := k.c.Roof(20, step.Bytes, step.ReadOnly()); got != k.want {
			t.Errorf("%+v: %v seconds, want %v", k.c, got, k.want)
		}
	}
	if n := (exec.StepInfo{Bytes: 6, Args: kernels.Args{Out: of(100)}}).ReadOnly(); n != 0 { // a table of which rows are written
		t.Errorf("%d bytes are read only, want none", n)
	}
}
