package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"prenorm/data"
)

// argument stands for the key where patterns come from the command line rather than from a setting.
const argument = "text"

// remedy is how the user names another text.
func remedy(key string) string {
	if key == argument {
		return "on the command line"
	}
	return "with --set " + key + "=PATH"
}

// resolver turns patterns into files.
type resolver struct {
	stdin  io.Reader // nil where there is none
	used   bool      // "-" was seen
	dir    string    // where a long standard input is kept
	format string    // of files whose names do not tell
	spool  *spool    // of a long standard input
}

// resolve returns the non-empty files of the patterns: in the order of the patterns, sorted by path within one, each file once. key is
// the setting that the patterns come from, for messages.
func (r *resolver) resolve(key string, patterns []string) ([]File, error) {
	if len(patterns) == 0 {
		return nil, fmt.Errorf("%s: no text is named: name files, globs, folders or - for standard input %s", key, remedy(key))
	}
	var files []File
	seen := map[string]bool{}
	for _, pattern := range patterns {
		found, err := r.one(key, pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if !seen[f.id] {
				seen[f.id] = true
				files = append(files, f)
			}
		}
	}
	some := len(files)
	files, err := dropEmpty(files)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		empty := "the file is empty"
		if some != 1 {
			empty = fmt.Sprintf("all %d files are empty", some)
		}
		return nil, fmt.Errorf("%s: %s: %s: name a text %s", key, strings.Join(patterns, ", "), empty, remedy(key))
	}
	return files, nil
}

func dropEmpty(files []File) ([]File, error) {
	var kept []File
	for _, f := range files {
		empty, err := f.empty()
		if err != nil {
			return nil, err
		}
		if !empty {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// one resolves a single pattern to at least one file.
func (r *resolver) one(key, pattern string) ([]File, error) {
	if pattern == "-" {
		return r.standardInput(key)
	}
	path, err := expand(key, pattern)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", key, pattern, err)
	}
	roots := []string{absolute}
	if _, err := os.Stat(absolute); err != nil {
		// A name with a meaning as a glob is one only where no file has that very name.
		if roots, err = match(key, pattern, absolute, err); err != nil {
			return nil, err
		}
	}
	var files []File
	for _, root := range roots {
		if files, err = appendRoot(files, root); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", key, pattern, err)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: %s (%s) holds %s: name a file or another folder %s", key, pattern, absolute, data.NoExtension, remedy(key))
	}
	for i := range files {
		files[i].Format = data.Or(files[i].Path, r.format)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(filepath.ToSlash(a.Path), filepath.ToSlash(b.Path)) })
	return files, nil
}

// ErrNoText is wrapped by the error for a text that does not exist.
var ErrNoText = errors.New("there is no such file")

// match returns the paths that a glob matches. missing is why the pattern is not itself a file.
func match(key, pattern, absolute string, missing error) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		reason := missing
		if os.IsNotExist(missing) {
			reason = ErrNoText
		}
		return nil, fmt.Errorf("%s: %s (%s): %w: name a text that exists %s", key, pattern, absolute, reason, remedy(key))
	}
	roots, err := filepath.Glob(absolute)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w: a glob is made of *, ? and [a-z]", key, pattern, err)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: %s (%s): nothing matches: name a text that exists %s", key, pattern, absolute, remedy(key))
	}
	return roots, nil
}

// appendRoot appends the file root, or the texts below the folder root. Files and folders whose name starts with a dot are passed over
// inside a folder.
func appendRoot(files []File, root string) ([]File, error) {
	real, err := filepath.EvalSymlinks(root) // WalkDir does not enter a link
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(real, func(path string, entry fs.DirEntry, err error) error {
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
		if _, known := data.FormatOf(path); entry.IsDir() || inside && !known {
			return nil
		}
		shown := root + strings.TrimPrefix(path, real)
		file, err := stat(shown)
		if err == nil && file.Path != "" {
			files = append(files, file)
		}
		return err
	})
	return files, err
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

func (r *resolver) standardInput(key string) ([]File, error) {
	switch {
	case r.used:
		return nil, fmt.Errorf("%s: - is named twice: standard input can be read only once", key)
	case r.stdin == nil:
		return nil, fmt.Errorf("%s: - stands for standard input, which is not available here: name a file %s", key, remedy(key))
	}
	r.used = true
	file, err := standardInput(r.stdin, r.dir)
	file.Format, r.spool = data.Or("", r.format), file.spool
	return []File{file}, err
}

// expand replaces $NAME and ${NAME} by environment variables. GOROOT is known even where the environment lacks it.
func expand(key, pattern string) (string, error) {
	var missing string
	path := os.Expand(pattern, func(name string) string {
		if value, ok := os.LookupEnv(name); ok && value != "" {
			return value
		}
		if name == "GOROOT" {
			if root := goRoot(); root != "" {
				return root
			}
		}
		missing = name
		return ""
	})
	switch {
	case missing == "GOROOT":
		return "", fmt.Errorf("%s: %s: the folder of the Go installation is not known: put the go command on the PATH, set GOROOT, or name another text %s", key, pattern, remedy(key))
	case missing != "":
		return "", fmt.Errorf("%s: %s: the environment has no %s: set it, or name another text %s", key, pattern, missing, remedy(key))
	}
	return path, nil
}

// goRoot is the folder of the Go installation: what the go command on the PATH says, else where this program was compiled.
func goRoot() string {
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		if root := strings.TrimSpace(string(out)); root != "" {
			return root
		}
	}
	//lint:ignore SA1019 the better answer, from the go command, was tried first
	return runtime.GOROOT()
}
