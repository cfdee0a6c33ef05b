package dataset

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"prenorm/data/corpus"
)

// pieceSize is about how much text is encoded at a time; the ids do not depend on it (see [cut]). maxPiece is the most text without a place
// to cut that is held in memory; tests make it smaller.
const pieceSize = 256 << 10

var maxPiece = 64 << 20

// piece is a stretch of a document that can be encoded by itself.
type piece struct {
	document corpus.Document // that the stretch ends in
	text     []byte
	offset   int64 // of text in the document
	rest     int64 // bytes of the document behind text
	first    bool  // text starts the document
}

// anywhere are the kinds of tokenizer that encode every character by itself, so that text may be cut between any two.
var anywhere = []string{"byte", "char"}

// cutter returns how text is cut for a kind of tokenizer.
func cutter(kind string) func(text []byte, size int) int {
	if slices.Contains(anywhere, kind) {
		return cutAnywhere
	}
	return cut
}

// cutAnywhere returns the length of the first piece of text: size bytes, and what belongs to their last character.
func cutAnywhere(text []byte, size int) int {
	for i := max(size, 1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return len(text)
}

// cut returns the length of the first piece of text: about size bytes, ending where a space or a newline follows a character that is
// not white space, or else all of it. No kind of tokenizer joins characters across such a place, so the ids of the pieces are the ids
// of the whole; a test holds every registered kind to that.
func cut(text []byte, size int) int {
	for i := max(size, 1); i < len(text); i++ {
		if text[i] == ' ' || text[i] == '\n' {
			if r, _ := utf8.DecodeLastRune(text[:i]); !unicode.IsSpace(r) {
				return i
			}
		}
	}
	return len(text)
}

// pieces divides documents, which may come in stretches. The pieces do not depend on where these end.
func pieces(documents corpus.Documents, cut func(text []byte, size int) int) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		var text []byte // of the document at hand, from its last cut on
		var offset int64
		first := true
		for d, err := range documents {
			if err != nil {
				yield(piece{}, err)
				return
			}
			if !d.Continues {
				text, offset, first = nil, d.Offset, true
			}
			if len(text) == 0 {
				text = d.Text
			} else {
				text = append(text, d.Text...)
			}
			for len(text) > 0 {
				n := cut(text, pieceSize)
				if n == len(text) && d.Rest > 0 { // what follows decides
					if n > maxPiece {
						yield(piece{}, noPlace(d, offset))
						return
					}
					break
				}
				if !yield(piece{d, text[:n:n], offset, d.Rest + int64(len(text)-n), first}, nil) {
					return
				}
				text, first = text[n:], false
				offset += int64(n)
			}
		}
	}
}

// noPlace is the error of a text that cannot be cut.
func noPlace(d corpus.Document, offset int64) error {
	return fmt.Errorf("%s: from byte %d on there is no place to cut in %d MiB, the most that is held in memory: text is cut where a space or a line break follows another character; put some in, leave the file out, or use tokenizer kind %s",
		d.Name, offset, maxPiece>>20, strings.Join(anywhere, " or "))
}
