package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

// script is a piece of a run's life: what lies on the disk before it, what it does, and which snapshot must be the latest after it.
type script struct {
	name   string
	before func(t *testing.T, m *memoryFS)
	run    func(m *memoryFS) error
	old    *Snapshot   // the latest before, nil for none
	new    *Snapshot   // the latest after
	middle *Snapshot   // one that is the latest on the way, nil for none
	stays  []*Snapshot // those that no moment may be without
}

func at(step int64, version string) *Snapshot {
	s := snapshot(step, version)
	return &s
}

func saves(list ...*Snapshot) func(*testing.T, *memoryFS) {
	return func(t *testing.T, m *memoryFS) {
		t.Helper()
		for _, s := range list {
			if _, err := Save(m, root, *s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func save(s *Snapshot) func(*memoryFS) error {
	return func(m *memoryFS) error {
		_, err := Save(m, root, *s)
		return err
	}
}

// background saves one after another as a run does, with the best of them at step 1, and looks at the outcome of each.
func background(list ...*Snapshot) func(*memoryFS) error {
	return func(m *memoryFS) error {
		s := NewSaver(m, root)
		for _, snap := range list {
			s.Begin(*snap, Keep{Newest: 1, Best: []int64{1}}, func() error { return nil })
			if _, err := s.Wait(); err != nil {
				return err
			}
		}
		return nil
	}
}

// replaced leaves checkpoint s under the name that it has while it is being replaced.
func replaced(t *testing.T, m *memoryFS, s *Snapshot) {
	t.Helper()
	saves(s)(t, m)
	dir := join(root, folderName(s.Step))
	if err := m.Rename(dir, dir+oldSuffix); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncDir(root); err != nil {
		t.Fatal(err)
	}
}

// both leaves the checkpoint old under that name, and beside it the one that replaces it.
func both(t *testing.T, m *memoryFS, old, replacement *Snapshot) {
	t.Helper()
	replaced(t, m, old)
	dir := join(root, folderName(old.Step))
	for _, step := range []func() error{
		func() error { return m.Rename(dir+oldSuffix, dir+"-held") },
		func() error { return save(replacement)(m) },
		func() error { return m.Rename(dir+"-held", dir+oldSuffix) },
		func() error { return m.SyncDir(root) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

func scripts() []script {
	a, b, b2, b3, c := at(100, "a"), at(200, "b"), at(200, "b2"), at(200, "b3"), at(300, "c")
	leftovers := func(t *testing.T, m *memoryFS) {
		saves(a)(t, m)
		replaced(t, m, b)
		if err := m.Mkdir(join(root, tempPrefix+folderName(300))); err != nil {
			t.Fatal(err)
		}
		if _, err := writeFile(m, join(root, tempPrefix+folderName(300)), "half", whole([]byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(m *memoryFS) error { _, err := Clean(m, root); return err }
	prune := func(m *memoryFS) error { _, err := Prune(m, root, Keep{Newest: 1}); return err }
	policy := func(m *memoryFS) error {
		_, err := Prune(m, root, Keep{Newest: 1, Every: 100, Best: []int64{1}})
		return err
	}
	day := func(m *memoryFS) error {
		for _, f := range []func(*memoryFS) error{clean, save(b), save(b2), prune} {
			if err := f(m); err != nil {
				return err
			}
		}
		return nil
	}
	aside := func(t *testing.T, m *memoryFS) { saves(a)(t, m); replaced(t, m, b) }
	two := func(t *testing.T, m *memoryFS) { both(t, m, b, b2) }
	return []script{
		{name: "first save", before: saves(), run: save(a), new: a},
		{name: "next save", before: saves(a), run: save(b), old: a, new: b},
		{name: "same step", before: saves(a, b), run: save(b2), old: b, new: b2},
		{name: "same step, the old one aside", before: aside, run: save(b2), old: b, new: b2},
		{name: "same step, both there", before: two, run: save(b3), old: b2, new: b3},
		{name: "prune", before: saves(at(1, "x"), at(2, "y"), a, b), run: prune, old: b, new: b},
		{name: "prune by policy", before: saves(at(1, "x"), at(2, "y"), a, b), run: policy, old: b, new: b, stays: []*Snapshot{at(1, "x"), a, b}},
		{name: "in the background", before: saves(at(1, "x"), a), run: background(b, c), old: a, middle: b, new: c, stays: []*Snapshot{at(1, "x")}},
		{name: "clean leftovers", before: leftovers, run: clean, old: b, new: b},
		{name: "clean after a replacement", before: two, run: clean, old: b2, new: b2},
		{name: "a day", before: saves(a), run: day, old: a, middle: b, new: b2},
	}
}

// check wants the latest to be the old or the new snapshot, or the one on the way, whole, and nothing refused.
func (s script) check(m *memoryFS) error {
	dir, refused, err := Latest(m, root)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("%v was refused", refused)
	}
	entries, err := List(m, root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := verify(m, e.Dir); err != nil {
			return fmt.Errorf("%s has a checkpoint's name and is not whole: %w", e.Dir, err)
		}
	}
	for _, want := range s.stays {
		loaded, err := Load(m, join(root, folderName(want.Step)))
		if err == nil {
			err = same(loaded, *want)
		}
		if err != nil {
			return fmt.Errorf("the checkpoint of step %d is lost: %w", want.Step, err)
		}
	}
	if dir == "" {
		if s.old == nil {
			return nil
		}
		return fmt.Errorf("no checkpoint is left")
	}
	loaded, err := Load(m, dir)
	if err != nil {
		return err
	}
	for _, want := range []*Snapshot{s.old, s.middle, s.new} {
		if want != nil && same(loaded, *want) == nil {
			return nil
		}
	}
	return fmt.Errorf("the latest is neither the old nor the new one but %s of step %d", dir, loaded.Step)
}

// recover does what the next process does: clean up, then carry the script out, after which nothing but whole checkpoints is left.
func (s script) recover(m *memoryFS) error {
	if _, err := Clean(m, root); err != nil {
		return err
	}
	if err := s.check(m); err != nil {
		return fmt.Errorf("after cleaning: %w", err)
	}
	if err := s.run(m); err != nil {
		return err
	}
	if _, err := Clean(m, root); err != nil {
		return err
	}
	dir, refused, err := Latest(m, root)
	if err != nil || len(refused) > 0 {
		return fmt.Errorf("latest: %v, refused %v", err, refused)
	}
	loaded, err := Load(m, dir)
	if err != nil {
		return err
	}
	if err := same(loaded, *s.new); err != nil {
		return err
	}
	names, err := listNames(m, root)
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) || strings.HasSuffix(name, oldSuffix) {
			return fmt.Errorf("%s is left over", name)
		}
	}
	return err
}

// operations is the number of operations of an undisturbed script.
func (s script) operations(t *testing.T, prepared *memoryFS) int {
	t.Helper()
	m := prepared.clone()
	if err := s.run(m); err != nil {
		t.Fatal(err)
	}
	n := m.count
	if err := s.check(m); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s script) prepare(t *testing.T) *memoryFS {
	t.Helper()
	m := newMemoryFS()
	if err := m.Mkdir("run"); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	s.before(t, m)
	return m
}

// only wants the latest to be this snapshot.
func only(m *memoryFS, want Snapshot) error {
	dir, _, err := Latest(m, root)
	if err != nil {
		return err
	}
	loaded, err := Load(m, dir)
	if err != nil {
		return err
	}
	return same(loaded, want)
}
