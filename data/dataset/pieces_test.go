package dataset

import (
	"strings"
	"testing"

	"prenorm/data/corpus"
	"prenorm/data/token"
)

// TestPiecesAreSearchedOnce looks for a place to cut in every byte of a text once, however many stretches it waits for, and finds the places that the
// whole has.
func TestPiecesAreSearchedOnce(t *testing.T) {
	text := strings.Repeat("some words ", 60_000) + strings.Repeat("\n", 2<<20) + "x y" + strings.Repeat("\n", 1<<20) + "z " + strings.Repeat("the end ", 50_000)
	for name, cut := range map[string]func([]byte, int) int{"at spaces": token.Cut, "anywhere": cutAnywhere} {
		var want []int
		for at := 0; at < len(text); {
			n := cut([]byte(text[at:]), pieceSize)
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
			searched := 0
			counting := func(text []byte, size int) int {
				n := cut(text, size)
				searched += max(n-size, 0)
				return n
			}
			at := 0
			for p, err := range pieces(documents, counting) {
				if err != nil || len(want) == at || len(p.text) != want[at] {
					t.Fatalf("%s, stretches of %d: piece %d of %d bytes, %v, want %d", name, stretch, at, len(p.text), err, want)
				}
				at++
			}
			if at != len(want) || searched > len(text) {
				t.Errorf("%s, stretches of %d: %d pieces of %d, for which %d bytes of %d were looked at", name, stretch, at, len(want), searched, len(text))
			}
		}
	}
}
