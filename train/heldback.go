package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"prenorm/kernels"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// watched says whether the run has a guard that remembers anything.
func (l *loop) watched() bool {
	return l.state.Guard != nil || l.Train.Guard.Policy != GuardStop || l.Train.Guard.Sigma > 0
}

// startGuard prepares the guard's memory, once weights and state are those that the run goes on from.
func (l *loop) startGuard(from *checkpoint.Loaded) error {
	if !l.watched() {
		return nil
	}
	if l.state.Guard == nil {
		l.state.Guard = &GuardState{Scale: 1}
	}
	if l.Train.Guard.Policy != GuardRewind {
		l.state.Guard.Good = nil
		return nil
	}
	var err error
	if l.good, err = newHeld(l.weights, l.stepper); err != nil {
		return err
	}
	if good := l.state.Guard.Good; good == nil || good.Step == l.state.Step {
		return l.keepGood()
	}
	return l.good.load(from, goodFile)
}

// limit tells the stepper what the next step may be, and has the state copied in it where a copy is due.
func (l *loop) limit() Limits {
	limits := l.state.Guard.limits(l.Train.Guard)
	l.stepper.Limit(limits, l.state.Guard.unapplied())
	l.stepper.Between(nil)
	if l.good != nil && l.state.Step >= l.state.Guard.Good.Step+int64(l.Train.Guard.Every) {
		l.stepper.Between(l.keepIfGood)
	}
	return limits
}

// keepIfGood copies the state before a step whose gradient is known, and shows that state to be a good one: the step is applied, and its loss
// lies no more than a little above the window's mean and is a sane one. Otherwise the copy waits for the next step. A save at work, which reads the copy that
// there is, is waited for: the next step will not do, as the time that a save takes must not decide what a rewind goes back to.
func (l *loop) keepIfGood(r Result) error {
	c := l.Train.Guard
	c.Sigma = min(c.Sigma, calm)
	if !r.Applied() || !sane(r.Loss, l.Model.Vocab) || float32(r.Loss) > l.state.Guard.limits(c).Loss {
		return nil
	}
	if err := l.settle(); err != nil {
		return err
	}
	return l.keepGood()
}

// calm is how many standard deviations above the mean the loss of a good state lies at most.
const calm = 2

// count takes an applied step into the guard's window.
func (l *loop) count(r Result) {
	if g := l.state.Guard; g != nil && l.Train.Guard.Sigma > 0 {
		g.add(r, l.Train.Guard.Window)
	}
}

// keepGood copies the present state as the one to go back to. Running statistics, which a pass changes, are those of the step under way.
func (l *loop) keepGood() error {
	defer l.span("copy")()
	l.state.Guard.good(l.state.Step)
	return l.good.hold(l.state)
}

// attempted is a step that was not applied.
type attempted struct {
	step   int64
	lr     float64
	limits Limits
	Result
}

// heldBack deals with a step that was not applied: it says why, names the op, writes a bundle, and stops, skips or rewinds by the policy. The
// error is that of a run that stops, whose state is that before the step, saved where that can be done.
func (l *loop) heldBack(ctx context.Context, a attempted) error {
	c, g := l.Train.Guard, l.state.Guard
	cause := g.cause(a.Result, a.limits)
	action, stopped, spoilt := c.Policy, g.exhausted(a.step, c), ""
	if !a.Finite() {
		spoilt = g.stuck(a.step, c)
	}
	if stopped != "" || spoilt != "" {
		action = GuardStop
	}
	var saved error
	if action == GuardStop { // what there is comes before what explains it
		if saved = l.save(); saved == nil {
			saved = l.settle()
		}
	}
	report, err := l.examine(ctx, a, cause)
	if err != nil {
		return errors.Join(err, saved)
	}
	record := metrics.Guard{Step: a.step, Attempt: a.step, Cause: cause, Action: action, LR: metrics.Float(a.lr), Loss: report.Loss, GradNorm: report.GradNorm}
	if f := report.First; f != nil {
		record.First, record.Pass = f.Path, f.Pass
	}
	record.Bundle = l.writeBundle(report)
	if action == GuardStop {
		return errors.Join(l.stoppedBy(a, report, record, stopped, spoilt, saved == nil), l.metrics.Write(record), saved)
	}
	if err := l.goPast(a, &record); err != nil {
		return err
	}
	l.lap = time.Now() // not part of the training speed
	l.progress.Line(fmt.Sprintf("step %d/%d  held back: %s%s; %s", a.step, l.Train.Steps, cause, firstWords(report), afterWords(record)))
	return l.metrics.Write(record)
}

// examine runs the step once more, launch by launch.
func (l *loop) examine(ctx context.Context, a attempted, cause string) (Report, error) {
	defer l.span("diagnosis")()
	r := Report{Format: bundleFormat, Name: l.Name, Step: a.step, Cause: cause, Device: l.be.Name(), Precision: string(kernels.PrecisionOf(l.be)),
		Products: l.products(), LR: a.lr, Loss: metrics.Float(a.Loss), GradNorm: metrics.Float(a.GradNorm), Limits: a.limits,
		Clip: metrics.Float(clipOf(l.Train.Clip, a.GradNorm)), Before: l.state.Recent}
	var err error
	if r.Tensors, err = l.stepper.Sizes(); err != nil {
		return r, err
	}
	r.Spoiled = spoiled(r.Tensors)
	r.Diagnosis, err = l.stepper.Diagnose(ctx, a.step, l.micros)
	return r, err
}

