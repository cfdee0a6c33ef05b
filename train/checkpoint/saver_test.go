package checkpoint

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSaver(t *testing.T) {
	m := newMemoryFS()
	savesAll(t, m, snapshot(1, "a"))
	s := NewSaver(m, root)
	if dir, err := s.Wait(); dir != "" || err != nil {
		t.Errorf("nothing is at work: %q, %v", dir, err)
	}
	if dir, ended, err := s.Poll(); dir != "" || ended || err != nil {
		t.Errorf("nothing is at work: %q, %v, %v", dir, ended, err)
	}
	hold := make(chan struct{})
	s.Begin(snapshot(2, "b"), Keep{Newest: 1}, func() error { <-hold; return nil })
	if _, ended, _ := s.Poll(); ended {
		t.Error("ended before it began")
	}
	close(hold)
	dir, err := s.Wait()
	if dir != join(root, folderName(2)) || err != nil || only(m, snapshot(2, "b")) != nil {
		t.Errorf("saved %q, %v", dir, err)
	}
	if entries, _ := List(m, root); len(entries) != 1 {
		t.Errorf("not pruned: %v", entries)
	}
	if dir, err := s.Wait(); dir != "" || err != nil {
		t.Errorf("told twice: %q, %v", dir, err)
	}
	first := errors.New("metrics")
	s.Begin(snapshot(3, "c"), Keep{Newest: 1}, func() error { return first })
	for ended := false; !ended; {
		if dir, ended, err = s.Poll(); ended && (dir != "" || !errors.Is(err, first)) {
			t.Errorf("what comes first failed: %q, %v", dir, err)
		}
	}
	if err := only(m, snapshot(2, "b")); err != nil {
		t.Error(err)
	}
	m.arm(failWrite, 1)
	s.Begin(snapshot(4, "d"), Keep{Newest: 1}, func() error { return nil })
	if dir, err := s.Wait(); dir != "" || !errors.Is(err, errFault) || !strings.Contains(err.Error(), folderName(4)) {
		t.Errorf("a full disk: %q, %v", dir, err)
	}
}

// TestKeep lists which of the checkpoints 1 to 12 remain.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		keep Keep
		want []int64
	}{
		{Keep{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{Keep{Newest: 2}, []int64{11, 12}},
		{Keep{Newest: 1, Every: 5}, []int64{5, 10, 12}},
		{Keep{Newest: 1, Best: []int64{7, 12, 99}}, []int64{7, 12}},
		{Keep{Newest: 2, Every: 4, Best: []int64{1}}, []int64{1, 4, 8, 11, 12}},
	} {
		m := newMemoryFS()
		for step := range int64(12) {
			savesAll(t, m, snapshot(step+1, "a"))
		}
		if _, err := Prune(m, root, c.keep); err != nil {
			t.Fatal(err)
		}
		entries, err := List(m, root)
		var left []int64
		for _, e := range entries {
			left = append(left, e.Step)
		}
		if err != nil || !slices.Equal(left, c.want) {
			t.Errorf("%+v: left %v, want %v; %v", c.keep, left, c.want, err)
		}
	}
}

func TestReasons(t *testing.T) {
	k := Keep{Newest: 2, Every: 50, Best: []int64{150, 100}}
	for _, c := range []struct {
		rank int
		step int64
		want string
	}{{0, 220, "newest"}, {1, 210, "among the newest 2"}, {2, 150, "best validation loss, every 50 steps"}, {3, 120, ""}, {4, 100, "validation loss number 2, every 50 steps"}} {
		if got := strings.Join(k.Reasons(c.rank, c.step), ", "); got != c.want {
			t.Errorf("step %d: %q, want %q", c.step, got, c.want)
		}
	}
	if got := (Keep{}).Reasons(9, 1); len(got) != 1 || got[0] != "all are kept" {
		t.Errorf("without a limit: %q", got)
	}
}
