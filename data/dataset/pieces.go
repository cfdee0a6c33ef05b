package dataset

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"prenorm/data/corpus"
	"prenorm/data/token"
)

// pieceSize is about how much text is encoded at a time; the ids do not depend on it (see [token.Cut]). maxPiece is the most text without a place
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
	return token.Cut
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

// pieces divides documents, which may come in stretches. The pieces do not depend on where these end.
func pieces(documents corpus.Documents, cut func(text []byte, size int) int) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		var text []byte // of the document at hand, from its last cut on
		var offset int64
		searched := 0 // so far there is no place to cut, as far as more of the text does not make one
		first := true
		for d, err := range documents {
			if err != nil {
				yield(piece{}, err)
				return
			}
			if !d.Continues {
				text, offset, searched, first = nil, d.Offset, 0, true
			}
			if len(text) == 0 {
				text = d.Text
			} else {
				text = append(text, d.Text...)
			}
			for len(text) > 0 {
				n := cut(text, max(pieceSize, searched))
				if n == len(text) && d.Rest > 0 { // what follows decides
					if n > maxPiece {
						yield(piece{}, noPlace(d, offset))
						return
					}
					searched = n
					break
				}
				if !yield(piece{d, text[:n:n], offset, d.Rest + int64(len(text)-n), first}, nil) {
					return
				}
				text, searched, first = text[n:], 0, false
				offset += int64(n)
			}
		}
	}
}

// Texts are documents as a kind of tokenizer is trained on: pieces that it counts and encodes as the whole; "" is for every kind.
func Texts(documents corpus.Documents, kind string) token.Texts {
	return func(yield func([]byte, error) bool) {
		for p, err := range pieces(documents, cutter(kind)) {
			if !yield(p.text, err) {
				return
			}
		}
	}
}

// Join is texts one after the other.
func Join(all []token.Texts) token.Texts {
	return func(yield func([]byte, error) bool) {
		for _, texts := range all {
			for text, err := range texts {
				if !yield(text, err) || err != nil {
					return
				}
			}
		}
	}
}

// noPlace is the error of a text that cannot be cut.
func noPlace(d corpus.Document, offset int64) error {
	return fmt.Errorf("%s: from byte %d on there is no place to cut in %d MiB, the most that is held in memory: text is cut where a space follows a character that is no white space, or a line break a letter or a digit; put some in, leave the file out, or use tokenizer kind %s",
		d.Name, offset, maxPiece>>20, strings.Join(anywhere, " or "))
}
