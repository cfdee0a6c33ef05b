package corpus

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prenorm/data"
)

// walk collects the files that a pattern stands for.
type walk struct {
	files  []File
	unread []File   // that lie in a folder and are passed over, of a kind that may hold text
	other  []File   // that lie in a folder and are passed over, as their names tell no kind
	links  []File   // to folders, which are not gone into
	roots  []string // whose files were collected, without links
}

// root appends the file root, or the texts below the folder root. Files and folders whose name starts with a dot are passed over inside a
// folder.
func (w *walk) root(root string) error {
	real, err := filepath.EvalSymlinks(root) // WalkDir does not enter a link
	if err != nil {
		return linked(root, err)
	}
	w.roots = append(w.roots, real)
	return filepath.WalkDir(real, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside := path != real
		if inside && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		shown := root + strings.TrimPrefix(path, real)
		if entry.Type()&fs.ModeSymlink != 0 && inside && leadsOut(path, real) {
			w.links = append(w.links, File{Name: shorten(shown), Path: path})
			return nil
		}
		if _, known := data.FormatOf(path); inside && !known {
			switch file := (File{Name: shorten(shown), Path: path}); {
			case data.Unread(path) != "":
				w.unread = append(w.unread, file)
			case entry.Type().IsRegular() || regular(path):
				w.other = append(w.other, file)
			}
			return nil
		}
		file, err := stat(shown)
		if err != nil {
			return linked(shown, err)
		}
		if file.Path != "" {
			w.files = append(w.files, file)
		}
		return nil
	})
}

// leadsOut says whether a link leads to a folder that is not below root, whose files would be read anyway.
func leadsOut(link, root string) bool {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return false
	}
	info, err := os.Stat(to)
	if err != nil || !info.IsDir() {
		return false
	}
	inside, err := filepath.Rel(root, to)
	return err != nil || !filepath.IsLocal(inside)
}

// regular says whether a path is, or leads to, a regular file.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// linked is an error about a path, or what is wrong with the link that it is.
func linked(path string, err error) error {
	if link := dangling(path); link != nil {
		return link
	}
	return err
}

// dangling is the error of a link to nothing, nil for anything else.
func dangling(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		return nil
	}
	return fmt.Errorf("%s is a link to %s, which is not there: remove the link, or put back what it leads to", shorten(path), to)
}

// stat describes the file at path; a folder (which a link may lead to) gives no file.
func stat(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is a %s: text is read more than once, so it has to be a regular file, or - for standard input", path, info.Mode().Type())
	}
	id, err := filepath.EvalSymlinks(path)
	return File{Name: shorten(path), Path: path, Size: info.Size(), Modified: info.ModTime(), id: id}, err
}

// shorten makes path relative to the working directory where it is below it.
func shorten(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}
