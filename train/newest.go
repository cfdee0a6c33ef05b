package train

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"prenorm/train/checkpoint"
)

// Newest is the checkpoint that the run in a folder goes on from: the newest whole one, "" where there is none at all. refused are newer ones
// that are damaged. One of a newer format is not damaged, and an error: whoever went on from an older one would write over its steps.
func Newest(fsys checkpoint.FS, run string) (dir string, refused []checkpoint.Refused, err error) {
	dir, refused, err = checkpoint.Latest(fsys, checkpointRoot(run))
	var none *checkpoint.NoneWhole
	if errors.As(err, &none) {
		return "", refused, fmt.Errorf("%w\n%s", err, anew(none))
	}
	if at := slices.IndexFunc(refused, checkpoint.Refused.Newer); at >= 0 && err == nil {
		step, _ := checkpoint.StepOf(filepath.Base(dir))
		return "", refused, fmt.Errorf("checkpoint %s; or go on from an older one with --from-step %d, which sets it aside, or start anew with --fresh; both keep it", refused[at], step)
	}
	return dir, refused, err
}

// anew says what is left to do where no checkpoint can be read.
func anew(none *checkpoint.NoneWhole) string {
	if none.Newer() {
		return "use the version that wrote them, or start anew with --fresh, which keeps them in a folder beside"
	}
	return "restore one from a copy, or start anew with --fresh, which keeps them in a folder beside"
}
