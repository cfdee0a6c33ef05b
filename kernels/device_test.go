package kernels

import (
	"slices"
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
