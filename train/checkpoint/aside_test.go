package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSetAsideLosesNothing fails and cuts the power at every operation of setting checkpoints aside and putting them back, and wants all of
// them to be there and whole, under one name or the other.
func TestSetAsideLosesNothing(t *testing.T) {
	list := []*Snapshot{at(100, "a"), at(200, "b"), at(300, "c")}
	prepared := script{before: saves(list...)}.prepare(t)
	there := func(m *memoryFS) error {
		names, err := listNames(m, root)
		if err != nil {
			return err
		}
		found := ""
		for _, name := range names {
			if _, err := verify(m, join(root, name)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			found += name[:13] + " "
		}
		if found != "step-00000100 step-00000200 step-00000300 " {
			return fmt.Errorf("there are %v", names)
		}
		return nil
	}
	run := func(m *memoryFS) (err error) {
		moved, err := SetAside(m, root, 100)
		if err != nil {
			return err
		}
		if dir, refused, err := Latest(m, root); err != nil || len(refused) > 0 || dir != join(root, folderName(100)) {
			return fmt.Errorf("latest %s, refused %v, %w", dir, refused, err)
		}
		return PutBack(m, root, moved)
	}
	whole := prepared.clone()
	if err := run(whole); err != nil {
		t.Fatal(err)
	}
	if err := only(whole, *list[2]); err != nil {
		t.Errorf("put back: %v", err)
	}
	faults := 0
	for _, kind := range []fault{failOnce, failLate, failEver, failWrite} {
		for i := 1; i <= whole.count; i++ {
			for seed := range uint64(5) { // the last without a cut
				m := prepared.clone()
				m.arm(kind, i)
				_ = run(m)
				m.arm(noFault, 0)
				if seed < 4 {
					m.powerCut(seed)
				}
				faults++
				if err := there(m); err != nil {
					t.Fatalf("fault %d at operation %d, seed %d: %v", kind, i, seed, err)
				}
			}
		}
	}
	t.Logf("%d faults", faults)
}

// TestSetAsideTwice wants each time to have names of its own, and a set-aside step that is durable not to come back.
func TestSetAsideTwice(t *testing.T) {
	m := script{before: saves(at(100, "a"), at(200, "b"))}.prepare(t)
	for _, want := range []string{"step-00000200.aside-1", "step-00000200.aside-2"} {
		moved, err := SetAside(m, root, 100)
		if err != nil || len(moved) != 1 || !strings.HasSuffix(moved[0], want) {
			t.Errorf("moved %v, %v; want %s", moved, err, want)
		}
		m.powerCut(0)
		if err := only(m, *at(100, "a")); err != nil {
			t.Error(err)
		}
		savesAll(t, m, *at(200, "c"))
	}
	if moved, err := SetAside(m, root, 200); moved != nil || err != nil {
		t.Errorf("nothing is above: %v, %v", moved, err)
	}
}

// TestAsideOfReplaced wants a checkpoint that was set aside while it was being replaced to be listed as the others are.
func TestAsideOfReplaced(t *testing.T) {
	m := script{before: saves(at(100, "a"), at(200, "b"))}.prepare(t)
	if err := m.Rename(join(root, folderName(200)), join(root, folderName(200)+oldSuffix)); err != nil {
		t.Fatal(err)
	}
	moved, err := SetAside(m, root, 100)
	if err != nil || len(moved) != 1 {
		t.Fatal(moved, err)
	}
	if dirs, err := Aside(m, root); err != nil || !slices.Equal(dirs, moved) {
		t.Errorf("aside %v, %v; set aside were %v", dirs, err, moved)
	}
}
