package main

import "testing"

// TestPlanSaving wants the copy that checkpoints are written from to be counted where there is one, and said to be there.
func TestPlanSaving(t *testing.T) {
	inTiny(t)
	for _, c := range []struct {
		word, says string
		background bool
	}{{"always", "while training goes on", true}, {"auto", "while training goes on", true}, {"never", "training waits", false}} {
		set := "checkpoint.background=" + c.word
		p := planJSON(t, "tiny.yaml", "--set", set)
		if m := p.Memory; m.Background != c.background || (m.Saving == 4*3*p.Parameters.Total) != c.background || (m.Saving == 0) == c.background {
			t.Errorf("%s: %+v", c.word, m)
		}
		command("plan", "tiny.yaml", "--set", set).want(t, exitOK, "copy for saving", c.says)
	}
}