// clipOf is the factor that a norm is clipped by, 0 for one that is not finite.
func clipOf(most, norm float64) float64 {
	switch {
	case notFinite(norm):
		return 0
	case most == 0:
		return 1
	}
	return min(1, most/(norm+1e-6))
}

// writeBundle writes the bundle of a step and returns its path in the run's folder, "" for none. Whatever goes wrong is said and does not end
// the run.
func (l *loop) writeBundle(r Report) string {
	if l.Train.Guard.Bundles == 0 {
		return ""
	}
	defer l.span("bundle")()
	name, err := l.bundle(r)
	dir := filepath.Join(l.Dir, BundleFolder)
	switch {
	case errors.Is(err, errNoRoom):
		if !l.full {
			l.progress.Line(fmt.Sprintf("no bundle of step %d, nor of later ones: %s holds %d already (train.guard.bundles)", r.Step, dir, l.Train.Guard.Bundles))
		}
		l.full = true
		return ""
	case err != nil:
		l.progress.Line(fmt.Sprintf("no bundle of step %d: %s: %v; nothing else is lost", r.Step, dir, err))
		return ""
	}
	return filepath.ToSlash(filepath.Join(BundleFolder, name))
}

// bundle saves what the step was made of.
func (l *loop) bundle(r Report) (name string, err error) {
	dir := filepath.Join(l.Dir, BundleFolder)
	if err := bundleWanted(l.disk(), dir, r.Step, l.Train.Guard.Bundles); err != nil {
		return "", err
	}
	present, err := newWindows(l.weights, l.stepper)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, present.Free()) }()
	if err := present.hold(l.state); err != nil {
		return "", err
	}
	b := bundle{report: r, state: present.snapshot(l.files), micros: l.micros, before: l.ring.before(len(r.Before)), decoder: l.data.Tokenizer}
	return b.save(l.disk(), dir, l.Train.Guard.Bundles, func(name string, bytes int64) {
		l.progress.Line(fmt.Sprintf("writing %s: %s", filepath.Join(dir, name), metrics.Bytes(bytes)))
	})
}

// goPast skips or rewinds, and passes over the batch.
func (l *loop) goPast(a attempted, record *metrics.Guard) error {
	c, g := l.Train.Guard, l.state.Guard
	g.hold(a.step, c)
	l.advance(a.step, a.Result)
	if c.Policy == GuardSkip {
		g.skip()
		return nil
	}
	if err := l.good.restore(); err != nil {
		return err
	}
	g.rewind(a.step, c)
	record.To, record.Scale = g.Good.Step, metrics.Float(g.Scale)
	return nil
}

// stoppedBy explains a step that ends the run: why says what of the policy was exhausted, spoilt that the weights are.
func (l *loop) stoppedBy(a attempted, r Report, record metrics.Guard, why, spoilt string, saved bool) error {
	h := &HeldBack{What: fmt.Sprintf("step %d: %s at learning rate %.3g%s%s", r.Step, r.Cause, r.LR, why, firstWords(r)), State: fmt.Sprintf("is saved, as step %d", l.state.Step), Spoilt: spoilt}
	if !saved {
		h.State = "could not be saved (see below; it is tried once more)"
	}
	if record.Bundle != "" {
		h.Bundle = filepath.Join(l.Dir, filepath.FromSlash(record.Bundle))
	}
	e := ending{limited: why != "", older: -1}
	if e.sigma = l.state.Guard.sigmaFor(a.Result, a.limits); e.sigma == 0 {
		losses := l.losses()
		if h.Spoilt == "" {
			h.Spoilt = l.spoiltBy(r, losses)
		}
		e.spoilt, e.older = h.Spoilt != "", l.olderThan(l.state.Step, losses)
	}
	h.Ways = l.Train.ways(e)
	return h
}

// firstWords name what is not finite.
func firstWords(r Report) string {
	text := ""
	if len(r.Spoiled) > 0 {
		text = fmt.Sprintf("; %s is not finite itself", r.Spoiled[0])
		if more := len(r.Spoiled) - 1; more > 0 {
			text = fmt.Sprintf("; %s and %s are not finite themselves", r.Spoiled[0], inWords(more, "other tensor"))
		}
	}
	if r.First != nil {
		text += fmt.Sprintf("; the first output that is not finite is that of %s", r.First)
	}
	return text
}

// afterWords say how the run goes on.
func afterWords(r metrics.Guard) string {
	if r.Action == GuardSkip {
		return "its batch is skipped"
	}
	return fmt.Sprintf("back to the weights of step %d, past the batch, at %.3g of the learning rate", r.To, float64(r.Scale))
}
