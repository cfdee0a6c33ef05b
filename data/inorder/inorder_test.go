package inorder

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// slow takes longer for earlier texts.
type slow struct{ text string }

func (s *slow) Add(text []byte) {
	s.text += string(text)
	if len(s.text) == 0 {
		time.Sleep(100 * time.Microsecond)
	}
}
func (s *slow) End() string {
	text := s.text
	s.text = ""
	return text
}

func TestOrder(t *testing.T) {
	for _, cores := range []int{1, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		var want, got []string
		p := New(func() Worker[string] { return &slow{} }, func(s string) { got = append(got, s) })
		for i := range 3 * mostTexts {
			text := strings.Repeat("x", i%10)
			if i%100 == 50 { // in stretches
				p.Add([]byte("a"), false)
				p.Add(nil, false)
				text = "b" + text
				p.Add([]byte(text), true)
				want = append(want, "a"+text)
				continue
			}
			p.Add([]byte(text), true)
			want = append(want, text)
		}
		p.Close()
		if !slices.Equal(got, want) {
			t.Errorf("%d cores: %d texts, want %d in order", cores, len(got), len(want))
		}
	}
}
