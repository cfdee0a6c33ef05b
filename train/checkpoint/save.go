package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"prenorm/train/safetensors"
)

// Save writes a checkpoint under root, which is made when its parent exists, and returns its folder. When it returns without an error,
// the checkpoint is durable. When it fails, or the power is cut at any moment, every checkpoint that was whole before is so still; one of
// the same step is given up only once its replacement is durable.
func Save(fsys FS, root string, s Snapshot) (dir string, err error) {
	dir = join(root, folderName(s.Step))
	place := dir
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint %s: not saved: %w", place, err)
		}
	}()
	state, err := s.check()
	if err != nil {
		return "", err
	}
	if err := makeRoot(fsys, root); err != nil {
		return "", err
	}
	temp := join(root, tempPrefix+filepath.Base(dir))
	if err := makeWay(fsys, root, filepath.Base(temp), filepath.Base(dir), filepath.Base(dir)+oldSuffix); err != nil {
		return "", err
	}
	if err := removeAll(fsys, temp); err != nil {
		return "", err
	}
	if err = write(fsys, temp, s, state); err == nil {
		err = publish(fsys, root, temp, dir)
	}
	if err != nil {
		// The folder may have filled the disk. If it cannot be removed now, Clean does it.
		_ = removeAll(fsys, temp)
		return "", err
	}
	return dir, nil
}

// check refuses a snapshot that could not be loaded again, before anything is written, and returns the state as JSON.
func (s Snapshot) check() ([]byte, error) {
	if s.Step < 0 {
		return nil, fmt.Errorf("step is %d, must not be negative", s.Step)
	}
	seen := map[string]bool{modelFile: true, optimizerFile: true, stateFile: true}
	for _, name := range s.further() {
		if err := checkFileName(name); err != nil {
			return nil, err
		}
		key := strings.ToLower(name)
		if seen[key] {
			return nil, fmt.Errorf("file name %q is taken", name)
		}
		seen[key] = true
	}
	state, err := json.Marshal(s.State)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return state, nil
}

// further are the names of the files beside weights, optimizer and state, sorted.
func (s Snapshot) further() []string {
	names := slices.Collect(maps.Keys(s.Files))
	names = slices.AppendSeq(names, maps.Keys(s.Tensors))
	slices.Sort(names)
	return names
}

func makeRoot(fsys FS, root string) error {
	if err := fsys.Mkdir(root); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Even when it was there: whoever made it may have been stopped before this.
	return fsys.SyncDir(filepath.Dir(root))
}

// write fills a new folder and makes it durable, all but its name.
func write(fsys FS, dir string, s Snapshot, state []byte) error {
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	m := manifest{Format: format, Step: s.Step}
	add := func(name string, content func(io.Writer) error) error {
		entry, err := writeFile(fsys, dir, name, content)
		m.Files = append(m.Files, entry)
		return err
	}
	for _, t := range []struct {
		name     string
		list     []safetensors.Tensor
		metadata map[string]string
	}{{modelFile, s.Weights, s.Metadata}, {optimizerFile, s.Optimizer, nil}} {
		sums := sumTensors(t.list) // before they are written: what changes from here on does not pass unseen
		if err := add(t.name, func(w io.Writer) error { return safetensors.Write(w, t.list, t.metadata) }); err != nil {
			return err
		}
		m.Files[len(m.Files)-1].Tensors = sums
	}
	if err := add(stateFile, whole(state)); err != nil {
		return err
	}
	for _, name := range s.further() {
		content := whole(s.Files[name])
		if list, ok := s.Tensors[name]; ok {
			content = func(w io.Writer) error { return safetensors.Write(w, list, nil) }
		}
		if err := add(name, content); err != nil {
			return err
		}
	}
	sealed, err := m.encode()
	if err != nil {
		return err
	}
	if len(sealed) > maxManifest {
		return fmt.Errorf("%d files and %d tensors are too many for one checkpoint", len(m.Files), len(s.Weights)+len(s.Optimizer))
	}
	if _, err := writeFile(fsys, dir, manifestFile, whole(sealed)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}
}

// writeFile writes one file durably and returns its size and checksum, taken from the bytes on their way.
func writeFile(fsys FS, dir, name string, content func(io.Writer) error) (fileEntry, error) {
	f, err := fsys.Create(join(dir, name))
	if err != nil {
		return fileEntry{}, err
	}
	hash := sha256.New()
	count := counter(0)
	err = content(io.MultiWriter(f, hash, &count))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fileEntry{}, fmt.Errorf("%s: %w", name, err)
	}
	return fileEntry{Name: name, Size: int64(count), SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// publish gives a finished folder its name. One of that name steps aside first, as no system replaces a full folder in one operation;
// until the new name is durable, the old folder remains a checkpoint under its other name.
func publish(fsys FS, root, temp, dir string) error {
	old := dir + oldSuffix
	names, err := listNames(fsys, root)
	if err != nil {
		return err
	}
	hasDir, hasOld := slices.Contains(names, filepath.Base(dir)), slices.Contains(names, filepath.Base(old))
	if hasDir {
		if _, err := openFolder(fsys, dir); errors.Is(err, ErrNewer) { // it is not one to be replaced
			if err := putAway(fsys, root, dir); err != nil {
				return err
			}
			hasDir = false
		}
	}
	if hasDir && hasOld {
		// A replacement was cut short before its last deletion. Only one can step aside: the one that is whole.
		drop := old
		if _, err := verify(fsys, dir); err != nil {
			drop, hasDir = dir, false
		}
		if err := putAway(fsys, root, drop); err != nil {
			return err
		}
	}
	if hasDir {
		if err := fsys.Rename(dir, old); err != nil {
			return err
		}
		hasOld = true
		// Without this, a power cut could leave two folders of one name on a file system that does not keep the order of operations.
		if err := fsys.SyncDir(root); err != nil {
			return err
		}
	}
	if err := fsys.Rename(temp, dir); err != nil {
		return err
	}
	if err := fsys.SyncDir(root); err != nil {
		return err
	}
	if hasOld {
		// The checkpoint is saved; what cannot be removed now, Clean does.
		_ = putAway(fsys, root, old)
	}
	return nil
}
