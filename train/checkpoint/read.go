package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"prenorm/train/safetensors"
)

// Latest returns the newest whole checkpoint under root: its manifest parses and every file has its size and checksum. refused lists the
// newer ones that are not whole, or whose format is not read. Without any checkpoint dir is empty; when there are checkpoints but none can be
// read, that is a [NoneWhole], so that nobody starts afresh over them unawares.
func Latest(fsys FS, root string) (dir string, refused []Refused, err error) {
	return latest(fsys, root, func(dir string) error {
		_, err := verify(fsys, dir)
		return err
	})
}

// LatestFiles is [Latest] for [LoadFiles]: a checkpoint whose tensors alone are damaged is whole to it, as they are not read.
func LatestFiles(fsys FS, root string) (dir string, refused []Refused, err error) {
	return latest(fsys, root, func(dir string) error {
		_, err := LoadFiles(fsys, dir)
		return err
	})
}

func latest(fsys FS, root string, whole func(dir string) error) (dir string, refused []Refused, err error) {
	entries, err := List(fsys, root)
	if err != nil {
		return "", nil, err
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if err := whole(entries[i].Dir); stopped(err) {
			return "", nil, err
		} else if err != nil {
			refused = append(refused, Refused{entries[i].Dir, err})
			continue
		}
		return entries[i].Dir, refused, nil
	}
	if len(refused) > 0 {
		return "", refused, &NoneWhole{root, refused}
	}
	return "", nil, nil
}

// NoneWhole is the error of a folder that has checkpoints, none of which can be read.
type NoneWhole struct {
	Root    string
	Refused []Refused // newest first, and not empty
}

// Newer says whether a version of prenorm that knows a newer format may read one of them.
func (e *NoneWhole) Newer() bool { return slices.ContainsFunc(e.Refused, Refused.Newer) }

// Error lists the checkpoints, one a line, with what is wrong with each.
func (e *NoneWhole) Error() string {
	var b strings.Builder
	what := "is whole"
	if e.Newer() {
		what = "can be read by this version of prenorm"
	}
	fmt.Fprintf(&b, "checkpoints: none of the %d under %s %s:", len(e.Refused), e.Root, what)
	if len(e.Refused) == 1 {
		b.Reset()
		fmt.Fprintf(&b, "the only checkpoint under %s cannot be used:", e.Root)
	}
	for _, r := range e.Refused {
		fmt.Fprintf(&b, "\n  %s: %v", filepath.Base(r.Dir), r.Err)
	}
	return b.String()
}

// Load reads a checkpoint and verifies the checksum of everything that it returns. The folder may have been moved or renamed.
func Load(fsys FS, dir string) (*Loaded, error) { return load(fsys, dir) }

// LoadWeights is [Load] without the optimizer's state, which is neither read nor verified: sampling needs no more.
func LoadWeights(fsys FS, dir string) (*Loaded, error) { return load(fsys, dir, optimizerFile) }

// LoadFiles is [Load] without tensors, which are neither read nor verified: what a tokenizer needs.
func LoadFiles(fsys FS, dir string) (*Loaded, error) {
	return load(fsys, dir, modelFile, optimizerFile)
}

