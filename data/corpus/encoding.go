package corpus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// mark is the byte order mark of UTF-8.
var mark = []byte("\xEF\xBB\xBF")

// blockSize is how much is read at a time.
const blockSize = 1 << 16

// decoded is a text in UTF-8: what the byte order mark at its start says, UTF-8 where there is none.
type decoded struct {
	io.Reader
	skipped int64  // bytes of the mark that are not part of the text
	hint    string // for messages on bytes that are not UTF-8
}

// block is how much of a member is read at a time: no more than it has, as there may be many small ones, but more than the longest character.
func (m member) block() int {
	if m.size < 0 {
		return blockSize
	}
	return int(min(m.size+16, blockSize))
}

// decode reads the byte order mark.
func decode(m member) (decoded, error) {
	in := bufio.NewReaderSize(m.in, m.block())
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return decoded{}, err
	}
	switch {
	case bytes.HasPrefix(head, mark):
		in.Discard(len(mark))
		return decoded{Reader: in, skipped: int64(len(mark))}, nil
	case bytes.Equal(head, []byte{0xFF, 0xFE, 0, 0}) || bytes.Equal(head, []byte{0, 0, 0xFE, 0xFF}):
		return decoded{}, fmt.Errorf("%s: the byte order mark is that of UTF-32, and only UTF-8 and UTF-16 are read: convert the file", m.name)
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		in.Discard(2)
		return fromUTF16(in, binary.LittleEndian), nil
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		in.Discard(2)
		return fromUTF16(in, binary.BigEndian), nil
	}
	return decoded{Reader: in}, nil
}

func fromUTF16(in *bufio.Reader, order binary.ByteOrder) decoded {
	return decoded{Reader: &utf16Reader{in: in, order: order}, hint: " (half a character in UTF-16; the offset is that in UTF-8)"}
}

// utf16Reader reads UTF-16 as UTF-8. A surrogate without its other half becomes three bytes, and an odd last byte one, that are not UTF-8,
// so that the rule for such bytes applies.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	out   []byte // not handed out yet
	buf   []byte // the memory of out
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	if len(u.out) == 0 && u.err == nil {
		u.fill()
	}
	n := copy(p, u.out)
	if u.out = u.out[n:]; n == 0 && len(p) > 0 {
		return 0, u.err
	}
	return n, nil
}

// fill decodes about a block.
func (u *utf16Reader) fill() {
	u.out = u.buf[:0]
	for len(u.out) < blockSize {
		unit, err := u.unit()
		if err != nil {
			u.err = err
			break
		}
		if !utf16.IsSurrogate(rune(unit)) {
			u.out = utf8.AppendRune(u.out, rune(unit))
			continue
		}
		if next, err := u.in.Peek(2); err == nil {
			if r := utf16.DecodeRune(rune(unit), rune(u.order.Uint16(next))); r != utf8.RuneError {
				u.in.Discard(2)
				u.out = utf8.AppendRune(u.out, r)
				continue
			}
		}
		u.out = append(u.out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
	}
	u.buf = u.out
}

// unit reads 16 bits.
func (u *utf16Reader) unit() (uint16, error) {
	pair, err := u.in.Peek(2)
	if len(pair) == 2 {
		unit := u.order.Uint16(pair)
		u.in.Discard(2)
		return unit, nil
	}
	if len(pair) == 1 && err == io.EOF {
		u.in.Discard(1)
		u.out = append(u.out, 0xFF)
	}
	return 0, err
}
