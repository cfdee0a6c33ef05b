package token

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// readPiece is what is read and encoded at a time.
const readPiece = 256 << 10

// EncodeReader hands the ids of one text to emit, piece by piece, in order; they are those of Encode for all of it. What it holds is a few pieces,
// more only for a stretch of text without a place to divide it (see [Places]). encode is the Encode of a tokenizer, or its EncodeSpecials, and
// places are [PlacesOf] it. The slice is valid until emit returns.
func EncodeReader(encode func(dst []int32, text []byte) ([]int32, error), places Places, r io.Reader, emit func(ids []int32) error) error {
	var text []byte
	var ids []int32
	for passed, end := int64(0), false; !end || len(text) > 0; {
		searched := len(text)
		if !end {
			text = slices.Grow(text, readPiece)
			n, err := io.ReadFull(r, text[len(text):len(text)+readPiece])
			text = text[:len(text)+n]
			if end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); !end && err != nil {
				return err
			}
		}
		n := places.Cut(text, max(searched, readPiece/2))
		if n == len(text) && !end {
			continue
		}
		var err error
		if ids, err = encode(ids[:0], text[:n]); err != nil {
			if later(err, int(passed)) {
				return err
			}
			return fmt.Errorf("in the part from byte %d on: %w", passed, err)
		}
		if err := emit(ids); err != nil {
			return err
		}
		passed += int64(n)
		text = text[:copy(text, text[n:])]
	}
	return nil
}
