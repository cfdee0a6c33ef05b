package main

import (
	"strings"
	"testing"

	"prenorm/configs/problem"
	"prenorm/kernels"
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

// remote is a backend with memory of its own.
type remote struct{ kernels.Backend }

func (remote) Device() string { return "a device" }

// TestPlanCountsBundles wants the copy of the state that a bundle is written from on a device to be counted on the host, and none where the
// state is there or no bundle is written.
func TestPlanCountsBundles(t *testing.T) {
	inTiny(t)
	for _, c := range []struct {
		device           bool
		background, sets string
		copies           int64 // of the state
	}{
		{false, "always", "", 1}, {false, "never", "", 0}, {true, "always", "", 2}, {true, "never", "", 1},
		{true, "always", "train.guard.bundles=0", 1}, {true, "never", "train.guard.bundles=0", 1}, {true, "always", "train.guard.policy=rewind", 3},
	} {
		withKernels(t, func(string, kernels.Options) (kernels.Backend, error) {
			if c.device {
				return remote{ref.New()}, nil
			}
			return ref.New(), nil
		})
		args := []string{"tiny.yaml", "--set", "checkpoint.background=" + c.background}
		if c.sets != "" {
			args = append(args, "--set", c.sets)
		}
		m := planJSON(t, args...).Memory
		if got := m.copies() - m.Recent; got != c.copies*m.State || m.State == 0 {
			t.Errorf("%+v: %d bytes for copies of a state of %d, want %d copies", c, got, m.State, c.copies)
		}
		r := command(append([]string{"plan"}, args...)...).want(t, exitOK)
		if said := strings.Contains(r.out, "copy for a bundle"); said != (c.device && c.sets != "train.guard.bundles=0") {
			t.Errorf("%+v: a copy for a bundle is said: %v", c, said)
		}
	}
}
