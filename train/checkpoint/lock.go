package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"prenorm/data/regular"
)

// RunLock is held by the one process that writes to a run's folder. The system gives it up when the process ends, however it ends.
type RunLock struct {
	lock   *flock.Flock
	pid    string                  // path of the file that names the holder
	remove func(path string) error // os.Remove, or a test's that looks on
	killed bool                    // whoever held it before
}

// Lock takes the lock of a run's folder, which must exist. When another process holds it, the error says so with its process number.
func Lock(runDir string) (*RunLock, error) {
	l := &RunLock{
		lock: flock.New(join(runDir, "run.lock"), flock.SetPermissions(0o644)),
		// The number has a file of its own because Windows lets nobody else read a locked one.
		pid:    join(runDir, "run.pid"),
		remove: os.Remove,
	}
	if err := errors.Join(regular.Check(l.lock.Path()), regular.Check(l.pid)); err != nil {
		return nil, fmt.Errorf("run folder %s: cannot be locked: %w", runDir, err)
	}
	ok, err := l.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("run folder %s: cannot be locked: %w", runDir, err)
	}
	if !ok {
		return nil, fmt.Errorf("run folder %s: is in use by %s: wait for it, stop it, or choose another folder", runDir, holder(l.pid))
	}
	err = l.Held() // whoever removes a folder may have removed the file between its opening and its locking
	if err == nil {
		_, missing := os.Lstat(l.pid)
		l.killed = missing == nil
		err = os.WriteFile(l.pid, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
	}
	if err != nil {
		_ = l.lock.Unlock()
		return nil, fmt.Errorf("run folder %s: %w", runDir, err)
	}
	return l, nil
}

// AfterKill says whether the process that held the lock before did not give it up itself: it was killed, or the power failed.
func (l *RunLock) AfterKill() bool { return l.killed }

// Unlock gives the lock up. The lock's file stays, as removing it would let two processes hold two files of one name. Where the folder was moved
// away, the process number at its path is another's and stays too.
func (l *RunLock) Unlock() error {
	if !l.lock.Locked() {
		return nil
	}
	var err error
	if l.Held() == nil { // before the lock is given up: afterwards the number may be the next holder's
		if err = l.remove(l.pid); notExist(err) {
			err = nil
		}
	}
	if unlockErr := l.lock.Unlock(); err == nil {
		err = unlockErr
	}
	return err
}

// Remove removes the lock's files and gives it up: the folder goes too. Where the lock is not held any more it only gives it up.
func (l *RunLock) Remove() error {
	if err := l.Held(); err != nil {
		return errors.Join(err, l.Unlock())
	}
	if err := l.remove(l.pid); err != nil && !notExist(err) {
		return errors.Join(err, l.Unlock())
	}
	// While it is locked, so that who opened it before finds it gone, and does not hold what is removed.
	removed := l.remove(l.lock.Path())
	err := l.lock.Unlock()
	if removed != nil { // Windows removes no open file, and so none that another process has opened by now
		removed = l.remove(l.lock.Path())
	}
	return errors.Join(err, removed)
}

func holder(path string) string {
	data, err := regular.ReadFile(path)
	pid, parseErr := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || parseErr != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
