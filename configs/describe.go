package configs

import "reflect"

// KeyDoc describes one key of a run file.
type KeyDoc struct {
	Key     string // dotted
	Type    string // whole number, number, true/false, text, or a list of one of them
	Default string // as a run file writes it
	Doc     string // one line
}

// Describe lists every key of a run file in the order they are written in.
func Describe() []KeyDoc {
	var out []KeyDoc
	for _, l := range leavesOf(reflect.ValueOf(Default()), "") {
		out = append(out, KeyDoc{l.key, typeName(l.value.Type()), leafText(l.value), docs[l.key]})
	}
	return out
}
