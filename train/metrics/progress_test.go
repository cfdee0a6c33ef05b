package metrics

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// clock is a clock that is moved by hand.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

// drive shows steps from first to last, one second each, with a line after the step announced.
func drive(p *Progress, c *clock, first, last, announced int64) {
	for s := first; s <= last; s++ {
		c.t = c.t.Add(time.Second)
		p.Step(Train{Step: s, Loss: Float(4 - float64(s)/100), LR: 9.8e-4, TokensPerSecond: 21340})
		if s == announced {
			p.Line("eval  loss 3.1\n")
		}
	}
}

func TestPlainLines(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := NewProgress(&out, 600, Options{Start: 250, Every: 100, Now: c.now})
	drive(p, c, 251, 600, 400)
	p.Close()
	p.Close()
	p.Step(Train{Step: 700})
	p.Line("too late")
	want := `step 300/600  loss 1.0000  lr 9.8e-04  21.3k tokens/s  5m00s left
step 400/600  loss 0.0000  lr 9.8e-04  21.3k tokens/s  3m20s left
eval  loss 3.1
step 500/600  loss -1.0000  lr 9.8e-04  21.3k tokens/s  1m40s left
step 600/600  loss -2.0000  lr 9.8e-04  21.3k tokens/s  5m50s in this session
`
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", &out, want)
	}
}

func TestPlainLinesToFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	p := NewProgress(f, 25, Options{Every: 10})
	drive(p, &clock{}, 1, 25, 0)
	p.Close()
	if got := content(t, f.Name()); strings.Count(got, "\n") != 3 || strings.ContainsAny(got, "\r\x1b") || !strings.HasPrefix(got, "step 10/25") {
		t.Errorf("printed %q, want three plain lines", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

var escapeSequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([a-zA-Z])`)

// screen shows what a terminal shows after text: carriage returns and the erasing of lines are carried out.
func screen(text string) []string {
	lines := [][]rune{nil}
	column := 0
	for text != "" {
		last := len(lines) - 1
		if escape := escapeSequence.FindStringSubmatch(text); escape != nil {
			switch {
			case escape[2] == "K" && escape[1] == "2":
				lines[last] = nil
			case escape[2] == "K":
				lines[last] = lines[last][:min(column, len(lines[last]))]
			}
			text = text[len(escape[0]):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch r {
		case '\r':
			column = 0
		case '\n':
			lines, column = append(lines, nil), 0
		default:
			for len(lines[last]) <= column {
				lines[last] = append(lines[last], ' ')
			}
			lines[last][column] = r
			column++
		}
	}
	var shown []string
	for _, line := range lines {
		shown = append(shown, strings.TrimRight(string(line), " "))
	}
	return shown
}

func styles() map[string]style {
	env := func(values ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(values); i += 2 {
				if values[i] == name {
					return values[i+1]
				}
			}
			return ""
		}
	}
	return map[string]style{
		"colour":   chooseStyle(env("LANG", "en_GB.UTF-8")),
		"no color": chooseStyle(env("LC_CTYPE", "C.utf8", "NO_COLOR", "1")),
		"ASCII":    chooseStyle(env("LANG", "en_GB.UTF-8", "LC_ALL", "C")),
		"no ANSI":  {theme: progressbar.ThemeASCII, edges: 2},
	}
}

// TestBar looks at the screen in every style and at many widths: lines stand above the bar, which is the last line, whole and inside.
func TestBar(t *testing.T) {
	for name, s := range styles() {
		for width := 20; width <= 130; width += 5 {
			var out bytes.Buffer
			c := &clock{time.Unix(0, 0)}
			p := newProgress(&out, 600, Options{Now: c.now}, newBar(600, s, func() int { return width }))
			drive(p, c, 271, 300, 290)
			p.Close()
			shown := screen(out.String())
			if len(shown) != 3 || shown[0] != "eval  loss 3.1" || shown[2] != "" || !strings.HasPrefix(shown[1], "  50% ") {
				t.Fatalf("%s, width %d: shows %q", name, width, shown)
			}
			bar := shown[1]
			if n := utf8.RuneCountInString(bar); n >= width {
				t.Errorf("%s: %d columns of %d: %q", name, n, width, bar)
			}
			for field, from := range map[string]int{"step 300/600": 35, "loss 1.0000": 50, "5m00s left": 60, "21.3k tokens/s": 75, "lr 9.8e-04": 90} {
				if strings.Contains(bar, field) != (width >= from) && width != from-5 {
					t.Errorf("%s, width %d: %q, the field %q belongs there from %d on", name, width, bar, field, from)
				}
			}
			if colored := strings.Contains(out.String(), "\x1b[36m"); colored != (name == "colour") {
				t.Errorf("%s: colours %v", name, colored)
			}
			if escapes := strings.Contains(out.String(), "\x1b"); escapes != s.ansi {
				t.Errorf("%s: escape sequences %v", name, escapes)
			}
		}
	}
}

func TestBarEnds(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := newProgress(&out, 100, Options{Start: 40, Now: c.now}, newBar(100, styles()["ASCII"], func() int { return 100 }))
	drive(p, c, 41, 100, 0)
	p.Close()
	shown := screen(out.String())
	if want := " 100% [==============================]  step 100/100  loss 3.0000  lr 9.8e-04  21.3k tokens/s  1m00s in this session"; len(shown) != 2 || !strings.HasPrefix(shown[0], " 100% [====") || strings.Contains(shown[0], ".]") || !strings.HasSuffix(shown[0], "1m00s in this session") {
		t.Errorf("shows %q, want about %q", shown, want)
	}
}

// TestBarIsNotDrawnTooOften counts pictures of a fast run.
func TestBarIsNotDrawnTooOften(t *testing.T) {
	c := &clock{time.Unix(0, 0)}
	p := newProgress(&bytes.Buffer{}, 1000, Options{Now: c.now}, newBar(1000, styles()["ASCII"], func() int { return 80 }))
	drawn := 0
	for s := int64(1); s <= 1000; s++ {
		if s < 1000 {
			c.t = c.t.Add(time.Millisecond)
		} else {
			c.t = c.t.Add(time.Microsecond)
		}
		before := p.shownAt
		if p.Step(Train{Step: s}); p.shownAt != before {
			drawn++
		}
	}
	p.Close()
	if drawn != 11 {
		t.Errorf("drawn %d times in a second, want 10 and once at the end", drawn)
	}
}

// stuck is a terminal that was stopped: writing to it does not return until it is released.
type stuck struct {
	mu      sync.Mutex
	entered chan struct{} // gets a value for every write that begins
	release chan struct{}
	got     bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	s.entered <- struct{}{}
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

// TestStoppedTerminal: training goes on while nobody reads, memory stays bounded, and afterwards the terminal tells what it missed.
func TestStoppedTerminal(t *testing.T) {
	s := &stuck{entered: make(chan struct{}, 9), release: make(chan struct{})}
	p := NewProgress(s, 1e6, Options{})
	long := strings.Repeat("x", 9999)
	p.Line("first")
	<-s.entered
	for range 300 {
		p.Line(long) // returns, though no write does
	}
	p.out.mu.Lock()
	waiting, lost := p.out.lines.Len(), p.out.lost
	p.out.mu.Unlock()
	if waiting != 104*len(long+"\n") || lost != 300-104 { // 104 lines fill a mebibyte
		t.Errorf("%d bytes wait, %d lines are lost", waiting, lost)
	}
	close(s.release)
	p.Close()
	if want := "first\n" + strings.Repeat(long+"\n", 104) + "(196 lines not shown)\n"; s.got.String() != want {
		t.Errorf("the terminal got %d bytes, want %d: the first lines and a word on the others", s.got.Len(), len(want))
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestClosedTerminal(t *testing.T) {
	p := NewProgress(gone{}, 100, Options{})
	drive(p, &clock{}, 1, 100, 50)
	p.Close()
}

func TestHuman(t *testing.T) {
	for want, got := range map[string]string{
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.00 KiB": Bytes(1024), "1.50 KiB": Bytes(1536), "412 MiB": Bytes(412 << 20),
		"1.00 MiB": Bytes(1<<20 - 1), "-2.00 GiB": Bytes(-2 << 30), "8.00 EiB": Bytes(math.MaxInt64),
		"0": Count(0), "600": Count(600), "0.25": Count(0.25), "12.5": Count(12.5), "1.00k": Count(1000), "999k": Count(999499), "21.3k": Count(21345),
		"1.00M": Count(999500), "124M": Count(124e6), "1.24M": Count(1.24e6), "3.00G": Count(3e9), "10.0k": Count(9999), "NaN": Count(math.NaN()), "+Inf": Count(math.Inf(1)),
		"0.0s": Duration(0), "0.3s": Duration(300 * time.Millisecond), "9.9s": Duration(9900 * time.Millisecond), "10s": Duration(9960 * time.Millisecond),
		"1m00s": Duration(59500 * time.Millisecond), "1m12s": Duration(72 * time.Second), "2h05m": Duration(125*time.Minute + 59*time.Second),
		"1h00m": Duration(time.Hour - time.Millisecond), "3d04h": Duration(76 * time.Hour), "-45s": Duration(-45 * time.Second),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Duration(math.MinInt64); !strings.HasPrefix(got, "-106751d") {
		t.Errorf("the longest time back is %q", got)
	}
}

// TestBarOfNarrowedTerminal: an old bar that the terminal broke into rows is wiped whole.
func TestBarOfNarrowedTerminal(t *testing.T) {
	width := 110
	b := newBar(600, styles()["colour"], func() int { return width })
	for _, fields := range [][]string{{"step 300/600", "loss 1.0000", "lr 9.8e-04", "21.3k tokens/s"}, {"step 300/600"}} {
		for ; width >= 40; width -= 7 {
			picture := b.render(300, fields)
			if shown := utf8.RuneCountInString(strings.TrimRight(screen(picture.text)[0], " ")); picture.columns < shown || picture.columns > shown+1 {
				t.Errorf("width %d: %d columns are shown, %d counted", width, shown, picture.columns)
			}
		}
		width = 110
	}
	for columns, want := range map[int]string{109: "\r\x1b[1A\x1b[J", 140: "\r\x1b[1A\x1b[J", 141: "\r\x1b[2A\x1b[J", 70: "\r\x1b[2K", 0: "\r\x1b[2K"} {
		width = 70
		if got := b.erase(columns); got != want {
			t.Errorf("a bar of %d columns on 70: %q, want %q", columns, got, want)
		}
	}
	var out bytes.Buffer
	width = 110
	c := &clock{time.Unix(0, 0)}
	p := newProgress(&out, 600, Options{Now: c.now}, newBar(600, styles()["ASCII"], func() int { return width }))
	drive(p, c, 271, 300, 0)
	for { // until the wide bar stands
		p.out.mu.Lock()
		dirty := p.out.dirty
		p.out.mu.Unlock()
		if !dirty {
			break
		}
		time.Sleep(time.Millisecond)
	}
	p.out.mu.Lock()
	width = 60
	p.out.mu.Unlock()
	p.Close()
	if n := strings.Count(out.String(), "\x1b[1A\x1b[J"); n != 1 {
		t.Errorf("old rows were wiped %d times: %q", n, out.String())
	}
}

// TestInterruptedBar: whoever interrupts writes below the bar, which then stays alone; the last state is told in a plain line.
func TestInterruptedBar(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := newProgress(&out, 600, Options{Now: c.now}, newBar(600, styles()["ASCII"], func() int { return 110 }))
	drive(p, c, 271, 300, 0)
	p.Interrupt()
	p.Interrupt()
	drive(p, c, 301, 303, 302)
	p.Close()
	shown := screen(out.String())
	if len(shown) < 2 || shown[len(shown)-1] != "" || !strings.HasPrefix(shown[len(shown)-2], "step 303/600  loss 0.9700") || strings.Count(strings.Join(shown, "\n"), "%") > 1 {
		t.Errorf("shows %q", shown)
	}
}

// TestSeconds: what was spent is read from the last record kept.
func TestSeconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	w, _, err := Open(path, -1)
	if err != nil {
		t.Fatal(err)
	}
	if w.Seconds() != 0 {
		t.Errorf("a new file has %v s", w.Seconds())
	}
	for step := int64(1); step <= 3; step++ {
		if err := errors.Join(w.Write(Train{Step: step, Seconds: Float(step) * 1.5}), w.Write(Eval{Step: step})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, _, err = Open(path, 2); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Seconds() != 3 {
		t.Errorf("%v s, want 3", w.Seconds())
	}
}
