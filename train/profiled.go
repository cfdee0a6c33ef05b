package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"prenorm/kernels"
	"prenorm/train/profile"
)

// The steps that a trace is written of: a few, after the first ones, which load and measure things.
const (
	profileAfter = 10 // the first of them, counted from the start of this process
	profileSteps = 3
)

// window is the part of a run that is recorded.
type window struct {
	recorder    *profile.Recorder
	first, last int64
	out         io.Writer
	done        bool
}

// newWindow takes steps 10 to 12 after the start, or the last three of a run that has fewer to go.
func newWindow(be kernels.Backend, out io.Writer, done, steps int64) *window {
	first := max(min(done+profileAfter, steps-profileSteps+1), done+1)
	return &window{recorder: profile.New(be), first: first, last: min(first+profileSteps-1, steps), out: out}
}

// span begins something that the host does, which the function returned ends.
func (l *loop) span(name string) (end func()) {
	if l.window == nil {
		return func() {}
	}
	return l.window.recorder.Span(name)
}

// next does one update, recorded where it is in the window.
func (l *loop) next(ctx context.Context) error {
	w, step := l.window, l.state.Step+1
	if w != nil && step == w.first {
		if err := w.recorder.Start(); err != nil {
			return err
		}
		l.stepper.Trace(w.recorder.Around)
	}
	err := l.step(ctx)
	if w != nil && (err != nil || step == w.last) {
		err = errors.Join(err, l.endProfile())
		l.lap = time.Now() // writing is not part of the training speed
	}
	return err
}

// endProfile writes what was recorded.
func (l *loop) endProfile() error {
	w := l.window
	if w == nil || !w.recorder.On() {
		return nil
	}
	l.stepper.Trace(nil)
	err := w.recorder.Stop()
	if err == nil && l.state.Step < w.first { // given up within it
		return nil
	}
	if err == nil {
		err = w.recorder.WriteChrome(w.out, fmt.Sprintf("%s: steps %d to %d on %s in %s", l.Name, w.first, l.state.Step, l.be.Name(), kernels.PrecisionOf(l.be)))
	}
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	w.done = true
	where := ""
	if file, ok := w.out.(interface{ Name() string }); ok {
		where = " to " + file.Name()
	}
	l.progress.Line(fmt.Sprintf("profile of steps %d to %d written%s", w.first, l.state.Step, where))
	return nil
}
