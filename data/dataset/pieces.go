package dataset

import (
	"fmt"
	"iter"
	"unicode/utf8"

	"prenorm/data/corpus"
	"prenorm/data/token"
)

// pieceSize is about how much text is encoded at a time; the ids do not depend on it (see [token.Places]). maxPiece is the most text without a place
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

// cutter tells where text is cut, see [token.Places].
type cutter interface {
	Cut(text []byte, size int) int
}

// pieces divides documents, which may come in stretches. The pieces do not depend on where these end.
func pieces(documents corpus.Documents, places cutter) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		var text []byte // of the document at hand, from its last cut on
		var offset int64
		first, searched := true, 0 // searched: bytes of text without a place
		for d, err := range documents {
			if err != nil {
				yield(piece{}, err)
				return
			}
			if !d.Continues {
				text, offset, first, searched = nil, d.Offset, true, 0
			}
			if len(text) == 0 {
				text = d.Text
			} else {
				text = append(text, d.Text...)
			}
			for len(text) > 0 {
				n := places.Cut(text, max(pieceSize, searched))
				if n == len(text) && d.Rest > 0 { // what follows decides
					if n > maxPiece {
						yield(piece{}, noPlace(d, offset))
						return
					}
					searched = n - utf8.UTFMax // a character may have ended incomplete
					break
				}
				if !yield(piece{d, text[:n:n], offset, d.Rest + int64(len(text)-n), first}, nil) {
					return
				}
				text, first, searched = text[n:], false, 0
				offset += int64(n)
			}
		}
	}
}

// Texts are documents as a tokenizer is trained on or tried with: divided at some of the places, see [token.PlacesToTrain] and [token.PlacesOf].
func Texts(documents corpus.Documents, places token.Places) token.Texts {
	return func(yield func([]byte, error) bool) {
		for p, err := range pieces(documents, places) {
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
	return fmt.Errorf("%s: from byte %d on there is no place to cut in %d MiB, the most that is held in memory: put in line breaks, each by itself behind a letter or a digit, or spaces, leave the file out, or use tokenizer kind byte or char (docs/data.md lists the places)",
		d.Name, offset, maxPiece>>20)
}
