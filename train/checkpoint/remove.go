package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Prune removes the checkpoints that keep gives no reason for, oldest first, and returns their folders. Those that are not whole, checksums
// included, take nobody's place among the newest, and stay; the newest whole one is never removed, whatever lies above it.
func Prune(fsys FS, root string, keep Keep) (removed []string, err error) {
	return prune(fsys, root, keep, map[string]bool{})
}

// prune is [Prune] that takes the word of known for a checkpoint that is whole, the newest apart, and adds to it those that it has read. Below
// the newest that are kept, manifests and sizes must do.
func prune(fsys FS, root string, keep Keep, known map[string]bool) (removed []string, err error) {
	if keep.Newest < 1 {
		return nil, nil
	}
	entries, err := List(fsys, root)
	if err != nil {
		return nil, err
	}
	rank := 0
	var spare []string
	for _, e := range slices.Backward(entries) {
		switch {
		case !sizesRight(fsys, e.Dir):
			continue
		case rank < keep.Newest && !(rank > 0 && known[e.Dir]):
			_, err := verify(fsys, e.Dir)
			if known[e.Dir] = err == nil; err != nil {
				continue
			}
		}
		if len(keep.Reasons(rank, e.Step)) == 0 {
			spare = append(spare, e.Dir)
		}
		rank++
	}
	for _, dir := range slices.Backward(spare) {
		if err := discard(fsys, root, dir); err != nil {
			return removed, fmt.Errorf("checkpoint %s: not removed: %w", dir, err)
		}
		removed = append(removed, dir)
	}
	return removed, nil
}

// Clean puts root in order after a process that was stopped: unfinished folders are removed, and a replacement that was cut short is
// brought to one side or the other. It returns the folders removed. It must run under the run's [Lock], before the first [Save].
func Clean(fsys FS, root string) (removed []string, err error) {
	names, err := listNames(fsys, root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := join(root, name)
		switch _, old, ok := parseName(name); {
		case strings.HasPrefix(name, tempPrefix+stepPrefix):
			if err := removeAll(fsys, path); err != nil {
				return removed, fmt.Errorf("checkpoints: %s: not removed: %w", path, err)
			}
			removed = append(removed, path)
		case ok && old:
			dropped, err := settle(fsys, root, path, names)
			if err != nil {
				return removed, fmt.Errorf("checkpoints: %s: not put in order: %w", path, err)
			}
			if dropped {
				removed = append(removed, path)
			}
		}
	}
	return removed, nil
}

// settle ends a replacement: the old folder goes when the new one is whole, and takes its name back when there is no new one. When the
// new one is damaged both stay. It says whether the old one is gone.
func settle(fsys FS, root, old string, names []string) (dropped bool, err error) {
	dir := strings.TrimSuffix(old, oldSuffix)
	if !slices.Contains(names, filepath.Base(dir)) {
		if err := makeWay(fsys, root, filepath.Base(dir)); err != nil {
			return false, err
		}
		return false, fsys.Rename(old, dir) // should a power cut undo it, the next Clean does it again
	}
	if _, err := verify(fsys, dir); err != nil {
		return false, nil
	}
	return true, putAway(fsys, root, old)
}

// putAway makes a checkpoint's name free: it is removed, or, where it is of a newer format and so not ours to judge, set aside.
func putAway(fsys FS, root, dir string) error {
	if _, err := openFolder(fsys, dir); !errors.Is(err, ErrNewer) {
		return discard(fsys, root, dir)
	}
	n, err := freeAside(fsys, root)
	if err != nil {
		return err
	}
	if err := fsys.Rename(dir, fmt.Sprint(dir, asidePart, n)); err != nil {
		return err
	}
	return fsys.SyncDir(root)
}

// discard removes a checkpoint, first its name, durably, and then its content: no half of it is ever seen as a checkpoint.
func discard(fsys FS, root, dir string) error {
	temp := join(root, tempPrefix+filepath.Base(dir)+"-removed")
	if err := makeWay(fsys, root, filepath.Base(temp)); err != nil {
		return err
	}
	if err := removeAll(fsys, temp); err != nil {
		return err
	}
	if err := fsys.Rename(dir, temp); err != nil {
		return err
	}
	if err := fsys.SyncDir(root); err != nil {
		return err
	}
	return removeAll(fsys, temp)
}
