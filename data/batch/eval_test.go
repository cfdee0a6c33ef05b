package batch

import (
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// read runs an evaluation to its end and returns all targets, checking inputs against the token before.
func read(t *testing.T, e *Evaluation) (targets []int32) {
	t.Helper()
	var b Batch
	for {
		// what an earlier batch left must not show
		for i := range b.Inputs {
			b.Inputs[i], b.Targets[i] = 77777, 77777
		}
		err := e.Next(&b)
		if err == io.EOF {
			return targets
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, target := range b.Targets {
			switch {
			case target == -1 && b.Inputs[i] != 0, target != -1 && b.Inputs[i] != target-1:
				t.Fatalf("input %d, target %d", b.Inputs[i], target)
			case target != -1:
				targets = append(targets, target)
			}
		}
	}
}

func TestEvalReadsEveryTokenOnce(t *testing.T) {
	for n := 2; n < 60; n++ {
		for _, shape := range [][2]int{{1, 1}, {1, 5}, {3, 5}, {4, 7}, {2, 100}} {
			e, err := Eval(count(n), shape[0], shape[1], 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got := read(t, e)
				if !slices.Equal(got, count(n)[1:]) || e.Targets() != int64(n-1) {
					t.Fatalf("n %d, shape %v: targets %v, %d announced", n, shape, got, e.Targets())
				}
				e.Reset()
			}
		}
	}
}

func TestEvalOfSomeWindows(t *testing.T) {
	for n := 2; n < 80; n += 3 {
		for windows := 1; windows < 40; windows++ {
			const T = 4
			e, err := Eval(count(n), 3, T, windows)
			if err != nil {
				t.Fatal(err)
			}
			total := (n - 2 + T) / T
			if want := min(windows, total); e.Windows() != int64(want) {
				t.Fatalf("n %d: %d windows, want %d", n, e.Windows(), want)
			}
			got := read(t, e)
			if int64(len(got)) != e.Targets() || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Fatalf("n %d, %d windows: targets %v, %d announced", n, windows, got, e.Targets())
			}
			for i := range e.Windows() {
				// evenly: the middle of part i lies in the window
				if middle := (float64(i) + 0.5) * float64(total) / float64(e.Windows()); e.place(i) != int64(math.Floor(middle+1e-9)) {
					t.Fatalf("n %d: window %d of %d is %d of %d", n, i, windows, e.place(i), total)
				}
			}
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	for _, test := range []struct {
		n, B, T, windows int
		want             string
	}{{0, 1, 1, 0, "(tokens: 0): at least 2"}, {1, 1, 1, 0, "(tokens: 1): at least 2"}, {9, 0, 1, 0, "train.batch"}, {9, 1, 1, -1, "train.eval.windows"}} {
		if _, err := Eval(count(test.n), test.B, test.T, test.windows); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	e, err := Eval(&broken{IDs: count(9), fail: map[int]bool{2: true}}, 2, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := e.Next(&b); err == nil || !strings.Contains(err.Error(), "window 1") {
		t.Errorf("a failing read: %v", err)
	}
	if got := read(t, e); len(got) != 8 {
		t.Errorf("after a failing read %v is read", got)
	}
}
