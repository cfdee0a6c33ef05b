package configs

import (
	"reflect"
	"sync"
)

// KeyDoc describes one key of a run file.
type KeyDoc struct {
	Key     string   // dotted
	Type    string   // whole number, number, true/false, text, or a list of one of them
	Default string   // as a run file writes it
	Doc     string   // one line
	Allowed []string // the words that a text may be; nil where it is free
}

// Describe lists every key of a run file in the order they are written in.
func Describe() []KeyDoc {
	words := allowedWords()
	var out []KeyDoc
	for _, l := range leavesOf(reflect.ValueOf(Default()), "") {
		out = append(out, KeyDoc{l.key, typeName(l.value.Type()), leafText(l.value), docs[l.key], words[l.key]})
	}
	return out
}

// allowedWords asks the rules themselves: each refuses a word that nobody uses and says what it takes instead.
var allowedWords = sync.OnceValue(func() map[string][]string {
	run := Default()
	for _, l := range leavesOf(reflect.ValueOf(&run).Elem(), "") {
		if l.value.Kind() == reflect.String {
			l.value.SetString("?")
		}
	}
	words := map[string][]string{}
	for _, p := range run.Problems() {
		if p.Allowed != nil {
			words[p.Key] = p.Allowed
		}
	}
	return words
})
