package token

import "unicode/utf8"

// Stream decodes ids one at a time and hands out whole UTF-8 characters only, so that text can be shown while it is being sampled. It
// loses and changes nothing: all that Write and Flush return, joined, is what Decode gives for all ids at once. It is for one
// goroutine.
type Stream struct {
	tokenizer Tokenizer
	buffer    []byte // what Write returned last, then what is held back
	given     int    // length of the former
}

// NewStream returns a stream that decodes ids of t.
func NewStream(t Tokenizer) *Stream { return &Stream{tokenizer: t} }

// Write decodes one id and returns the bytes that are ready: all but the start of a character that later ids may complete. A byte
// that can no longer become part of a character is ready as it is. The slice is valid until the next call. An id outside the
// vocabulary is an error and leaves what is held back in place.
func (s *Stream) Write(id int32) (text []byte, err error) {
	s.drop()
	s.buffer, err = s.tokenizer.Decode(s.buffer, id)
	if err != nil {
		return nil, err
	}
	s.given = len(s.buffer) - unfinished(s.buffer)
	return s.buffer[:s.given], nil
}

// Flush returns the bytes held back, which form no character, and empties the stream. The slice is valid until the next call.
func (s *Stream) Flush() []byte {
	s.drop()
	s.given = len(s.buffer)
	return s.buffer
}

// drop forgets the bytes that were given out.
func (s *Stream) drop() {
	s.buffer = append(s.buffer[:0], s.buffer[s.given:]...)
	s.given = 0
}

// unfinished returns how many of the last bytes of text are the start of a character that more bytes could complete.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
