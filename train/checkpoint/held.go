package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"prenorm/configs/problem"
)

// ErrMoved is within the error of a run whose folder is not at its path any more.
var ErrMoved = errors.New("the folder that this run began in is not there any more")

// Held says whether the lock's file is still the one at its path. A folder that is renamed takes its lock along, and another process may start a run
// under the name: what this one wrote by that name from then on would go into the other's run. The error names the folder's new place where it
// lies beside the old. A nil lock is held always.
func (l *RunLock) Held() error {
	if l == nil {
		return nil
	}
	mine, err := l.lock.Stat()
	if err != nil {
		return fmt.Errorf("run folder %s: its lock: %w", l.dir(), err)
	}
	there, err := os.Stat(l.lock.Path())
	if err == nil && os.SameFile(mine, there) {
		return nil
	}
	if err != nil && !notExist(err) {
		return fmt.Errorf("run folder %s: its lock: %w", l.dir(), err)
	}
	return fmt.Errorf("run folder %s: %w: it was moved, removed or replaced while the run was at work, so nothing is written there; %s", l.dir(), ErrMoved, l.whereabouts(mine))
}

func (l *RunLock) dir() string { return filepath.Dir(l.lock.Path()) }

// whereabouts looks for the lock's file in the folders beside the run's, and says how to go on.
func (l *RunLock) whereabouts(mine os.FileInfo) string {
	above := filepath.Dir(l.dir())
	entries, _ := os.ReadDir(above) // without one, nothing is found
	for _, e := range entries {
		dir := filepath.Join(above, e.Name())
		if there, err := os.Stat(join(dir, filepath.Base(l.lock.Path()))); err == nil && os.SameFile(mine, there) {
			return fmt.Sprintf("it is %s now, with all that was saved: go on with prenorm train %s", dir, problem.ShellWord(dir))
		}
	}
	return "where it was moved to, it holds all that was saved: go on with prenorm train FOLDER, and move no folder of a run at work"
}

// Guard is a file system in which nothing can be written unless the lock is held.
func (l *RunLock) Guard(fsys FS) FS {
	if l == nil {
		return fsys
	}
	return guarded{fsys, l}
}

// guarded looks at the lock before every operation that writes.
type guarded struct {
	FS
	lock *RunLock
}

func (g guarded) Create(path string) (File, error) {
	if err := g.lock.Held(); err != nil {
		return nil, err
	}
	return g.FS.Create(path)
}

func (g guarded) Rename(from, to string) error {
	return g.do(to, func(string) error { return g.FS.Rename(from, to) })
}

func (g guarded) Mkdir(path string) error   { return g.do(path, g.FS.Mkdir) }
func (g guarded) Remove(path string) error  { return g.do(path, g.FS.Remove) }
func (g guarded) SyncDir(path string) error { return g.do(path, g.FS.SyncDir) }

func (g guarded) do(path string, act func(string) error) error {
	if err := g.lock.Held(); err != nil {
		return err
	}
	return act(path)
}
