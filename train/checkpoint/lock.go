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
	lock *flock.Flock
	pid  string // path of the file that names the holder
}

// Lock takes the lock of a run's folder, which must exist. When another process holds it, the error says so with its process number.
func Lock(runDir string) (*RunLock, error) {
	l := &RunLock{
		lock: flock.New(join(runDir, "run.lock"), flock.SetPermissions(0o644)),
		// The number has a file of its own because Windows lets nobody else read a locked one.
		pid: join(runDir, "run.pid"),
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
	if err := os.WriteFile(l.pid, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		_ = l.lock.Unlock()
		return nil, fmt.Errorf("run folder %s: %w", runDir, err)
	}
	return l, nil
}

// Unlock gives the lock up. The lock's file stays, as removing it would let two processes hold two files of one name.
func (l *RunLock) Unlock() error {
	if !l.lock.Locked() {
		return nil
	}
	err := os.Remove(l.pid)
	if notExist(err) {
		err = nil
	}
	if unlockErr := l.lock.Unlock(); err == nil {
		err = unlockErr
	}
	return err
}

func holder(path string) string {
	data, err := os.ReadFile(path)
	pid, parseErr := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || parseErr != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
