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

// shownExtensions is how many extensions a note names.
const shownExtensions = 4

// others tells of files whose names tell no kind, with a pattern for those of the most frequent name.
func (w *walk) others() string {
	kinds := byExtension(w.other)
	slices.SortStableFunc(kinds, func(a, b []File) int { return len(b) - len(a) })
	var names []string
	for _, of := range kinds[:min(len(kinds), shownExtensions)] {
		name := filepath.Ext(of[0].Name)
		if name == "" {
			name = filepath.Base(of[0].Name)
		}
		names = append(names, name)
	}
	if len(kinds) > shownExtensions {
		names = append(names, "…")
	}
	first := kinds[0][0].Name
	glob := fmt.Sprintf("a glob '%s' reads", filepath.ToSlash(filepath.Join(filepath.Dir(first), "*"+filepath.Ext(first))))
	if filepath.Ext(first) == "" {
		glob = fmt.Sprintf("its name, %s, reads", filepath.ToSlash(first))
	}
	if len(w.other) == 1 {
		return fmt.Sprintf("1 file of another name is passed over (%s): %s it", names[0], glob)
	}
	return fmt.Sprintf("%d files of other names are passed over (%s): %s such files of a folder", len(w.other), strings.Join(names, ", "), glob)
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
