package corpus

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"prenorm/data"
)

// passed says which files of a folder are passed over, "" where none are: for each kind that may hold text what makes it readable, files of names
// that tell no kind together, and links to folders together.
func (w *walk) passed() string {
	var said []string
	for _, of := range byExtension(w.unread) {
		said = append(said, fmt.Sprintf("%s is passed over: %s", listed(of), data.Unread(of[0].Name)))
	}
	if len(w.other) > 0 {
		said = append(said, w.others())
	}
	if n := len(w.links); n == 1 {
		said = append(said, fmt.Sprintf("1 link to a folder is passed over (%s): name it too, and its files are read", w.links[0].Name))
	} else if n > 1 {
		said = append(said, fmt.Sprintf("%d links to folders are passed over (%s, …): name them too, and their files are read", n, w.links[0].Name))
	}
	return strings.Join(said, "; ")
}

// tellPassed notes what each pattern of a list passes over, but for what the list names otherwise; read has the paths of its files, without links.
func (r *resolver) tellPassed(key string, read map[string]bool) {
	var roots []string
	for _, w := range r.walks {
		roots = append(roots, w.roots...)
	}
	for _, w := range r.walks {
		if len(r.walks) > 1 {
			w.leave(read, roots)
		}
		if passed := w.passed(); passed != "" {
			r.notes = append(r.notes, fmt.Sprintf("%s: %s", key, passed))
		}
	}
}

// leave takes out of what is passed over files that are read all the same, and links into one of some roots.
func (w *walk) leave(read map[string]bool, roots []string) {
	isRead := func(f File) bool {
		id, err := filepath.EvalSymlinks(f.Path)
		return err == nil && read[id]
	}
	w.unread, w.other = slices.DeleteFunc(w.unread, isRead), slices.DeleteFunc(w.other, isRead)
	w.links = slices.DeleteFunc(w.links, func(f File) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return !leadsOut(f.Path, root) })
	})
}

// shownExtensions is how many extensions a note names.
const shownExtensions = 4

// others tells of files whose names tell no kind: of those that may be text with a pattern for those of the most frequent name.
func (w *walk) others() string {
	var texts, ids, binaries []File
	for _, f := range w.other {
		switch {
		case strings.EqualFold(filepath.Ext(f.Name), ".bin"): // as package data/shard has it
			ids = append(ids, f)
		case data.Binary(f.Name):
			binaries = append(binaries, f)
		default:
			texts = append(texts, f)
		}
	}
	var said []string
	if len(texts) > 0 {
		names, first := extensions(texts)
		said = append(said, others(texts, names)+": "+reader(first, len(texts)))
	}
	if len(ids) > 0 {
		names, _ := extensions(ids)
		said = append(said, others(ids, names)+": token files are named by themselves")
	}
	if len(binaries) > 0 {
		names, _ := extensions(binaries)
		said = append(said, others(binaries, names))
	}
	return strings.Join(said, "; ")
}

// others counts files of names that tell no kind.
func others(files []File, names string) string {
	if len(files) == 1 {
		return fmt.Sprintf("1 file of another name is passed over (%s)", names)
	}
	return fmt.Sprintf("%d files of other names are passed over (%s)", len(files), names)
}

// reader is the pattern that reads n files, the first of which has the most frequent extension.
func reader(first string, n int) string {
	pattern := fmt.Sprintf("a glob '%s' reads", filepath.ToSlash(filepath.Join(filepath.Dir(first), "*"+filepath.Ext(first))))
	if filepath.Ext(first) == "" {
		pattern = fmt.Sprintf("its name, %s, reads", filepath.ToSlash(first))
	}
	if n == 1 {
		return pattern + " it"
	}
	return pattern + " such files of a folder"
}

// extensions are those of some files, the most frequent one first, whose first file is first.
func extensions(files []File) (names, first string) {
	kinds := byExtension(files)
	slices.SortStableFunc(kinds, func(a, b []File) int { return len(b) - len(a) })
	var shown []string
	for _, of := range kinds[:min(len(kinds), shownExtensions)] {
		name := filepath.Ext(of[0].Name)
		if name == "" {
			name = filepath.Base(of[0].Name)
		}
		shown = append(shown, name)
	}
	if len(kinds) > shownExtensions {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", "), kinds[0][0].Name
}

// byExtension groups files by what stands behind the last dot of their names, in the order of the first of each; one without a dot is by itself.
func byExtension(files []File) (groups [][]File) {
	place := map[string]int{}
	for _, f := range files {
		key := strings.ToLower(filepath.Ext(f.Name))
		if key == "" {
			key = f.Name
		}
		i, there := place[key]
		if !there {
			i, groups = len(groups), append(groups, nil)
			place[key] = i
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}
