package train

import (
	"slices"
	"testing"
)

// TestRewindLeavesHeld wants a rewind to change nothing of what a save at work holds: its copy of the guard shares the state to go back to.
func TestRewindLeavesHeld(t *testing.T) {
	g := &GuardState{Losses: []float32{3, 2}, GradNorms: []float32{1, 1}, Scale: 1}
	g.good(4)
	saving := g.clone()
	for n := 1; n < 3; n++ {
		g.rewind(6, Guard{Window: 4, Factor: 0.5})
		if g.Good.Rewinds != n || g.Good.Step != 4 {
			t.Errorf("rewind %d: %+v", n, g.Good)
		}
	}
	g.add(Result{Loss: 9, GradNorm: 9}, 2)
	if saving.Good.Rewinds != 0 || !slices.Equal(saving.Good.Losses, []float32{3, 2}) || !slices.Equal(g.Good.Losses, []float32{3, 2}) {
		t.Errorf("what is saved was changed: %+v", saving.Good)
	}
}
