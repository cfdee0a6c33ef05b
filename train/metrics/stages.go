package metrics

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Stages shows how far slow work before training is, one stage after the other: on a terminal a bar, elsewhere a line of a stage that takes
// longer than stageLine, at its end and every so often before. Methods may be called from several goroutines.
type Stages struct {
	mu      sync.Mutex
	w       io.Writer
	out     *background // nil until something is shown
	bar     *bar        // nil without a terminal
	now     func() time.Time
	name    string
	started time.Time
	from    int64 // done when the stage was first told of
	shown   time.Time
	last    [2]int64 // done and total
	printed bool     // a line of this stage was printed
}

const (
	stageBar  = time.Second      // how long a stage takes before a bar is shown
	stageLine = 10 * time.Second // the same for lines, and the time between them
)

// NewStages shows stages on w.
func NewStages(w io.Writer) *Stages { return newStages(w, terminalBar(w, 1), time.Now) }

func newStages(w io.Writer, b *bar, now func() time.Time) *Stages {
	return &Stages{w: w, bar: b, now: now}
}

// Show tells of a stage: done of total units, 0 for an unknown total. Bytes are shown as such, anything else as a number.
func (s *Stages) Show(stage string, done, total int64, bytes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if stage != s.name {
		s.finish(now, nil)
		s.name, s.started, s.shown, s.from, s.printed = stage, now, now, done, false
	}
	s.last = [2]int64{done, total}
	every, wait := stageLine, stageLine
	if s.bar != nil {
		every, wait = refresh, stageBar
	}
	if now.Sub(s.started) < wait || now.Sub(s.shown) < every {
		return
	}
	s.shown = now
	s.show(s.fields(now, bytes))
}

// show draws the bar or prints a line.
func (s *Stages) show(fields []string) {
	if s.out == nil {
		var erase func(int) string
		if s.bar != nil {
			erase = s.bar.erase
		}
		s.out = newBackground(s.w, erase)
	}
	if s.bar == nil {
		s.printed = true
		s.out.line(strings.Join(fields, "  "))
		return
	}
	done, total := s.last[0], s.last[1]
	s.bar.ChangeMax64(max(total, done, 1))
	s.out.draw(s.bar.render(min(done, max(total, 1)), fields))
}

// fields are what is told of the stage: how far it is, how fast, and the time left.
func (s *Stages) fields(now time.Time, bytes bool) []string {
	done, total := s.last[0], s.last[1]
	count := func(n int64) string { return Count(float64(n)) }
	if bytes {
		count = Bytes
	}
	far := count(done)
	if total > 0 {
		far = farOf(far, count(total))
	}
	fields := []string{s.name, far}
	seconds := now.Sub(s.started).Seconds()
	speed := float64(done-s.from) / max(seconds, 1e-9)
	if bytes {
		fields = append(fields, Bytes(int64(speed))+"/s")
	}
	if total > done && speed > 0 {
		fields = append(fields, Duration(time.Duration(float64(total-done)/speed*float64(time.Second)))+" left")
	}
	return fields
}

// farOf is how much is done of how much, with the unit once where both have one.
func farOf(done, total string) string {
	number, unit, has := strings.Cut(done, " ")
	if _, of, _ := strings.Cut(total, " "); has && of == unit {
		done = number
	}
	return done + " of " + total
}

// finish ends the stage: its bar goes, its lines get a last one, which says of an error that the stage did not come to its end.
func (s *Stages) finish(now time.Time, err error) {
	switch {
	case s.out == nil:
	case s.bar != nil:
		s.out.draw(picture{})
	case s.printed && err != nil:
		s.out.line(s.name + "  ended after " + Duration(now.Sub(s.started)) + ", unfinished")
	case s.printed:
		s.out.line(s.name + "  done in " + Duration(now.Sub(s.started)))
	}
}

// Line prints text, above the bar where there is one.
func (s *Stages) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		fmt.Fprintln(s.w, text)
		return
	}
	s.out.line(text)
}

// Close ends the last stage, which is done. It waits at most two seconds for the reader.
func (s *Stages) Close() { s.End(nil) }

// End is Close after work that ended with an error, or with none.
func (s *Stages) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(s.now(), err)
	if s.out != nil {
		s.out.close()
		s.out = nil
	}
	s.name, s.printed = "", false
}
