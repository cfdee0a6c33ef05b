package survey

import (
	"fmt"
	"testing"
)

// TestHalf has validation documents of two, three and four n-grams with half of them, less and more in the training text.
func TestHalf(t *testing.T) {
	for _, c := range []struct{ planted, words, any, half, all int }{
		{13, 14, 1, 1, 0}, // one of two
		{13, 15, 1, 0, 0}, // one of three
		{14, 15, 1, 1, 0}, // two of three
		{14, 16, 1, 1, 0}, // two of four
		{13, 16, 1, 0, 0}, // one of four
		{14, 14, 1, 1, 1},
		{12, 14, 0, 0, 0}, // fewer words than an n-gram has
	} {
		text := tale(1, c.planted)
		val := text
		if c.words > c.planted {
			val += " " + tale(2, c.words-c.planted)
		}
		o := survey(t, rows(text, tale(3, 30)), rows(val), nil).Overlap
		if got, want := fmt.Sprint(o.Documents, o.Grams, o.Any, o.Half, o.All), fmt.Sprint(1, c.words-12, c.any, c.half, c.all); got != want {
			t.Errorf("%+v: documents, n-grams, any, half, all %s, want %s", c, got, want)
		}
	}
}
