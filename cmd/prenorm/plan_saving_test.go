package main

import (
	"testing"

	"prenorm/configs/problem"
	"prenorm/kernels/ref"
)

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

// TestRoomCountsCopies wants all that a run keeps on the host to be held against its memory.
func TestRoomCountsCopies(t *testing.T) {
	withMachine(t, 14, 1<<40)
	r, l := &room{be: ref.New(), plan: &plan{Memory: memory{Total: 1, Saving: 2, Rewind: 4, Recent: 8}}}, problem.List{}
	if r.measureMemory(0, &l); r.host != 15 || len(l) != 1 {
		t.Errorf("%d bytes, %v", r.host, l)
	}
	if r.measureMemory(1, &l); len(l) != 1 {
		t.Errorf("with as much memory as it takes: %v", l)
	}
}
