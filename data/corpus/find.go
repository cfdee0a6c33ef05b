package corpus

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/data"
)

// Missing is a text that a setting names and that cannot be read.
type Missing struct {
	Key string // data.train, data.val.files or data.sources
	Err error
}

// Find looks for the texts of cfg without reading them. It returns how many bytes they have together, as far as they are there, and every
// one that is not. Of lists with "-" in them it says nothing, as standard input can be looked at only by reading it.
func Find(cfg data.Config) (size int64, missing []Missing) {
	counted := map[string]bool{}
	for _, list := range lists(cfg) {
		if slices.Contains(list.patterns, "-") {
			continue
		}
		r := resolver{owner: owner(list.source)}
		before := len(missing)
		for _, pattern := range list.patterns {
			files, err := r.one(list.shown, pattern)
			if err != nil {
				missing = append(missing, list.missing(err))
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
		if _, err := r.resolve(list.shown, list.patterns); err != nil { // all empty
			missing = append(missing, list.missing(err))
		}
	}
	return size, missing
}

// list is the patterns of a setting.
type list struct {
	key, source string // source is "" where there is one text
	shown       string // the setting in messages
	patterns    []string
}

func lists(cfg data.Config) []list {
	var one owner
	all := []list{{one.train(), "", one.train(), cfg.Train}, {one.val(), "", one.val(), cfg.Val.Files}}
	for _, s := range cfg.Sources {
		o := owner(s.Name)
		all = append(all, list{"data.sources", s.Name, o.train(), s.Train}, list{"data.sources", s.Name, o.val(), s.Val})
	}
	return all
}

func (l list) missing(err error) Missing {
	err = trimKey(l.shown, err)
	if l.source != "" {
		err = fmt.Errorf("%s: %w", l.source, err)
	}
	return Missing{l.key, err}
}

// trimmed is an error without the key at its beginning.
type trimmed struct {
	err error
	key string
}

func trimKey(key string, err error) error { return trimmed{err, key} }

func (t trimmed) Error() string { return strings.TrimPrefix(t.err.Error(), fmt.Sprintf("%s: ", t.key)) }
func (t trimmed) Unwrap() error { return t.err }
