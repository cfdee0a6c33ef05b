// Package profile records what launches of kernels take and what the host does meanwhile, and writes it as a trace that Perfetto
// (https://ui.perfetto.dev) opens.
package profile

import (
	"fmt"
	"time"

	"prenorm/kernels"
	"prenorm/model/exec"
)

// Upload and Download stand in [exec.StepInfo.Kernel] for copies between host and device.
const (
	Upload   = "upload"
	Download = "download"
)

// Launch is a launch that was timed. Times are in seconds after the recorder's start; those of kernels are the device's.
type Launch struct {
	exec.StepInfo
	Begin, End float64
}

// Seconds is how long it took.
func (l Launch) Seconds() float64 { return l.End - l.Begin }

// Span is something that the host did.
type Span struct {
	Name       string
	Begin, End float64
}

// Recorder records between Start and Stop. Marks before and after every launch tell the time on the device, which the host does not wait for,
// so that a recorded program does what it does otherwise. A nil recorder, and one that is not started, records no spans.
type Recorder struct {
	be     kernels.Backend
	marker kernels.Marker
	began  time.Time
	on     bool

	Launches []Launch // of kernels, after Stop
	Copies   []Launch // as the host sees them
	Spans    []Span
}

// New makes a recorder for a backend.
func New(be kernels.Backend) *Recorder { return &Recorder{be: be, marker: kernels.MarkerOf(be)} }

// Start waits for the device and begins to record anew.
func (r *Recorder) Start() error {
	if err := r.be.Sync(); err != nil {
		return err
	}
	// The device counts from the mark, the host from when it has seen the mark passed. A device may pass a mark long after it was put, and
	// then its launches would seem to begin before the host made them.
	r.marker.Mark()
	if err := r.be.Sync(); err != nil {
		return err
	}
	r.Launches, r.Copies, r.Spans = nil, nil, nil
	r.began, r.on = time.Now(), true
	return nil
}

// Around runs a launch of [exec.Program.Trace] or a copy, and records it.
func (r *Recorder) Around(step exec.StepInfo, run func() error) error {
	if step.Kernel == Upload || step.Kernel == Download {
		begin := r.now()
		err := run()
		r.Copies = append(r.Copies, Launch{step, begin, r.now()})
		return err
	}
	r.marker.Mark()
	err := run()
	r.marker.Mark()
	r.Launches = append(r.Launches, Launch{StepInfo: step})
	return err
}

// Span begins something that the host does, which the function returned ends.
func (r *Recorder) Span(name string) (end func()) {
	if r == nil || !r.on {
		return nothing
	}
	begin := r.now()
	return func() {
		if r.on {
			r.Spans = append(r.Spans, Span{name, begin, r.now()})
		}
	}
}

func nothing() {}

func (r *Recorder) now() float64 { return time.Since(r.began).Seconds() }

// Stop waits for the device and ends the recording.
func (r *Recorder) Stop() error {
	if !r.on {
		return nil
	}
	r.on = false
	at, err := r.marker.Marks()
	if err != nil {
		return err
	}
	if len(at) != 1+2*len(r.Launches) {
		return fmt.Errorf("profile: %d marks for %d launches", len(at), len(r.Launches))
	}
	for i := range r.Launches {
		r.Launches[i].Begin, r.Launches[i].End = at[1+2*i], at[2+2*i]
	}
	return nil
}

// On says whether it records.
func (r *Recorder) On() bool { return r != nil && r.on }
