package metrics

import (
	"fmt"
	"strings"
	"time"
)

// Part shows how far slow work between two updates is: on a terminal in the place of the last update beside the bar, elsewhere by a line every
// stageLine.
type Part struct {
	p       *Progress
	name    string
	step    int64
	started time.Time
	shown   time.Time
	drawn   bool
}

// Begin starts a part after the update of a step.
func (p *Progress) Begin(name string, step int64) *Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	return &Part{p: p, name: name, step: step, started: now, shown: now}
}

// Show tells how much of the part is done. It is meant to be called often: the bar first changes after stageBar, and then ten times a second
// at most.
func (w *Part) Show(done, total int64) {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	wait := stageLine
	if p.bar != nil && w.drawn {
		wait = refresh
	} else if p.bar != nil {
		wait = stageBar
	}
	if p.closed || p.interrupted || done >= total || now.Sub(w.shown) < wait {
		return
	}
	w.shown = now
	if p.bar == nil {
		p.out.line(strings.Join(w.fields(now, done, total), "  "))
		return
	}
	w.drawn = true
	p.out.draw(p.bar.render(w.step, w.fields(now, done, total)))
}

// fields are the step, how far the part is, and the time that it has left.
func (w *Part) fields(now time.Time, done, total int64) []string {
	fields := []string{fmt.Sprintf("step %d/%d", w.step, w.p.total), fmt.Sprintf("%s %.0f%%", w.name, 100*float64(done)/float64(max(total, 1)))}
	if done > 0 {
		left := float64(now.Sub(w.started)) / float64(done) * float64(total-done)
		fields = append(fields, Duration(time.Duration(left))+" left")
	}
	return fields
}

// End takes the part from the bar, which shows the last update again, where there was one.
func (w *Part) End() {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !w.drawn || p.closed || p.interrupted:
	case p.first.Step < 0:
		p.out.draw(picture{})
	default:
		p.draw(p.now())
	}
}
