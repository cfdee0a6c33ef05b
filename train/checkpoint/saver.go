package checkpoint

// Saver saves the checkpoints of one run, each in the background, one at a time, and removes what is not kept any more. Its methods are for
// one goroutine.
type Saver struct {
	fsys    FS
	root    string
	running chan saved      // nil while no save is at work or waits to be asked for
	known   map[string]bool // checkpoints that were whole when they were read last; of the save at work
}

// saved is how a save ended: dir is "" where no checkpoint was made durable.
type saved struct {
	dir string
	err error
}

// NewSaver makes the saver of the checkpoints under root.
func NewSaver(fsys FS, root string) *Saver {
	return &Saver{fsys: fsys, root: root, known: map[string]bool{}}
}

// Begin starts to save a snapshot, which must not change until [Saver.Wait] or [Saver.Poll] has told the outcome. first comes before it, in
// the background too; when it fails, nothing is saved. The save before must have been waited for.
func (s *Saver) Begin(snap Snapshot, keep Keep, first func() error) {
	done := make(chan saved, 1)
	s.running = done
	go func() { done <- s.save(snap, keep, first) }()
}

func (s *Saver) save(snap Snapshot, keep Keep, first func() error) saved {
	if err := first(); err != nil {
		return saved{err: err}
	}
	dir, err := Save(s.fsys, s.root, snap)
	if err != nil {
		return saved{err: err}
	}
	_, err = prune(s.fsys, s.root, keep, s.known)
	return saved{dir, err}
}

// Wait waits for the save at work and returns the checkpoint's folder, "" without one. An error beside a folder is one of removing others.
// Each outcome is told once.
func (s *Saver) Wait() (dir string, err error) {
	if s.running == nil {
		return "", nil
	}
	r := <-s.running
	s.running = nil
	return r.dir, r.err
}

// Poll is [Saver.Wait] that does not wait: ended is false while the save is at work, or none is.
func (s *Saver) Poll() (dir string, ended bool, err error) {
	select {
	case r := <-s.running: // a nil channel never has any
		s.running = nil
		return r.dir, true, r.err
	default:
		return "", false, nil
	}
}
