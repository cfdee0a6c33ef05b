package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// table reads a table with a header; a document is one column of a row. Rows and quotes are those of RFC 4180, with a newline alone for a
// line's end too. Rows whose text is empty, and empty lines, are no documents. Package encoding/csv would turn CR LF in quotes into LF, and
// hold a row of any length.
func (r *reading) table(m member, comma byte, emit func(chunk) error) error {
	in, err := decode(m)
	if err != nil {
		return err
	}
	t := tableReader{in: bufio.NewReaderSize(in, m.block()), comma: comma, name: m.name, line: 1}
	header, err := t.next(nil)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for i := range header {
		names = append(names, string(header[i]))
	}
	key := strings.Join(r.field, ".")
	column := slices.Index(names, key)
	if column < 0 {
		err := noField(t.where(), r.field, names)
		if len(header) == 1 {
			for _, other := range otherCommas {
				if strings.IndexByte(key, other) < 0 && bytes.IndexByte(header[0], other) >= 0 {
					return fmt.Errorf("%w%s", err, t.divided(other))
				}
			}
		}
		return err
	}
	if slices.Contains(names[column+1:], key) {
		return ambiguous(t.where(), fmt.Sprintf("the header names more than one column %s", key))
	}
	for {
		row, err := t.next(header)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) != len(names) {
			return fmt.Errorf("%s: the row has %d columns, the header has %d: mend the row (a text with a comma or a newline has to stand in quotes), or leave the file out", t.where(), len(row), len(names))
		}
		if err := r.row(t.where(), row[column], emit); err != nil {
			return err
		}
	}
}

// tableReader reads rows.
type tableReader struct {
	in    *bufio.Reader
	comma byte
	name  string
	line  int  // at which the next row starts
	first int  // at which the last row started
	size  int  // bytes of the row so far, in memory
	quote bool // a field of the row stands in quotes
}

// where names the last row by the line that it starts at.
func (t *tableReader) where() string { return fmt.Sprintf("%s:%d", t.name, t.first) }

// otherCommas are what programs divide fields by in place of a comma, and a comma in place of a tab.
var otherCommas = []byte(";\t|,")

// divided says, for the end of a message on a header, that the file seems to divide fields by another byte than the one that is read.
func (t *tableReader) divided(by byte) string {
	rule, remedy := "commas", "write the file anew with commas"
	switch {
	case t.comma == '\t':
		rule, remedy = "tabs", "write the file anew with tabs"
		if by == ',' {
			remedy = "name it .csv"
		}
	case by == '\t':
		remedy = "name it .tsv"
	}
	if format, rename := strings.CutPrefix(remedy, "name it ."); rename && t.name == "<stdin>" {
		remedy = "set data.format to " + format + " (--set data.format=" + format + ")"
	}
	return fmt.Sprintf("; fields are divided by %s, and this file seems to use %q: %s", rule, by, remedy)
}

// fieldBytes is what a field takes besides its text, as a slice: a row of separators alone would have 24 times its size.
const fieldBytes = 24

var errLongRow = errors.New("too long")

// next reads a row that is not empty into the memory of another.
func (t *tableReader) next(row [][]byte) ([][]byte, error) {
	for {
		t.first, t.size, t.quote = t.line, 0, false
		row = row[:0]
		for end := false; !end; {
			var field []byte
			if len(row) < cap(row) {
				field = row[:len(row)+1][len(row)][:0]
			}
			var err error
			if field, end, err = t.field(field); err == errLongRow {
				return nil, tooLong(t.where(), "the row")
			} else if err != nil {
				return nil, err
			}
			row = append(row, field)
			t.size += fieldBytes
		}
		if len(row) > 1 || len(row[0]) > 0 || t.quote {
			return row, nil
		}
		if _, err := t.in.Peek(1); err == io.EOF {
			return nil, io.EOF
		}
	}
}

// byte reads one byte.
func (t *tableReader) byte() (byte, error) {
	b, err := t.in.ReadByte()
	if err == nil {
		if t.size++; t.size > maxRow {
			return 0, errLongRow
		}
		if b == '\n' {
			t.line++
		}
	}
	return b, err
}

// field appends a field to dst. end says that it was the row's last.
func (t *tableReader) field(dst []byte) (field []byte, end bool, err error) {
	b, err := t.byte()
	if err == nil && b == '"' {
		return t.quoted(dst)
	}
	for ; err == nil; b, err = t.byte() {
		switch b {
		case t.comma:
			return dst, false, nil
		case '\n':
			if n := len(dst); n > 0 && dst[n-1] == '\r' {
				dst = dst[:n-1]
			}
			return dst, true, nil
		case '"':
			return nil, false, fmt.Errorf("%s: a quote stands inside a field that does not start with one: put the field in quotes and double the quote, or leave the file out", t.at())
		}
		dst = append(dst, b)
	}
	if err == io.EOF {
		return dst, true, nil
	}
	return nil, false, err
}

// quoted appends the rest of a field that started with a quote.
func (t *tableReader) quoted(dst []byte) (field []byte, end bool, err error) {
	t.quote = true
	for {
		b, err := t.byte()
		if err == io.EOF {
			return nil, false, fmt.Errorf("%s: a quote that opens in this row is never closed: mend the row, or leave the file out", t.where())
		}
		if err != nil {
			return nil, false, err
		}
		if b != '"' {
			dst = append(dst, b)
			continue
		}
		switch b, err = t.byte(); {
		case err == io.EOF || err == nil && b == '\n':
			return dst, true, nil
		case err != nil:
			return nil, false, err
		case b == '"':
			dst = append(dst, b)
		case b == t.comma:
			return dst, false, nil
		case b == '\r' && t.newline():
			return dst, true, nil
		default:
			err := fmt.Errorf("%s: %q follows the quote that closes a field: double a quote that belongs to the text, or leave the file out", t.at(), b)
			if t.first == 1 && bytes.IndexByte(otherCommas, b) >= 0 {
				err = fmt.Errorf("%w%s", err, t.divided(b))
			}
			return nil, false, err
		}
	}
}

// newline reads a newline, or the end, if it comes next.
func (t *tableReader) newline() bool {
	next, err := t.in.Peek(1)
	if err == nil && next[0] == '\n' {
		t.byte()
		return true
	}
	return err == io.EOF
}

// at names the line that is being read.
func (t *tableReader) at() string { return fmt.Sprintf("%s:%d", t.name, t.line) }
