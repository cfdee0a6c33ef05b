package metrics

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Options of [NewProgress].
type Options struct {
	Start int64            // updates done before, of a resumed run
	Every int64            // without a terminal: a line every so many updates, and one after the last; 0 = every call of Step
	Now   func() time.Time // the clock, nil = [time.Now]
}

// Progress shows how far training is: on a terminal a bar, elsewhere plain lines. No method waits for whoever reads them, and a reader
// that is gone is no error. Methods may be called from several goroutines.
type Progress struct {
	mu      sync.Mutex
	out     *background
	bar     *bar // nil without a terminal
	total   int64
	every   int64
	now     func() time.Time
	started time.Time

	first, last Train // of this process; first gives the speed a place to start from
	firstAt     time.Time
	shownAt     time.Time
	printed     int64 // the last step that a plain line was printed for
	start       int64 // updates done before
	interrupted bool
	closed      bool
}

// refresh is how often the bar is drawn at most.
const refresh = 100 * time.Millisecond

// NewProgress shows the progress of a run of totalSteps updates on w, with a bar when w is a terminal.
func NewProgress(w io.Writer, totalSteps int64, o Options) *Progress {
	return newProgress(w, totalSteps, o, terminalBar(w, totalSteps))
}

// terminalBar is a bar of so many steps where w is a terminal that can show one, else nil.
func terminalBar(w io.Writer, total int64) *bar {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newBar(max(total, 1), chooseStyle(os.Getenv), func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	})
}

func newProgress(w io.Writer, total int64, o Options, b *bar) *Progress {
	p := &Progress{bar: b, total: total, every: max(o.Every, 1), now: o.Now, printed: o.Start}
	if p.now == nil {
		p.now = time.Now
	}
	p.started = p.now()
	p.first.Step, p.last.Step = -1, o.Start
	var erase func(int) string
	if b != nil {
		erase = b.erase
	}
	p.out = newBackground(w, erase)
	p.start = o.Start
	return p
}

// Step shows the state after an update. It is meant to be called after every one; drawing is limited to ten times a second.
func (p *Progress) Step(t Train) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	now := p.now()
	if p.first.Step < 0 {
		p.first, p.firstAt = t, now
	}
	p.last = t
	if p.bar == nil {
		if t.Step/p.every > p.printed/p.every || t.Step == p.total {
			p.printed = t.Step
			p.out.line(strings.Join(p.fields(now), "  "))
		}
		return
	}
	if t.Step >= p.total || now.Sub(p.shownAt) >= refresh {
		p.draw(now)
	}
}

// Line prints text, above the bar where there is one.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.out.line(strings.TrimSuffix(text, "\n"))
	}
}

// Close shows the last state and ends the bar's line. It waits at most two seconds for the reader.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	switch {
	case p.bar == nil || p.first.Step < 0:
	case p.interrupted:
		p.out.line(p.bar.erase(0) + strings.Join(p.fields(p.now()), "  "))
	default:
		p.draw(p.now())
	}
	p.out.close()
}

// Interrupt tells that the run is about to be stopped from outside, as by Ctrl-C: whoever does that writes to the terminal too, so that the
// bar's place is lost. It is left where it is; Close tells the last state in a plain line.
func (p *Progress) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil && !p.closed && !p.interrupted && p.last.Step < p.total {
		p.interrupted = true
		p.out.leave()
	}
}

func (p *Progress) draw(now time.Time) {
	if p.interrupted {
		return
	}
	p.shownAt = now
	p.out.draw(p.bar.render(p.last.Step, p.fields(now)))
}

// fields are what is told of the last update: step, loss, rate of learning, speed and time left.
func (p *Progress) fields(now time.Time) []string {
	t := p.last
	total := fmt.Sprint(p.total)
	fields := []string{
		fmt.Sprintf("step %*d/%s", len(total), t.Step, total),
		fmt.Sprintf("loss %.4f", t.Loss),
		fmt.Sprintf("lr %.1e", t.LR),
		Count(float64(t.TokensPerSecond)) + " tokens/s",
	}
	if t.Step >= p.total {
		whole := " in all"
		if p.start > 0 {
			whole = " in this session"
		}
		return append(fields, Duration(now.Sub(p.started))+whole)
	}
	if done := t.Step - p.first.Step; done > 0 {
		left := float64(now.Sub(p.firstAt)) / float64(done) * float64(p.total-t.Step)
		fields = append(fields, Duration(time.Duration(left))+" left")
	}
	return fields
}
