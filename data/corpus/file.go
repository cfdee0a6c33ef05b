package corpus

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"
)

// File is one source of text and what the file system says of it.
type File struct {
	Name     string    // as shown to the user
	Path     string    // absolute; "" for standard input
	Size     int64     // bytes
	Modified time.Time // zero for standard input

	id   string // the path with links resolved: two names of one file have one id
	text []byte // of standard input
}

// mark is the byte order mark of UTF-8.
var mark = []byte("\xEF\xBB\xBF")

// read returns the file's text without a byte order mark. stop may be nil.
func (f File) read(fail bool, stop func() error) ([]byte, error) {
	if stop == nil {
		stop = func() error { return nil }
	}
	raw := f.text
	if f.Path != "" {
		var err error
		if raw, err = readFile(f.Path, stop); err != nil {
			return nil, fmt.Errorf("reading text: %w", err)
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	return clean(f.Name, raw, fail)
}

// readPiece is how much is read between two questions whether to stop.
const readPiece = 4 << 20

// readFile is [os.ReadFile] that asks stop between pieces.
func readFile(path string, stop func() error) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	if info, err := file.Stat(); err == nil && int64(int(info.Size())) == info.Size() {
		text.Grow(int(info.Size()) + bytes.MinRead) // so that the end is found without more memory
	}
	for {
		if err := stop(); err != nil {
			return nil, err
		}
		n, err := text.ReadFrom(io.LimitReader(file, readPiece))
		if err != nil || n < readPiece {
			return text.Bytes(), err
		}
	}
}

// clean strips the byte order mark and deals with bytes that are not UTF-8: an error, or U+FFFD for each run of them.
func clean(name string, raw []byte, fail bool) ([]byte, error) {
	text := bytes.TrimPrefix(raw, mark)
	if utf8.Valid(text) {
		return text, nil
	}
	if !fail {
		return bytes.ToValidUTF8(text, []byte("\uFFFD")), nil
	}
	skipped := len(raw) - len(text)
	at := firstInvalid(text)
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	return nil, fmt.Errorf("%s:%d: the bytes % x at offset %d are not UTF-8%s: convert the file, or set data.invalid_utf8 to replace (--set data.invalid_utf8=replace) to read such bytes as U+FFFD",
		name, line, text[at:min(at+4, len(text))], skipped+at, guess(raw))
}

// firstInvalid is the offset of the first byte that does not start or continue a character.
func firstInvalid(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// guess names the encoding of a file that starts with the byte order mark of UTF-16.
func guess(raw []byte) string {
	if bytes.HasPrefix(raw, []byte{0xFF, 0xFE}) || bytes.HasPrefix(raw, []byte{0xFE, 0xFF}) {
		return " (the file looks like UTF-16)"
	}
	return ""
}

// empty reports whether the file holds no text.
func (f File) empty() (bool, error) {
	if f.Size == 0 || f.Size > int64(len(mark)) {
		return f.Size == 0, nil
	}
	if f.Path == "" {
		return bytes.Equal(f.text, mark), nil
	}
	raw, err := os.ReadFile(f.Path)
	if err != nil {
		return false, fmt.Errorf("reading text: %w", err)
	}
	return bytes.Equal(raw, mark), nil
}

// standardInput reads all of r as a file.
func standardInput(r io.Reader) (File, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return File{}, fmt.Errorf("reading text from standard input: %w", err)
	}
	return File{Name: "<stdin>", Size: int64(len(text)), id: "-", text: text}, nil
}
