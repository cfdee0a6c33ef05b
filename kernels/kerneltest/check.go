package kerneltest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"prenorm/kernels"
)

// harness checks the cases of one kernel in one element type.
type harness struct {
	be      kernels.Backend
	workers []kernels.Backend
	dtype   kernels.DType
	types   types // where views are BF16; dtype is F32 then
	family  family
}

// outcome is what one variant of a case gave.
type outcome struct {
	layout *layout
	after  []byte
}

// check runs a case in every variant and compares all of them with the reference.
func (h *harness) check(c testCase) error {
	if c.fails != nil {
		return h.checkFailure(c)
	}
	wantOut, wantAux, err := reference(c)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	var base outcome
	for i, v := range variants(c, len(wantOut), wantAux) {
		if v.inPlace >= 0 && of(h.types.in, v.inPlace, h.dtype) != of(h.types.out, 0, h.dtype) {
			continue
		}
		got, err := h.run(h.be, c, v, v.garbage()...)
		if err == nil {
			err = h.compare(c, got, wantOut, wantAux)
		}
		if err == nil && i > 0 && !v.aux && len(wantAux) > 0 {
			err = sameBits(base, got, false, "with and without statistics")
		}
		if err != nil {
			return fmt.Errorf("%v: %w", v, err)
		}
		if i == 0 {
			base = got
		}
	}
	if err := h.checkWorkers(c, base); err != nil {
		return err
	}
	return h.checkTwin(c, base)
}

// run binds a case once and launches it once for each kind of garbage in outputs and workspace: the bits must not differ.
func (h *harness) run(be kernels.Backend, c testCase, v variant, garbage ...byte) (got outcome, err error) {
	l, arena, err := newLayout(be, c, h.dtype, h.types, v)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, arena.Free()) }()
	run, err := be.Bind(c.call, l.args)
	if err != nil {
		return got, fmt.Errorf("bind: %w", err)
	}
	for _, g := range garbage {
		l.fill(c, g)
		after, failed, err := l.launch(be, arena, run)
		if err := errors.Join(failed, err); err != nil {
			return got, err
		}
		if err := l.untouched(after); err != nil {
			return got, err
		}
		again := outcome{l, after}
		if got.after != nil {
			return got, sameBits(got, again, true, "of two launches (do they read outputs, workspace or state that a launch left?)")
		}
		got = again
	}
	return got, nil
}

// sameBits wants two outcomes to have the same outputs.
func sameBits(a, b outcome, statistics bool, what string) error {
	x, y := a.layout.bits(a.after, statistics), b.layout.bits(b.after, statistics)
	for o := range x {
		if !bytes.Equal(x[o], y[o]) {
			for i := range x[o] {
				if x[o][i] != y[o][i] {
					return fmt.Errorf("results %s differ: written view %d, byte %d", what, o, i)
				}
			}
		}
	}
	return nil
}

// checkWorkers wants the same bits from every number of workers.
func (h *harness) checkWorkers(c testCase, base outcome) error {
	for i, be := range h.workers {
		got, err := h.run(be, c, variant{aux: len(base.layout.host.Aux) > 0, inPlace: -1}, garbageNaN)
		if err == nil {
			err = sameBits(base, got, true, fmt.Sprintf("of %d workers and of the default", i+1))
		}
		if err != nil {
			return fmt.Errorf("%d workers: %w", i+1, err)
		}
	}
	return nil
}

// checkTwin wants the family's other call to give the same bits.
func (h *harness) checkTwin(c testCase, base outcome) error {
	if h.family.twin == nil {
		return nil
	}
	twin, of := h.family.twin(c)
	other := *h
	other.types.out = nil // a twin's output is F32
	got, err := other.run(h.be, twin, variant{inPlace: -1}, garbageNaN)
	if err != nil {
		return fmt.Errorf("%s on the same inputs: %w", twin.call.Kernel(), err)
	}
	if !bytes.Equal(got.layout.bits(got.after, false)[0], base.layout.bits(base.after, false)[of]) {
		return fmt.Errorf("output %d has not the bits that %s gives", of, twin.call.Kernel())
	}
	return nil
}

// checkFailure wants the launch to fail with words that help, and to touch nothing outside its outputs.
func (h *harness) checkFailure(c testCase) (err error) {
	l, arena, err := newLayout(h.be, c, h.dtype, h.types, variant{inPlace: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arena.Free()) }()
	run, err := h.be.Bind(c.call, l.args)
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	l.fill(c, garbageNaN)
	after, failed, err := l.launch(h.be, arena, run)
	if err != nil {
		return err
	}
	if failed == nil {
		return fmt.Errorf("the launch succeeded, wants an error with %q", c.fails)
	}
	for _, word := range c.fails {
		if !strings.Contains(failed.Error(), word) {
			return fmt.Errorf("the launch's error %q does not say %q", failed, word)
		}
	}
	return l.untouched(after)
}

