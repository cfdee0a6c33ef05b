// Package problem is how a component reports what is wrong with its configuration: by key, without knowing where the value was written.
// Package configs adds the file and line.
package problem

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one broken rule of a configuration.
type Problem struct {
	Key  string // path of the key inside the component ("norm.eps"); the composing package puts its own path in front
	What string // the value, the rule and the remedy: "5 does not divide width 128 (try 4 or 8)"

	Beside  string   // full path of another key that the value does not go with, "" = none; whoever knows which of the two is new points there
	Allowed []string // the words that the key takes, where it is one of [List.OneOf]
}

// List collects problems. The zero value is empty and ready.
type List []Problem

// Addf appends a problem.
func (l *List) Addf(key, format string, args ...any) {
	*l = append(*l, Problem{Key: key, What: fmt.Sprintf(format, args...)})
}

// Besidef appends a problem of a key with another that it does not go with.
func (l *List) Besidef(key, beside, format string, args ...any) {
	*l = append(*l, Problem{Key: key, Beside: beside, What: fmt.Sprintf(format, args...)})
}

// Under returns the problems with prefix put in front of every key.
func (l List) Under(prefix string) List {
	out := make(List, len(l))
	for i, p := range l {
		p.Key = prefix + "." + p.Key
		out[i] = p
	}
	return out
}

// OneOf adds a problem when value is not among allowed.
func (l *List) OneOf(key, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	words, what := strings.Join(allowed, ", "), ""
	// A short word is near too many others: gpu is no misspelling of cpu.
	if near := Closest(value, allowed); near != "" && len(value) > 3 {
		what = fmt.Sprintf("%q is not known (did you mean %s? allowed: %s)", value, near, words)
	} else {
		what = fmt.Sprintf("%q is not known (allowed: %s)", value, words)
	}
	*l = append(*l, Problem{Key: key, What: what, Allowed: slices.Clone(allowed)})
}

// Err returns nil for an empty list, else one error with a line for each problem.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Key + ": " + p.What
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
