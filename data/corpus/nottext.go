package corpus

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"prenorm/data"
)

// signature is how files of a kind that is no text begin.
type signature struct {
	start, kind string
	packing     string // the extension of a compression that is read
	program     string // that unpacks a compression that is not read
	advice      string // for other kinds
}

const unzip = "unpack it and name the folder"

var signatures = []signature{
	{start: "\x1F\x8B", kind: "gzip", packing: "gz", program: "gzip"},
	{start: "\x28\xB5\x2F\xFD", kind: "zstd", packing: "zst", program: "zstd"},
	{start: "\xFD7zXZ\x00", kind: "xz", program: "xz"},
	{start: "BZh", kind: "bzip2", program: "bzip2"},
	{start: "\x04\x22\x4D\x18", kind: "lz4", program: "lz4"},
	{start: "PAR1", kind: "Parquet"},
	{start: "PK\x03\x04", kind: "a zip archive", advice: unzip},
	{start: "7z\xBC\xAF\x27\x1C", kind: "a 7z archive", advice: unzip},
	{start: "Rar!\x1A\x07", kind: "a rar archive", advice: unzip},
	{start: "%PDF-", kind: "PDF", advice: "take its text out with pdftotext"},
	{start: "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", kind: "a document of an office program", advice: "save it as plain text there"},
}

// office are names of members by which a zip archive is a document.
var office = []string{"[Content_Types].xml", "mimetypeapplication/vnd.oasis", "mimetypeapplication/epub"}

// otherKind says of a text that is none what it is instead and what to do, "" where its beginning, head, is not known.
func otherKind(name string, head []byte) string {
	for _, s := range signatures {
		if !bytes.HasPrefix(head, []byte(s.start)) {
			continue
		}
		if s.advice == unzip {
			for _, member := range office {
				if bytes.Contains(head[:min(len(head), 128)], []byte(member)) {
					s.kind, s.advice = "a document of an office program", "take its text out with pandoc -t plain"
				}
			}
		}
		return fmt.Sprintf("this is %s and no text: %s", s.kind, s.remedy(name))
	}
	return ""
}

// remedy is how a file of the kind becomes one that is read. The name of a file tells its format before data.format does, which is for standard
// input.
func (s signature) remedy(name string) string {
	stdin := name == "<stdin>"
	plain := name // with the extension of what is inside
	if _, known := data.FormatOf(name); !known {
		plain += ".txt"
	}
	switch {
	case s.advice != "":
		return s.advice
	case stdin && s.packing != "":
		return fmt.Sprintf("unpack it first (%s -dc), or set data.format to txt.%[2]s (--set data.format=txt.%[2]s)", s.program, s.packing)
	case stdin && s.program != "":
		return fmt.Sprintf("unpack it first (%s -dc)", s.program)
	case stdin:
		return "give it as a file NAME.parquet, or set data.format to parquet (--set data.format=parquet)"
	case s.packing != "":
		return fmt.Sprintf("name it %s.%s", plain, s.packing)
	case s.program != "":
		return fmt.Sprintf("pack it anew (%s -dc < %s | zstd > %s.zst)", s.program, name, plain)
	}
	return fmt.Sprintf("name it %s.parquet", strings.TrimSuffix(plain, ".txt"))
}

// likeUTF16 says in which order of bytes, LE or BE, a stretch of text that starts at byte offset of its file seems to be UTF-16, "" where it does
// not: most of every second byte is 0, and hardly any of the others.
func likeUTF16(text []byte, offset int64) (order string) {
	var zeros [2]int // at even and odd places
	for i, b := range text {
		if b == 0 {
			zeros[(offset+int64(i))%2]++
		}
	}
	half := len(text) / 2
	switch mostly, hardly := half/2, half/16; {
	case half < 4:
	case zeros[1] > mostly && zeros[0] <= hardly:
		return "LE"
	case zeros[0] > mostly && zeros[1] <= hardly:
		return "BE"
	}
	return ""
}

// otherEncoding says of text that is not UTF-8 which encoding of western Europe it may be in, "" where it seems to be none: few characters beyond
// ASCII, none of them UTF-8, and no control characters.
func otherEncoding(text []byte) string {
	high, windows := 0, false
	for at := 0; at < len(text); {
		b := text[at]
		_, n := utf8.DecodeRune(text[at:])
		at += n
		switch {
		case n > 1 || b < ' ' && !bytes.Contains([]byte("\t\n\f\r"), []byte{b}) || b == 0x7F:
			return ""
		case b >= utf8.RuneSelf:
			high++
			windows = windows || b < 0xA0
		}
	}
	switch {
	case 3*high > len(text):
		return ""
	case windows:
		return " (it may be Windows-1252, which iconv -f CP1252 -t UTF-8 converts)"
	}
	return " (it may be Latin-1, which iconv -f LATIN1 -t UTF-8 converts)"
}