func load(fsys FS, dir string, without ...string) (*Loaded, error) {
	l, err := func() (*Loaded, error) {
		f, err := openFolder(fsys, dir)
		if err != nil {
			return nil, err
		}
		l := &Loaded{Dir: dir, Step: f.manifest.Step, Files: map[string][]byte{}}
		for _, e := range f.manifest.Files {
			if slices.Contains(without, e.Name) {
				continue
			}
			if err := l.read(f, e); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
		return l, nil
	}()
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	return l, nil
}

// read loads one file into its place.
func (l *Loaded) read(f *folder, e fileEntry) error {
	data, err := f.read(e)
	if err != nil {
		return err
	}
	switch e.Name {
	case stateFile:
		l.State = data
	case modelFile, optimizerFile:
		file, err := safetensors.Parse(data)
		if err != nil {
			return err
		}
		if err := sameTensors(e, file.Tensors); err != nil {
			return err
		}
		if e.Name == modelFile {
			l.Weights, l.Metadata = file.Tensors, file.Metadata
		} else {
			l.Optimizer = file.Tensors
		}
	default:
		l.Files[e.Name] = data
	}
	return nil
}

// folder is a checkpoint's folder with its manifest read.
type folder struct {
	fsys     FS
	dir      string
	types    map[string]fs.FileMode
	manifest manifest
}

func openFolder(fsys FS, dir string) (*folder, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{fsys: fsys, dir: dir, types: map[string]fs.FileMode{}}
	for _, e := range entries {
		f.types[e.Name()] = e.Type()
	}
	file, size, err := f.open(manifestFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	defer file.Close()
	if size > maxManifest {
		return nil, fmt.Errorf("%s: has %d bytes, at most %d are read", manifestFile, size, maxManifest)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if f.manifest, err = decodeManifest(data); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if step, _, ok := parseName(filepath.Base(dir)); ok && step != f.manifest.Step {
		return nil, fmt.Errorf("%s: is of step %d, the folder's name is of step %d", manifestFile, f.manifest.Step, step)
	}
	return f, nil
}

// open opens a file of the folder. Only a regular file will do: opening a pipe would wait for ever.
func (f *folder) open(name string) (fs.File, int64, error) {
	mode, found := f.types[name]
	if !found {
		return nil, 0, errors.New("is missing")
	}
	if !mode.IsRegular() {
		return nil, 0, errors.New("is not a regular file")
	}
	file, err := f.fsys.Open(join(f.dir, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// openEntry opens a file that has the size of its entry.
func (f *folder) openEntry(e fileEntry) (fs.File, error) {
	file, size, err := f.open(e.Name)
	if err != nil {
		return nil, err
	}
	if size != e.Size {
		file.Close()
		return nil, fmt.Errorf("has %d bytes, the manifest says %d: it was cut off or changed", size, e.Size)
	}
	return file, nil
}

var errChecksum = errors.New("does not have the checksum in the manifest: its content was changed")

// partBytes is how much of a file is read and summed up at a time.
const partBytes = 1 << 20

// read returns a file's bytes once their checksum is right.
func (f *folder) read(e fileEntry) ([]byte, error) {
	file, err := f.openEntry(e)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, e.Size)
	hash, tensors := sha256.New(), newTensorCheck(e)
	for rest := data; len(rest) > 0; { // whose sums are taken while they are in the processor's cache, and which can be stopped between
		part := rest[:min(len(rest), partBytes)]
		if _, err := io.ReadFull(file, part); err != nil {
			return nil, err
		}
		hash.Write(part)
		if _, err := tensors.Write(part); err != nil {
			return nil, err
		}
		rest = rest[len(part):]
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if err := tensors.err(sum == e.SHA256); err != nil {
		return nil, err
	}
	return data, nil
}

// verify reads a checkpoint without keeping it and tells why it is not whole.
func verify(fsys FS, dir string) (*folder, error) {
	f, err := openFolder(fsys, dir)
	if err != nil {
		return nil, err
	}
	largest := int64(0)
	for _, e := range f.manifest.Files {
		largest = max(largest, e.Size)
	}
	buffer := make([]byte, min(largest+1, 256<<10))
	for _, e := range f.manifest.Files {
		if err := f.verify(e, buffer); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return f, nil
}

func (f *folder) verify(e fileEntry, buffer []byte) error {
	file, err := f.openEntry(e)
	if err != nil {
		return err
	}
	defer file.Close()
	hash, tensors := sha256.New(), newTensorCheck(e)
	// The wrapper hides methods with which io.CopyBuffer would use a smaller buffer of its own.
	if _, err := io.CopyBuffer(io.MultiWriter(hash, tensors), struct{ io.Reader }{file}, buffer); err != nil {
		return err
	}
	return tensors.err(hex.EncodeToString(hash.Sum(nil)) == e.SHA256)
}

// sizesRight is verify without the checksums: the manifest is sound and every file has its size.
func sizesRight(fsys FS, dir string) bool {
	f, err := openFolder(fsys, dir)
	if err != nil {
		return false
	}
	for _, e := range f.manifest.Files {
		file, err := f.openEntry(e)
		if err != nil {
			return false
		}
		file.Close()
	}
	return true
}
