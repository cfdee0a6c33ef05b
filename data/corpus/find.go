package corpus

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/data"
)

// Missing is a text that a setting names and that cannot be read.
type Missing struct {
	Key string // data.train or data.val.files
	Err error
}

// Find looks for the texts of cfg without reading them. It returns how many bytes they have together, as far as they are there, and every
// one that is not. Of lists with "-" in them it says nothing, as standard input can be looked at only by reading it.
func Find(cfg data.Config) (size int64, missing []Missing) {
	counted := map[string]bool{}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"data.train", cfg.Train}, {"data.val.files", cfg.Val.Files}} {
		if slices.Contains(list.patterns, "-") {
			continue
		}
		var r resolver
		before := len(missing)
		for _, pattern := range list.patterns {
			files, err := r.one(list.key, pattern)
			if err != nil {
				missing = append(missing, Missing{list.key, trimKey(list.key, err)})
			}
			for _, f := range files {
				if !counted[f.id] {
					counted[f.id] = true
					size += f.Size
				}
			}
		}
		if len(list.patterns) == 0 || len(missing) > before {
			continue
		}
		if _, err := r.resolve(list.key, list.patterns); err != nil { // all empty
			missing = append(missing, Missing{list.key, trimKey(list.key, err)})
		}
	}
	return size, missing
}

// trimmed is an error without the key at its beginning.
type trimmed struct {
	err error
	key string
}

func trimKey(key string, err error) error { return trimmed{err, key} }

func (t trimmed) Error() string { return strings.TrimPrefix(t.err.Error(), fmt.Sprintf("%s: ", t.key)) }
func (t trimmed) Unwrap() error { return t.err }
