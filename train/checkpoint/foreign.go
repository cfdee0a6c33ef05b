package checkpoint

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Foreign is what has a checkpoint's name and is no folder, such as a link. It counts as no checkpoint, and is neither followed nor removed.
type Foreign struct {
	Path string
	Type fs.FileMode // its type bits; 0 = a file
}

// String says what it is and what is done about it.
func (f Foreign) String() string {
	return fmt.Sprintf("%s: is %s and no folder, so no checkpoint: it is passed over (a checkpoint that is to have its name has it renamed to %s.., and nothing is removed)",
		f.Path, f.kind(), asidePart)
}

func (f Foreign) kind() string {
	switch f.Type {
	case 0:
		return "a file"
	case fs.ModeSymlink:
		return "a link"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "neither file nor link"
}

// Others lists what under root has a checkpoint's name and is no folder. A root that does not exist has none.
func Others(fsys FS, root string) ([]Foreign, error) {
	found, err := readRoot(fsys, root)
	if err != nil {
		return nil, err
	}
	var list []Foreign
	for _, e := range found {
		if _, _, ok := parseName(e.Name()); ok && !isFolder(e) {
			list = append(list, Foreign{join(root, e.Name()), e.Type() & fs.ModeType})
		}
	}
	return list, nil
}

// isFolder says whether a name is a folder's own: that of a link to one is not.
func isFolder(e fs.DirEntry) bool { return e.Type()&fs.ModeType == fs.ModeDir }

// makeWay makes names in root free of what is no folder, by renaming it: it is not ours to remove, and where a link leads nothing is.
func makeWay(fsys FS, root string, names ...string) error {
	found, err := fsys.ReadDir(root)
	if err != nil {
		return err
	}
	moved := false
	for _, e := range found {
		if isFolder(e) || !slices.Contains(names, e.Name()) {
			continue
		}
		n, err := freeAside(fsys, root)
		if err != nil {
			return err
		}
		path := join(root, e.Name())
		if err := fsys.Rename(path, fmt.Sprint(path, asidePart, n)); err != nil {
			return err
		}
		moved = true
	}
	if !moved {
		return nil
	}
	return fsys.SyncDir(root) // or a power cut could bring it back beside what takes its name
}

// freeAside is the first number that no name in a folder ends with.
func freeAside(fsys FS, root string) (int, error) {
	found, err := fsys.ReadDir(root)
	n := 1
	for slices.ContainsFunc(found, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), fmt.Sprint(asidePart, n)) }) {
		n++
	}
	return n, err
}
