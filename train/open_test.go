package train

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"prenorm/train/checkpoint"
)

// moving is a file system on which something happens before a checkpoint's manifest is opened for the n-th time.
type moving struct {
	checkpoint.FS
	opened int
	event  func(n int)
}

func (m *moving) Open(path string) (fs.File, error) {
	if filepath.Base(path) == "manifest.json" {
		m.opened++
		m.event(m.opened)
	}
	return m.FS.Open(path)
}

// TestOpenWeightsOfARunAtWork has a run save and remove its old checkpoint between the look for the newest one and the reading of it.
func TestOpenWeightsOfARunAtWork(t *testing.T) {
	j := tinyJob(t)
	if out, err := finish(t, j); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	newest, _, err := findCheckpoint(checkpoint.OS, j.Dir, checkpoint.Latest)
	if err != nil {
		t.Fatal(err)
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	aside := t.TempDir()
	move(newest, filepath.Join(aside, "newest"))
	at := &moving{FS: checkpoint.OS, event: func(int) {}}
	old, _, err := findCheckpoint(at, j.Dir, checkpoint.Latest)
	if err != nil {
		t.Fatal(err)
	}
	looks := at.opened
	at.opened, at.event = 0, func(n int) {
		if n == looks+1 {
			move(filepath.Join(aside, "newest"), newest)
			move(old, filepath.Join(aside, "old"))
		}
	}
	saved, _, err := openNewest(at, j.Dir, checkpoint.Latest, checkpoint.LoadWeights)
	if err != nil || saved.Dir != newest || len(saved.Weights) == 0 {
		t.Fatalf("does not read %s: %v", newest, err)
	}
	// A checkpoint that was named itself has no successor.
	at.opened, at.event = 0, func(int) { move(newest, filepath.Join(aside, "newest")) }
	if _, _, err := openNewest(at, newest, checkpoint.Latest, checkpoint.LoadWeights); !errors.Is(err, fs.ErrNotExist) || at.opened != 1 {
		t.Errorf("a checkpoint that is gone: %v after %d looks", err, at.opened)
	}
}
