package problem

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestTypo bounds the words that Closest looks at: longer ones are no typing mistakes of a key.
const longestTypo = 40

// Closest returns the allowed word that word is most likely a misspelling of, the first one on a tie, or "" where none is near.
// Near is an edit distance, letter case and "-" for "_" aside, of 1 for words of up to three letters, 2 up to eight, 3 beyond.
func Closest(word string, allowed []string) string {
	if word == "" || len(word) > longestTypo {
		return ""
	}
	limit := 3
	switch {
	case len(word) <= 3:
		limit = 1
	case len(word) <= 8:
		limit = 2
	}
	best, found := limit+1, ""
	plain := fold(word)
	for _, a := range allowed {
		if d := levenshtein.ComputeDistance(plain, fold(a)); d < best {
			best, found = d, a
		}
	}
	return found
}

func fold(word string) string { return strings.ReplaceAll(strings.ToLower(word), "-", "_") }