// compare holds outputs and statistics against the reference.
func (h *harness) compare(c testCase, got outcome, wantOut, wantAux []tensor) error {
	out, aux := got.layout.results(got.after)
	for i := range out {
		magnitude := 0.0
		if i < len(c.magnitude) {
			magnitude = c.magnitude[i]
		}
		if err := h.compareTensor(c, out[i], wantOut[i], magnitude, of(h.types.out, i, h.dtype) == kernels.BF16); err != nil {
			return fmt.Errorf("output %d, %w", i, err)
		}
	}
	for i := range aux {
		if err := h.compareTensor(c, aux[i], wantAux[i], 0, false); err != nil {
			return fmt.Errorf("statistic %d, %w", i, err)
		}
	}
	return nil
}

// tolerance is the error that a case is granted relative to the largest value of an output: epsilon times the family's rounding, the
// case's own, and the square root of the longest sum (rounding errors of a sum in any order are random in sign; in order, the worst
// relative to the largest result grows like a quarter of that root).
func (h *harness) tolerance(c testCase) float64 {
	if h.family.exact {
		return 0
	}
	epsilon := 0x1p-23
	if h.dtype == kernels.F64 {
		epsilon = 0x1p-52
	}
	inside := 0.0
	if h.types.in != nil {
		inside = h.family.narrow * halfNarrow
	}
	return inside + epsilon*(h.family.rounding+c.rounding+math.Sqrt(float64(c.terms)))
}

// halfNarrow is half of BF16's epsilon: the largest relative error of rounding to it.
const halfNarrow = 0x1p-8

// smallest is the absolute floor of every tolerance: results below it may be flushed to zero.
const smallest = 0x1p-126

// compareTensor compares elements: what is not finite for the reference must not be finite, NaN must stay NaN, the rest must be within
// the tolerance of the largest and, where they are stored as BF16, within one rounding more.
func (h *harness) compareTensor(c testCase, got, want tensor, magnitude float64, narrowed bool) error {
	for i := range want.ints {
		if got.ints[i] != want.ints[i] {
			return fmt.Errorf("element %d: %d, the reference has %d", i, got.ints[i], want.ints[i])
		}
	}
	scale := magnitude
	for _, w := range want.floats {
		if finite(w) {
			scale = max(scale, math.Abs(w))
		}
	}
	limit := h.tolerance(c)*scale + smallest
	if h.family.exact {
		limit = 0
	}
	for i, w := range want.floats {
		g := got.floats[i]
		limit := limit
		if narrowed && h.family.exact {
			w = narrow(w)
		} else if narrowed {
			limit += halfNarrow * (math.Abs(w) + limit)
		}
		switch {
		case finite(w) && !(math.Abs(g-w) <= limit):
			return fmt.Errorf("element %d of %v: %.9g, the reference has %.9g: off by %.3g, allowed are %.3g", i, want.shape, g, w, math.Abs(g-w), limit)
		case !finite(w) && finite(g):
			return fmt.Errorf("element %d of %v: %.9g hides the reference's %g", i, want.shape, g, w)
		case math.IsNaN(w) && !math.IsNaN(g) && !c.infinite:
			return fmt.Errorf("element %d of %v: %g, the reference has NaN", i, want.shape, g)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// checkAllocations wants launches of the last case that succeeds to allocate nothing.
func (h *harness) checkAllocations(cases []testCase) (err error) {
	for i := len(cases) - 1; i >= 0; i-- {
		if cases[i].fails == nil {
			return h.allocations(cases[i])
		}
	}
	return errors.New("the suite has no case that succeeds")
}

func (h *harness) allocations(c testCase) (err error) {
	l, arena, err := newLayout(h.be, c, h.dtype, h.types, variant{inPlace: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arena.Free()) }()
	run, err := h.be.Bind(c.call, l.args)
	if err != nil {
		return err
	}
	l.fill(c, garbageNaN)
	if _, failed, err := l.launch(h.be, arena, run); failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	var failed error
	least := math.Inf(1)
	for range 3 { // the runtime may allocate on its own account at any one time
		least = min(least, testing.AllocsPerRun(2, func() { failed = errors.Join(failed, run()) }))
	}
	if least > 0 {
		return fmt.Errorf("%s: a launch makes %g allocations, must make none", c.name, least)
	}
	return errors.Join(failed, h.be.Sync())
}
