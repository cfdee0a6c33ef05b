package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// asidePart comes before the number in the names of checkpoints that were set aside: step-00000300.aside-1. They do not count as checkpoints of
// the run, and can be read all the same.
const asidePart = ".aside-"

// SetAside renames the checkpoints of steps above a step, newest first, so that the run goes on from there; nothing is deleted. It returns
// their new folders, which [PutBack] takes, also after an error.
func SetAside(fsys FS, root string, above int64) (moved []string, err error) {
	entries, err := List(fsys, root)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	n, err := freeAside(fsys, root)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	for _, e := range slices.Backward(entries) {
		if e.Step <= above {
			break
		}
		to := fmt.Sprint(e.Dir, asidePart, n)
		if err := fsys.Rename(e.Dir, to); err != nil {
			return moved, fmt.Errorf("checkpoint %s: not set aside: %w", e.Dir, err)
		}
		moved = append(moved, to)
	}
	if len(moved) == 0 {
		return nil, nil
	}
	// Or a power cut could bring them back once newer ones of the run that goes on are there.
	if err := fsys.SyncDir(root); err != nil {
		return moved, fmt.Errorf("checkpoints: %w", err)
	}
	return moved, nil
}

// Aside lists the folders of checkpoints under root that were set aside.
func Aside(fsys FS, root string) (dirs []string, err error) {
	names, err := listNames(fsys, root)
	for _, name := range names {
		base, _, found := strings.Cut(name, asidePart)
		if _, _, ok := parseName(base); found && ok {
			dirs = append(dirs, join(root, name))
		}
	}
	return dirs, err
}

// PutBack gives checkpoints that were set aside their names back.
func PutBack(fsys FS, root string, moved []string) error {
	for _, dir := range slices.Backward(moved) {
		if err := fsys.Rename(dir, dir[:strings.LastIndex(dir, asidePart)]); err != nil {
			return fmt.Errorf("checkpoint %s: not put back: %w", dir, err)
		}
	}
	if err := fsys.SyncDir(root); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}
