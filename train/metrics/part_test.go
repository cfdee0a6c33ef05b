package metrics

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// show tells of a part of a hundred pieces, one every so long.
func show(w *Part, c *clock, each time.Duration) {
	for done := int64(1); done <= 100; done++ {
		c.t = c.t.Add(each)
		w.Show(done, 100)
	}
}

// TestPartLines wants a line every ten seconds of a slow part, and none of a quick one.
func TestPartLines(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := NewProgress(&out, 600, Options{Every: 1000, Now: c.now})
	quick := p.Begin("validation", 100)
	show(quick, c, 99*time.Millisecond)
	quick.End()
	slow := p.Begin("validation", 200)
	show(slow, c, 300*time.Millisecond)
	slow.End()
	p.Close()
	want := "step 200/600  validation 34%  20s left\nstep 200/600  validation 68%  9.6s left\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", &out, want)
	}
}

// TestPartOnBar wants the bar to show a slow part while it lasts and the last update after it, or nothing where there was no update.
func TestPartOnBar(t *testing.T) {
	for _, updates := range []int64{0, 100} {
		var out bytes.Buffer
		c := &clock{time.Unix(0, 0)}
		p := newProgress(&out, 600, Options{Now: c.now}, newBar(600, styles()["ASCII"], func() int { return 100 }))
		drive(p, c, 1, updates, 0)
		w := p.Begin("validation", 100)
		c.t = c.t.Add(time.Second)
		w.Show(25, 100)
		p.out.mu.Lock()
		during := p.out.bar.text
		p.out.mu.Unlock()
		if !strings.Contains(during, " 16% ") || !strings.Contains(during, "step 100/600  validation 25%  3.0s left") {
			t.Errorf("after %d updates the bar is %q", updates, during)
		}
		w.End()
		p.out.mu.Lock()
		after := p.out.bar.text
		p.out.mu.Unlock()
		if updates == 0 && after != "" || updates > 0 && !strings.Contains(after, "loss 3.0000") {
			t.Errorf("after %d updates the bar is left as %q", updates, after)
		}
		p.Close()
		w.Show(50, 100) // too late
	}
}
