package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"prenorm/data"
)

// jsonl reads a JSON object a line; a document is the text of one field. Empty lines, and rows whose text is null or empty, are none.
func (r *reading) jsonl(m member, emit func(chunk) error) error {
	in, err := decode(m)
	if err != nil {
		return err
	}
	lines := lineReader{in: bufio.NewReaderSize(in, m.block())}
	for number := 1; ; number++ {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, bufio.ErrTooLong) {
			return tooLong(fmt.Sprintf("%s:%d", m.name, number), "the line")
		}
		if err != nil {
			return err
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) == 0 { // what JSON has for white space
			continue
		}
		where := fmt.Sprintf("%s:%d", m.name, number) // not of empty lines, of which there may be millions
		text, err := r.lineText(where, line, in.hint)
		if err != nil {
			return err
		}
		if err := r.row(where, text, emit); err != nil {
			return err
		}
	}
}

// lineReader reads lines of up to maxRow bytes.
type lineReader struct {
	in   *bufio.Reader
	line []byte // the memory of the last line
}

// next returns a line, which is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.line) == 0 && err == nil {
			return part, nil
		}
		if l.line = append(l.line, part...); len(l.line) > maxRow {
			return nil, bufio.ErrTooLong
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.line) > 0:
			return l.line, nil
		}
		return l.line, err
	}
}

// lineText takes the text out of a line. The decoder would put U+FFFD for bytes and escapes that are no characters, so the rule for such text
// is applied before.
func (r *reading) lineText(where string, line []byte, hint string) ([]byte, error) {
	if !utf8.Valid(line) {
		c := cleaner{policy: policy{invalid: r.invalid, nul: "keep", odd: r.odd}, name: where, hint: hint}
		var err error
		if line, _, err = c.clean(nil, line, true); err != nil {
			return nil, err
		}
	}
	if bytes.Contains(line, []byte(`\u`)) {
		var err error
		if line, err = r.halves(where, line); err != nil {
			return nil, err
		}
	}
	if !json.Valid(line) {
		var any json.RawMessage
		return nil, notObject(where, nil, line, json.Unmarshal(line, &any))
	}
	at := line[afterSpace(line, 0):] // something before it may have been dropped
	for i := range r.field {
		if at[0] != '{' {
			return nil, notObject(where, r.field[:i], at, nil)
		}
		var err error
		if at, err = memberOf(where, at, r.field[:i+1]); err != nil || string(at) == "null" {
			return nil, err
		}
	}
	var text string
	if at[0] != '"' {
		return nil, fmt.Errorf("%s: field %s is no text but %s: name the field that holds the text, with dots for a field inside another (--set data.field=NAME)", where, strings.Join(r.field, "."), shown(at))
	}
	if err := json.Unmarshal(at, &text); err != nil {
		return nil, notObject(where, r.field, at, err)
	}
	return []byte(text), nil
}

// notObject is the error of a line that is not what a line has to be.
func notObject(where string, path []string, at []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: the line is not JSON: %w at byte %d of it: mend the line or leave the file out", where, err, syntax.Offset)
	case len(path) > 0:
		return fmt.Errorf("%s: field %s is no object but %s: name the field that holds the text (--set data.field=NAME)", where, strings.Join(path, "."), shown(at))
	}
	return fmt.Errorf("%s: the line is no JSON object but %s: each line is to be an object with a text in it, such as {\"text\": \"...\"}", where, shown(at))
}

// shownFields is how many fields a message names.
const shownFields = 20

// noField is the error of a row without the field.
func noField(where string, path, have []string) error {
	outer := strings.Join(path[:len(path)-1], ".")
	if outer != "" {
		outer += "."
	}
	more := ""
	if len(have) > shownFields {
		have, more = have[:shownFields], ", …"
	}
	for i, name := range have {
		have[i] = outer + shown([]byte(name))
	}
	return fmt.Errorf("%s: there is no field %s (there are: %s%s): name the one that holds the text (--set data.field=NAME)", where, strings.Join(path, "."), strings.Join(have, ", "), more)
}

// shown is the beginning of a value, for a message.
func shown(value []byte) string {
	const most = 40
	text := strings.ToValidUTF8(string(value[:min(len(value), most)]), "")
	if len(value) > most {
		text += "…"
	}
	return text
}

// halves applies the rule for text that is not UTF-8 to escapes of one half of a surrogate pair, which are no character: it is an error, or
// they are replaced or dropped.
func (r *reading) halves(where string, line []byte) ([]byte, error) {
	var out []byte
	from := 0
	for at := 0; at < len(line); {
		if line[at] != '\\' {
			at++
			continue
		}
		unit, escape := surrogate(line[at:])
		if !escape {
			at += 2 // whatever is escaped, a backslash too
			continue
		}
		if low, pair := surrogate(line[at+6:]); pair && unit < 0xDC00 && low >= 0xDC00 {
			at += 12
			continue
		}
		if r.invalid == "fail" {
			return nil, fmt.Errorf("%s: the escape %s at byte %d of the line is half a character: mend the line, or set data.invalid_utf8 to replace (--set data.invalid_utf8=replace) to read it as U+FFFD", where, line[at:at+6], at)
		}
		if r.odd != nil {
			r.odd.Invalid.add(1, &cleaner{name: where}, nil, 0)
		}
		out = append(out, line[from:at]...)
		if r.invalid == "replace" {
			out = append(out, `\ufffd`...)
		}
		at += 6
		from = at
	}
	if from == 0 {
		return line, nil
	}
	return append(out, line[from:]...), nil
}

// surrogate decodes \uD800 to \uDFFF at the start of text.
func surrogate(text []byte) (unit int, is bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || text[2]|0x20 != 'd' {
		return 0, false
	}
	for _, c := range text[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || digit < 0 {
			return 0, false
		}
		unit = unit<<4 | digit
	}
	return unit, unit >= 0xD800
}

// fieldPath splits data.field.
func fieldPath(cfg data.Config) []string { return strings.Split(cfg.Field, ".") }
