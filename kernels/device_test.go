package kernels

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHostMarker wants times from the first mark on, in order, and a new beginning after they were read.
func TestHostMarker(t *testing.T) {
	m := MarkerOf(nil)
	for range 2 {
		m.Mark()
		time.Sleep(2 * time.Millisecond)
		m.Mark()
		m.Mark()
		got, err := m.Marks()
		if err != nil || len(got) != 3 || got[0] != 0 || got[1] < 0.002 || !slices.IsSorted(got) {
			t.Errorf("marks at %v, %v", got, err)
		}
	}
	if got, err := m.Marks(); err != nil || len(got) != 0 {
		t.Errorf("marks that were read come back: %v, %v", got, err)
	}
}

// TestOutOfMemoryAdvice wants to be told what to lower and what to raise, and bf16 to be advised where it is not the precision already.
func TestOutOfMemoryAdvice(t *testing.T) {
	for _, p := range append(Precisions(), "") {
		text := fmt.Sprint(&OutOfMemory{Device: "a GPU", Precision: p})
		if strings.Contains(text, "--set precision=bf16, or stop") == (p == PrecisionBF16) || !strings.Contains(text, "or stop what else uses the GPU)") {
			t.Errorf("in %q: %s", p, text)
		}
		if want := "(lower train.batch and raise train.accumulate, lower model.context or the model's sizes, "; !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
