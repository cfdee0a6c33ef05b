package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"prenorm/model"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// isNil says whether an interface holds a nil pointer: a part of the loop that was not reached.
func isNil(v any) bool { return v == nil || reflect.ValueOf(v).IsNil() }

// FindCheckpoint returns the checkpoint that a path means: a run's folder (its newest whole checkpoint) or a checkpoint's own folder. Checkpoints
// that are not whole are passed over and returned in refused.
func FindCheckpoint(path string) (dir string, refused []checkpoint.Refused, err error) {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%s does not exist: give the folder of a run, such as runs/quickstart, or of one checkpoint in it", path)
		}
		return "", nil, err
	}
	if !info.IsDir() {
		return "", nil, fmt.Errorf("%s is a file: give the folder of a run or of a checkpoint", path)
	}
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err == nil {
		return path, nil, nil
	}
	dir, refused, err = checkpoint.Latest(checkpoint.OS, checkpointRoot(path))
	if err != nil {
		return "", refused, err
	}
	if dir == "" {
		return "", refused, noCheckpoint(path, refused)
	}
	return dir, refused, nil
}

func noCheckpoint(path string, refused []checkpoint.Refused) error {
	if len(refused) == 0 {
		return fmt.Errorf("%s holds no checkpoint: it is no run's folder, or its run has not saved yet", path)
	}
	err := fmt.Errorf("%s holds no whole checkpoint", path)
	for _, r := range refused {
		err = fmt.Errorf("%w\n  %s", err, r)
	}
	return err
}

// OpenWeights serves the tensors of a run's newest checkpoint, of one checkpoint, or of a safetensors file.
func OpenWeights(path string) (model.Source, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		f, err := safetensors.Open(path)
		if err != nil {
			return nil, err
		}
		return SourceOf(f.Tensors), nil
	}
	dir, _, err := FindCheckpoint(path)
	if err != nil {
		return nil, err
	}
	c, err := checkpoint.LoadWeights(checkpoint.OS, dir)
	if err != nil {
		return nil, err
	}
	return SourceOf(c.Weights), nil
}
