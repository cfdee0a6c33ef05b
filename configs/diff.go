package configs

import "reflect"

// Change is a key that two runs disagree on. The values are written as in a run file.
type Change struct {
	Key, From, To string
}

// Diff returns the keys in which b differs from a, in the order of a run file.
func Diff(a, b Run) []Change {
	from, to := leavesOf(reflect.ValueOf(a), ""), leavesOf(reflect.ValueOf(b), "")
	var changes []Change
	for i := range from {
		was, is := leafText(from[i].value), leafText(to[i].value)
		if was != is {
			changes = append(changes, Change{from[i].key, was, is})
		}
	}
	return changes
}

func leafText(v reflect.Value) string { return flowText(valueNode(v, 0)) }
