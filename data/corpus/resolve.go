package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prenorm/configs/problem"
	"prenorm/data"
)

// resolver turns patterns into files.
type resolver struct {
	owner
	stdin  io.Reader // nil where there is none
	used   bool      // "-" was seen
	dir    string    // where a long standard input is kept
	format string    // of files whose names do not tell
	spool  *spool    // of a long standard input
	walks  []walk    // of the patterns of the list that is being resolved
	notes  []string  // on what is read in another way than a person may expect, or not at all
}

// resolve returns the non-empty files of the patterns: in the order of the patterns, sorted by path within one, each file once. key is
// the setting that the patterns come from, for messages.
func (r *resolver) resolve(key string, patterns []string) ([]File, error) {
	if len(patterns) == 0 {
		return nil, fmt.Errorf("%s: no text is named: name files, globs, folders or - for standard input %s", key, r.remedy(key))
	}
	r.walks = nil
	var files, again []File
	seen := map[string]bool{}
	for _, pattern := range patterns {
		found, err := r.one(key, pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if seen[f.id] {
				again = append(again, f)
				continue
			}
			seen[f.id] = true
			files = append(files, f)
		}
	}
	kept, err := dropEmpty(files)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s: %s: %s: name a text %s", key, strings.Join(patterns, ", "), empty(patterns, files), r.remedy(key))
	}
	r.tellPassed(key, seen)
	r.tell(key, kept, again)
	return kept, nil
}

// empty says of files that hold nothing that they do.
func empty(patterns []string, files []File) string {
	switch f := files[0]; {
	case len(files) > 1:
		return fmt.Sprintf("all %d files are empty", len(files))
	case f.Path == "":
		return "standard input is empty"
	case f.Name != patterns[0]:
		return fmt.Sprintf("the file is empty (%s)", f.Name)
	}
	return "the file is empty"
}

// tell notes files that are named again, and files of JSON that are read as they are.
func (r *resolver) tell(key string, files, again []File) {
	if n := len(again); n > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%s names %s more than once: it counts once", key, listed(again)))
	}
	plain := slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Format.Kind != "text" || !data.JSON(f.Path) })
	if len(plain) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%s: %s is read as plain text, brackets and all: if it is a list of records, %s", key, listed(plain), data.Unread(plain[0].Name)))
	}
}

// listed names the first of some files and counts the others.
func listed(files []File) string {
	if n := len(files) - 1; n > 0 {
		return fmt.Sprintf("%s (and %s more)", files[0].Name, counted(n, "file"))
	}
	return files[0].Name
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
	path, err := r.expand(key, pattern)
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
		if roots, err = r.match(key, pattern, absolute, err); err != nil {
			return nil, err
		}
	}
	var found walk
	for _, root := range roots {
		if err = found.root(root); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", key, pattern, err)
		}
	}
	files, passed := found.files, found.passed()
	if len(files) == 0 {
		if passed != "" {
			passed = "; " + passed
		}
		return nil, fmt.Errorf("%s: %s (%s) holds %s%s: name a file or another folder %s", key, pattern, absolute, data.NoExtension, passed, r.remedy(key))
	}
	r.walks = append(r.walks, found)
	for i := range files {
		if how := data.Unread(files[i].Path); how != "" && !data.JSON(files[i].Path) {
			return nil, fmt.Errorf("%s: %s is of a kind that is not read: %s, or name another text %s (%s)", key, files[i].Name, data.Unread(files[i].Name), r.remedy(key), data.Extensions)
		}
		files[i].Format = data.Or(files[i].Path, r.format)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(filepath.ToSlash(a.Path), filepath.ToSlash(b.Path)) })
	return files, nil
}

// ErrNoText is wrapped by the error for a text that does not exist.
var ErrNoText = errors.New("there is no such file")

// match returns the paths that a glob matches. missing is why the pattern is not itself a file.
func (r *resolver) match(key, pattern, absolute string, missing error) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		reason, meant := missing, ""
		if link := dangling(absolute); link != nil {
			reason = link
		} else if os.IsNotExist(missing) {
			reason, meant = ErrNoText, problem.MeantPath(absolute)
		}
		return nil, fmt.Errorf("%s: %s (%s): %w%s: name a text that exists %s", key, pattern, absolute, reason, meant, r.remedy(key))
	}
	roots, err := filepath.Glob(absolute)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w: a glob is made of *, ? and [a-z]", key, pattern, err)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("%s: %s (%s): nothing matches: name a text that exists %s", key, pattern, absolute, r.remedy(key))
	}
	return roots, nil
}

func (r *resolver) standardInput(key string) ([]File, error) {
	switch {
	case r.used:
		return nil, fmt.Errorf("%s: - is named twice: standard input can be read only once", key)
	case r.stdin == nil:
		return nil, fmt.Errorf("%s: - stands for standard input, which is not available here: name a file %s", key, r.remedy(key))
	}
	r.used = true
	file, err := standardInput(r.stdin, r.dir)
	file.Format, r.spool = data.Or("", r.format), file.spool
	return []File{file}, err
}
