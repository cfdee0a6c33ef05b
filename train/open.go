package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"prenorm/configs/problem"
	"prenorm/data/regular"
	"prenorm/data/token"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// isNil says whether an interface holds a nil pointer: a part of the loop that was not reached.
func isNil(v any) bool { return v == nil || reflect.ValueOf(v).IsNil() }

// OpenWeights reads the weights of the checkpoint that a path means: a run's folder (its newest whole checkpoint), that of its checkpoints, or a checkpoint's own.
// Checkpoints that are not whole are passed over and returned in refused. A run that is training removes old checkpoints: where it does so to
// the one that was found, its newest is looked for again.
func OpenWeights(path string) (saved *checkpoint.Loaded, refused []checkpoint.Refused, err error) {
	return openNewest(checkpoint.OS, path, checkpoint.Latest, checkpoint.LoadWeights)
}

// OpenCheckpoint is [OpenWeights] with the optimizer's state.
func OpenCheckpoint(path string) (saved *checkpoint.Loaded, refused []checkpoint.Refused, err error) {
	return openNewest(checkpoint.OS, path, checkpoint.Latest, checkpoint.Load)
}

// OpenTokenizer is [OpenWeights] for the tokenizer, and nothing else. Tensors are neither read nor verified.
func OpenTokenizer(path string) (t token.Tokenizer, refused []checkpoint.Refused, err error) {
	saved, refused, err := openNewest(checkpoint.OS, path, checkpoint.LatestFiles, checkpoint.LoadFiles)
	if err != nil {
		return nil, refused, err
	}
	t, err = TokenizerOf(saved)
	return t, refused, err
}

// TokenizerOf is the tokenizer that a checkpoint holds.
func TokenizerOf(c *checkpoint.Loaded) (token.Tokenizer, error) {
	t, err := token.Unmarshal(c.Files[TokenizerFile])
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", c.Dir, err)
	}
	return t, nil
}

// attempts is how many checkpoints may go while they are read.
const attempts = 10

// latest finds the newest checkpoint under a root, as [checkpoint.Latest] does.
type latest = func(fsys checkpoint.FS, root string) (dir string, refused []checkpoint.Refused, err error)

func openNewest(fsys checkpoint.FS, path string, newest latest, load func(checkpoint.FS, string) (*checkpoint.Loaded, error)) (saved *checkpoint.Loaded, refused []checkpoint.Refused, err error) {
	for range attempts {
		var dir string
		if dir, refused, err = findCheckpoint(fsys, path, newest); err != nil {
			return nil, refused, err
		}
		if saved, err = load(fsys, dir); err == nil || dir == path || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return saved, refused, err
}

// findCheckpoint returns the folder of that checkpoint.
func findCheckpoint(fsys checkpoint.FS, path string, newest latest) (dir string, refused []checkpoint.Refused, err error) {
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%s does not exist%s: give the folder of a run, such as runs/quickstart, or of one checkpoint in it", path, problem.MeantPath(path))
		}
		return "", nil, err
	}
	if !info.IsDir() {
		return "", nil, fmt.Errorf("%s is a file: give the folder of a run or of a checkpoint", path)
	}
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err == nil {
		return path, nil, nil
	}
	dir, refused, err = newest(fsys, checkpointRoot(RunOf(path)))
	if dir == "" && err == nil {
		err = fmt.Errorf("%s holds no checkpoint: it is no run's folder, or its run has not saved yet", path)
		if others, _ := checkpoint.Others(fsys, checkpointRoot(RunOf(path))); len(others) > 0 {
			err = fmt.Errorf("%s holds no checkpoint: %s", path, others[0])
		}
	}
	return dir, refused, err
}

// RunOf is the run's folder that a path means: the path itself, or the folder above where it is that of a run's checkpoints.
func RunOf(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil || filepath.Base(whole) != CheckpointFolder {
		return path
	}
	if inside, err := checkpoint.List(checkpoint.OS, path); err != nil || len(inside) == 0 {
		return path
	}
	return filepath.Join(path, "..")
}

// start is what a run can begin with: weights, and the tokenizer whose ids they mean where that is known.
type start struct {
	weights   []safetensors.Tensor
	tokenizer token.Tokenizer // nil: a bare weights file has none
	config    []byte          // the run file; nil as above
}

// openStart reads a run's newest checkpoint, one checkpoint, or a safetensors file.
func openStart(fsys checkpoint.FS, path string) (*start, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		if err := regular.Check(path); err != nil {
			return nil, err
		}
		f, err := safetensors.Open(path)
		if err != nil {
			return nil, err
		}
		return &start{weights: f.Tensors}, nil
	}
	c, _, err := openNewest(fsys, path, checkpoint.Latest, checkpoint.LoadWeights)
	if err != nil {
		return nil, err
	}
	s := &start{weights: c.Weights, config: c.Files[ConfigFile]}
	if _, ok := c.Files[TokenizerFile]; ok {
		if s.tokenizer, err = TokenizerOf(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// startTokenizer returns the tokenizer that a new run must take for the weights it starts from to mean what they meant, or nil where
// data.tokenizer says, and a line on it for people.
func startTokenizer(s *start, c token.Config) (t token.Tokenizer, line string, err error) {
	if s.tokenizer == nil {
		return nil, "it holds no tokenizer; data.tokenizer must give the one that the weights were trained with, or the ids mean other things", nil
	}
	if c.File == "" {
		return s.tokenizer, fmt.Sprintf("the tokenizer is that of the weights (%s, %d ids), not a new one; data.tokenizer.file would name another", s.tokenizer.Kind(), s.tokenizer.Vocab()), nil
	}
	named, err := token.Load(c.File)
	if err != nil {
		return nil, "", err
	}
	prints := [2]string{}
	for i, t := range []token.Tokenizer{s.tokenizer, named} {
		if prints[i], err = token.Fingerprint(t); err != nil {
			return nil, "", err
		}
	}
	if prints[0] != prints[1] {
		line = fmt.Sprintf("warning: %s (data.tokenizer.file) is not the tokenizer that the weights were trained with: the ids mean other things", c.File)
	}
	return nil, line, nil
}
