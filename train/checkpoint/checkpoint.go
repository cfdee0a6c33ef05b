// Package checkpoint saves and finds the checkpoints of a run so that neither a failed write nor a power cut, at any moment, leaves the
// run without a whole one.
//
// A checkpoint is a folder step-00000100 under the run's folder of checkpoints:
//
//	model.safetensors      the weights, with metadata
//	optimizer.safetensors  the optimizer's state
//	state.json             what else the loop must remember, opaque here
//	config.yaml, …         further named files
//	manifest.json          format version, step, size and SHA-256 of every file above, and CRC-32C of every tensor in them
//
// It is written under another name beside its place, every file and the folder made durable, and then renamed: a folder under its final
// name is whole, unless it was damaged later, which the manifest shows. While a checkpoint of the same step is being replaced, the one
// before is called step-00000100.old, and counts as a checkpoint too. Names that begin with .tmp- are unfinished or being removed; those that
// end in .aside-1 were set aside by their owner, or are of a newer format and stood where another had to, and do not count. What has such a name
// and is no folder, as a link, is none either: see [Others].
//
// One process at a time may write to a run: see [Lock].
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prenorm/train/safetensors"
)

// Names of the files that every checkpoint has.
const (
	modelFile     = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
	manifestFile  = "manifest.json"
)

const (
	stepPrefix = "step-"
	oldSuffix  = ".old"
	tempPrefix = ".tmp-"
)

// Snapshot is what a checkpoint holds. Save only reads it, and copies none of the tensors.
type Snapshot struct {
	Step      int64 // updates done, from 0
	Weights   []safetensors.Tensor
	Optimizer []safetensors.Tensor
	Metadata  map[string]string               // of the weights' file
	State     any                             // saved as JSON
	Files     map[string][]byte               // further files by name: config.yaml, tokenizer.json
	Tensors   map[string][]safetensors.Tensor // further files of tensors by name; [Load] gives them back among the Files
}

// Loaded is a checkpoint that was read. Tensors are windows of the bytes read.
type Loaded struct {
	Dir       string
	Step      int64
	Weights   []safetensors.Tensor
	Optimizer []safetensors.Tensor // nil from [LoadWeights] and [LoadFiles]
	Metadata  map[string]string
	State     json.RawMessage
	Files     map[string][]byte
}

// Entry is a folder that has a checkpoint's name.
type Entry struct {
	Step int64
	Dir  string // the folder's path
}

// Refused is a checkpoint that is not whole, and why.
type Refused struct {
	Dir string
	Err error
}

func (r Refused) String() string { return fmt.Sprintf("%s: %v", r.Dir, r.Err) }

// Newer says whether the checkpoint is of a newer format, and so may well be whole.
func (r Refused) Newer() bool { return errors.Is(r.Err, ErrNewer) }

// folderName is the name of a checkpoint's folder.
func folderName(step int64) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// parseName tells the step of a folder's name and whether it is one that was being replaced.
func parseName(name string) (step int64, old, ok bool) {
	base, old := strings.CutSuffix(name, oldSuffix)
	step, err := strconv.ParseInt(strings.TrimPrefix(base, stepPrefix), 10, 64)
	return step, old, err == nil && step >= 0 && base == folderName(step)
}

// StepOf tells the step of a checkpoint's folder by its name; ok is false where it is no such name.
func StepOf(name string) (step int64, ok bool) {
	step, _, ok = parseName(name)
	return step, ok
}

// List returns the folders under root that have a checkpoint's name, by step; at equal steps the one being replaced comes first. It does
// not look into them. A root that does not exist has none.
func List(fsys FS, root string) ([]Entry, error) {
	names, err := listNames(fsys, root)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, name := range names {
		if step, _, ok := parseName(name); ok {
			entries = append(entries, Entry{step, filepath.Join(root, name)})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Step != b.Step {
			if a.Step < b.Step {
				return -1
			}
			return 1
		}
		return len(b.Dir) - len(a.Dir) // the longer one has the suffix
	})
	return entries, nil
}

// readRoot lists what is in root, nothing when root does not exist.
func readRoot(fsys FS, root string) ([]fs.DirEntry, error) {
	found, err := fsys.ReadDir(root)
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return found, nil
}

// listNames returns the names of the folders in root.
func listNames(fsys FS, root string) ([]string, error) {
	found, err := readRoot(fsys, root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found {
		if isFolder(e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// checkFileName keeps names inside the folder, distinct on every file system, and clear of the checkpoint's own files.
func checkFileName(name string) error {
	plain := func(r rune) bool {
		return r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	switch {
	case name == "" || len(name) > 100:
		return fmt.Errorf("file name %q must have 1 to 100 characters", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("file name %q may have only letters, digits, '.', '_' and '-'", name)
	case name[0] == '.' || strings.HasSuffix(name, "."):
		return fmt.Errorf("file name %q must not begin or end with a dot", name)
	case !filepath.IsLocal(name):
		return fmt.Errorf("file name %q is reserved on this system", name)
	case strings.EqualFold(name, manifestFile):
		return fmt.Errorf("file name %q is reserved for the manifest", name)
	}
	return nil
}
