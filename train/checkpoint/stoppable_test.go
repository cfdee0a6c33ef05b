package checkpoint

import (
	"errors"
	"testing"

	"prenorm/train/safetensors"
)

// TestStoppable stops the reading of a checkpoint of several parts at each question whether to go on: nothing is read after that, the error is
// that of the stop, and no older checkpoint is taken for the newest.
func TestStoppable(t *testing.T) {
	m := newMemoryFS()
	large := snapshot(2, "b")
	large.Weights = append(large.Weights, safetensors.New("large", []int{3 << 18}, make([]float32, 3<<18)))
	savesAll(t, m, snapshot(1, "a"), large)
	stop := errors.New("stop")
	for name, read := range map[string]func(fsys FS) error{
		"newest": func(fsys FS) error { _, _, err := Latest(fsys, root); return err },
		"files":  func(fsys FS) error { _, _, err := LatestFiles(fsys, root); return err },
		"load":   func(fsys FS) error { _, err := Load(fsys, join(root, folderName(2))); return err },
		"audit":  func(fsys FS) error { _, err := Audit(fsys, join(root, folderName(2))); return err },
	} {
		stops := 0
		for at := 1; ; at++ {
			asked, operations := 0, 0
			err := read(Stoppable(m, func() error {
				if asked++; asked == at {
					operations = m.count
				}
				if asked >= at {
					return stop
				}
				return nil
			}))
			if asked < at {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			stops++
			if !errors.Is(err, stop) || m.count != operations {
				t.Errorf("%s, stopped at question %d: %v, %d operations after it", name, at, err, m.count-operations)
			}
		}
		if name != "files" && stops < 12 { // a large file is read in parts
			t.Errorf("%s: only %d questions", name, stops)
		}
	}
}
