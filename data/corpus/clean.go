package corpus

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"prenorm/data"
)

// policy is what happens to text on its way from a file into a document.
type policy struct {
	invalid string // data.invalid_utf8
	nul     string // data.nul
	fold    bool   // data.newlines
	odd     *Odd   // counts what is odd in the texts; nil where nobody asks
}

func policyOf(cfg data.Config) policy {
	return policy{invalid: cfg.Invalid, nul: cfg.NUL, fold: cfg.Newlines == "fold"}
}

// replacement stands for bytes that are not UTF-8.
var replacement = []byte("\uFFFD")

// cleaner applies a policy to one text, which may come in stretches; where the stretches end does not matter.
type cleaner struct {
	policy
	name   string // of the text; of one with lines, the line is put behind it
	lines  bool
	line   int   // newlines before what comes next
	offset int64 // bytes before what comes next
	hint   string
	run    bool // the last byte was invalid, so that more of them are of the same run
}

// clean appends the text of raw to dst. It leaves up to three bytes at the end of raw, which more could complete, unless raw is the last
// stretch; used is how many bytes it took.
func (c *cleaner) clean(dst, raw []byte, last bool) (text []byte, used int, err error) {
	used = c.pass(raw)
	c.countNUL(raw[:used])
	text = append(dst, raw[:used]...)
	if used > 0 {
		c.run = false
	}
	if used < len(raw) {
		text, used, err = c.slow(text, raw, used, last)
	}
	if c.lines {
		c.line += bytes.Count(raw[:used], []byte("\n"))
	}
	c.offset += int64(used)
	return text, used, err
}

// pass returns the length of the beginning of raw that needs no change: all of it, or a part before the first byte that does.
func (c *cleaner) pass(raw []byte) int {
	end := len(raw)
	if c.nul != "keep" {
		if i := bytes.IndexByte(raw, 0); i >= 0 {
			end = i
		}
	}
	if c.fold {
		if i := bytes.IndexByte(raw[:end], '\r'); i >= 0 {
			end = i
		}
	}
	if !utf8.Valid(raw[:end]) {
		return firstInvalid(raw[:end])
	}
	return end
}

// countNUL counts the NUL characters of what needs no change.
func (c *cleaner) countNUL(raw []byte) {
	if c.odd == nil || c.nul != "keep" {
		return
	}
	if n := bytes.Count(raw, []byte{0}); n > 0 {
		c.odd.NUL.add(n, c, raw, bytes.IndexByte(raw, 0))
	}
}

// slow goes on with raw at byte at, character by character.
func (c *cleaner) slow(dst, raw []byte, at int, last bool) (text []byte, used int, err error) {
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		switch {
		case r == utf8.RuneError && n == 1:
			if !last && !utf8.FullRune(raw[at:]) {
				return dst, at, nil
			}
			if c.invalid == "fail" {
				return dst, at, c.notUTF8(raw, at)
			}
			if c.invalid == "replace" && !c.run {
				dst = append(dst, replacement...)
			}
			if c.odd != nil && !c.run {
				c.odd.Invalid.add(1, c, raw, at)
			}
			c.run = true
			at++
			continue
		case r == 0 && c.nul == "fail":
			return dst, at, c.nulByte(raw, at)
		case r == 0:
			if c.odd != nil {
				c.odd.NUL.add(1, c, raw, at)
			}
			if c.nul == "keep" {
				dst = append(dst, 0)
			}
		case r == '\r' && c.fold && at+1 == len(raw) && !last:
			return dst, at, nil
		case r == '\r' && c.fold && at+1 < len(raw) && raw[at+1] == '\n':
		default:
			dst = append(dst, raw[at:at+n]...)
		}
		c.run = false
		at += n
	}
	return dst, at, nil
}

// where names the place of byte at of raw.
func (c *cleaner) where(raw []byte, at int) string {
	if !c.lines {
		return c.name
	}
	return fmt.Sprintf("%s:%d", c.name, 1+c.line+bytes.Count(raw[:at], []byte("\n")))
}

func (c *cleaner) notUTF8(raw []byte, at int) error {
	if err := c.notText(raw); err != nil {
		return err
	}
	encoding := ""
	if c.hint == "" {
		if order := likeUTF16(raw, c.offset); order != "" && c.lines { // elsewhere the place in the file is not known
			return fmt.Errorf("%s: the bytes % x at offset %d are not UTF-8: this looks like UTF-16 without a byte order mark: convert the file to UTF-8 (iconv -f UTF-16%s -t UTF-8)",
				c.where(raw, at), raw[at:min(at+4, len(raw))], c.offset+int64(at), order)
		}
		encoding = otherEncoding(raw)
	}
	return fmt.Errorf("%s: the bytes % x at offset %d are not UTF-8%s: convert the file%s, or set data.invalid_utf8 to replace (--set data.invalid_utf8=replace) to read such bytes as U+FFFD",
		c.where(raw, at), raw[at:min(at+4, len(raw))], c.offset+int64(at), c.hint, encoding)
}

// notText is the error of a file that is of another kind by its beginning, nil where raw does not begin one, or one of no known kind.
func (c *cleaner) notText(raw []byte) error {
	if !c.lines || c.offset > 0 {
		return nil
	}
	if kind := otherKind(c.name, raw); kind != "" {
		return fmt.Errorf("%s: %s", c.name, kind)
	}
	return nil
}

func (c *cleaner) nulByte(raw []byte, at int) error {
	if err := c.notText(raw); err != nil {
		return err
	}
	return fmt.Errorf("%s: there is a NUL byte at offset %d, as in a file that is no text, or one in UTF-16 without a byte order mark: leave the file out, or set data.nul to keep or drop (--set data.nul=drop)",
		c.where(raw, at), c.offset+int64(at))
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
