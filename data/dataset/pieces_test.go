package dataset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"prenorm/data/corpus"
	"prenorm/data/token"
)

// counting counts the bytes that were looked at for a place.
type counting struct {
	cutter
	searched int
}

func (c *counting) Cut(text []byte, size int) int {
	n := c.cutter.Cut(text, size)
	c.searched += max(n-size, 0)
	return n
}

// TestPiecesAreSearchedOnce looks for a place to cut in every byte of a text once, however many stretches it waits for, and finds the places that the
// whole has.
func TestPiecesAreSearchedOnce(t *testing.T) {
	text := strings.Repeat("some words ", 60_000) + strings.Repeat("\n", 2<<20) + "x y" + strings.Repeat("\n", 1<<20) + "z " + strings.Repeat("the end ", 50_000)
	for _, kind := range []string{"bpe", "byte"} {
		places := token.PlacesToTrain(kind)
		var want []int
		for at := 0; at < len(text); {
			n := places.Cut([]byte(text[at:]), pieceSize)
			want = append(want, n)
			at += n
		}
		for _, stretch := range []int{len(text), 64 << 10, pieceSize, pieceSize + 1} {
			documents := func(yield func(corpus.Document, error) bool) {
				for at := 0; at < len(text); at += stretch {
					end := min(at+stretch, len(text))
					if !yield(corpus.Document{Name: "a.txt", Offset: int64(at), Text: []byte(text[at:end]), Continues: at > 0, Rest: int64(len(text) - end)}, nil) {
						return
					}
				}
			}
			counted, stretches := &counting{cutter: places}, len(text)/stretch+1
			at := 0
			for p, err := range pieces(documents, counted) {
				if err != nil || len(want) == at || len(p.text) != want[at] {
					t.Fatalf("%s, stretches of %d: piece %d of %d bytes, %v, want %d", kind, stretch, at, len(p.text), err, want)
				}
				at++
			}
			if at != len(want) || counted.searched > len(text)+utf8.UTFMax*stretches {
				t.Errorf("%s, stretches of %d: %d pieces of %d, for which %d bytes of %d were looked at", kind, stretch, at, len(want), counted.searched, len(text))
			}
		}
	}
}
