package metrics

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// prepare shows two stages of n seconds each.
func prepare(s *Stages, c *clock, n int64) {
	for i := range n + 1 {
		s.Show("reading text", i*50e6, n*50e6, true)
		if i == 3 {
			s.Line("a note")
		}
		c.t = c.t.Add(time.Second)
	}
	for i := range n + 1 {
		s.Show("training tokenizer", i*100, n*100, false)
		c.t = c.t.Add(time.Second)
	}
	s.Close()
	s.Close()
}

func TestStagesInLines(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	prepare(newStages(&out, nil, c.now), c, 40)
	want := `a note
reading text  477 MiB of 1.86 GiB  47.7 MiB/s  30s left
reading text  954 MiB of 1.86 GiB  47.7 MiB/s  20s left
reading text  1.40 of 1.86 GiB  47.7 MiB/s  10s left
reading text  1.86 of 1.86 GiB  47.7 MiB/s
reading text  done in 41s
training tokenizer  1.00k of 4.00k  30s left
training tokenizer  2.00k of 4.00k  20s left
training tokenizer  3.00k of 4.00k  10s left
training tokenizer  4.00k of 4.00k
training tokenizer  done in 41s
`
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", &out, want)
	}
	out.Reset()
	if prepare(newStages(&out, nil, c.now), c, 5); out.String() != "a note\n" {
		t.Errorf("short stages print %q", out.String())
	}
}

// TestStagesUnfinished wants no stage to be called done in which the work ended with an error.
func TestStagesUnfinished(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	s := newStages(&out, nil, c.now)
	for i := range int64(12) {
		s.Show("encoding training text", i*50e6, 2000e6, true)
		c.t = c.t.Add(time.Second)
	}
	s.End(errors.New("the disk is full"))
	s.Close()
	want := "encoding training text  477 MiB of 1.86 GiB  47.7 MiB/s  30s left\nencoding training text  ended after 12s, unfinished\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", &out, want)
	}
}

// TestStagesInBar looks at the screen while and after stages are shown.
func TestStagesInBar(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	s := newStages(&out, newBar(1, styles()["ASCII"], func() int { return 100 }), c.now)
	for i := range int64(4) {
		s.Show("reading text", i*50e6, 500e6, true)
		c.t = c.t.Add(time.Second)
	}
	s.mu.Lock()
	shown := s.out.bar.text
	s.mu.Unlock()
	for _, want := range []string{" 30% [", "reading text  143 of 477 MiB  47.7 MiB/s  7.0s left"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the bar is %q, want %q in it", shown, want)
		}
	}
	s.Close()
	if left := strings.Join(screen(out.String()), ""); left != "" {
		t.Errorf("%q is left on the screen", left)
	}
}

// TestStagesTellWhatIsLeft wants the time left on a terminal of 80 columns.
func TestStagesTellWhatIsLeft(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	s := newStages(&out, newBar(1, styles()["ASCII"], func() int { return 80 }), c.now)
	for i := range int64(4) {
		s.Show("encoding validation text", 1e9+i*10e6, 20e9, true)
		c.t = c.t.Add(time.Second)
	}
	s.mu.Lock()
	shown := s.out.bar.text
	s.mu.Unlock()
	if want := "encoding validation text  982 MiB of 18.6 GiB  31m37s left"; !strings.Contains(shown, want) {
		t.Errorf("the bar is %q, want %q in it", shown, want)
	}
	s.Close()
}
