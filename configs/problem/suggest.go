package problem

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestTypo bounds the words that Closest looks at: longer ones are no typing mistakes of a key.
const longestTypo = 40

// Closest returns the allowed word that word is most likely a misspelling of, the first one on a tie, or "" where none is near.
// Near is an edit distance, letter case and "-" for "_" aside, of 1 for words of up to five letters, 2 up to nine, 3 beyond; the same letters
// in another order count as 1.
func Closest(word string, allowed []string) string {
	if word == "" || len(word) > longestTypo {
		return ""
	}
	limit := 3
	switch {
	case len(word) <= 5:
		limit = 1
	case len(word) <= 9:
		limit = 2
	}
	best, found := limit+1, ""
	plain := fold(word)
	for _, a := range allowed {
		if d := distance(plain, fold(a)); d < best {
			best, found = d, a
		}
	}
	return found
}

func distance(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d > 1 && letters(a) == letters(b) {
		return 1
	}
	return d
}

// letters sorts the letters of a word.
func letters(word string) string {
	sorted := []rune(word)
	slices.Sort(sorted)
	return string(sorted)
}

func fold(word string) string { return strings.ReplaceAll(strings.ToLower(word), "-", "_") }
