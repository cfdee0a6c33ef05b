package corpus

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestOtherKindsByTheirBytes names files of other kinds as text, and gives them as standard input: the message says what they are and what to do,
// and nothing of replacing bytes.
func TestOtherKindsByTheirBytes(t *testing.T) {
	binary := strings.Repeat("\x00\x01\xFE\xFF", 9)
	for _, test := range []struct{ text, file, stdin string }{
		{gz(t, "text"), "this is gzip and no text: name it a.txt.gz", "unpack it first (gzip -dc), or set data.format to txt.gz (--set data.format=txt.gz)"},
		{zst(t, "text"), "this is zstd and no text: name it a.txt.zst", "unpack it first (zstd -dc), or set data.format to txt.zst (--set data.format=txt.zst)"},
		{"\xFD7zXZ\x00" + binary, "this is xz and no text: pack it anew (xz -dc < a.txt | zstd > a.txt.zst)", "this is xz and no text: unpack it first (xz -dc)"},
		{"BZh91AY&SY" + binary, "this is bzip2 and no text: pack it anew (bzip2 -dc", "unpack it first (bzip2 -dc)"},
		{"\x04\x22\x4D\x18" + binary, "this is lz4 and no text: pack it anew (lz4 -dc", "unpack it first (lz4 -dc)"},
		{fixture(t, "snappy.parquet"), "this is Parquet and no text: name it a.parquet", "set data.format to parquet (--set data.format=parquet)"},
		{"PK\x03\x04\x14\x00\x00\x00a.txt" + binary, "this is a zip archive and no text: unpack it and name the folder", "unpack it and name the folder"},
		{"PK\x03\x04\x14\x00\x06\x00[Content_Types].xml" + binary, "this is a document of an office program and no text: take its text out with pandoc -t plain", "pandoc"},
		{"7z\xBC\xAF\x27\x1C" + binary, "this is a 7z archive and no text: unpack", "this is a 7z archive"},
		{"Rar!\x1A\x07\x01\x00" + binary, "this is a rar archive and no text: unpack", "this is a rar archive"},
		{"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n" + binary, "this is PDF and no text: take its text out with pdftotext", "this is PDF"},
		{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + binary, "this is a document of an office program and no text: save it as plain text there", "save it as plain text"},
	} {
		tree(t, map[string]string{"a.txt": test.text, "a": test.text})
		for name, want := range map[string]string{"a.txt": test.file, "-": test.stdin} {
			_, err := all(config(name), strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "invalid_utf8") || strings.Contains(err.Error(), "data.nul") {
				t.Errorf("%s, %.12q: error %v, want it to say %q", name, test.text, err, want)
			}
		}
	}
	tree(t, map[string]string{"a": gz(t, "text")})
	refused(t, config("a"), "", "a: this is gzip and no text: name it a.txt.gz")
}

// TestUnmarkedUTF16 has UTF-16 without a byte order mark, in both orders of bytes, and text with as many NUL characters elsewhere.
func TestUnmarkedUTF16(t *testing.T) {
	var little, big []byte
	for _, unit := range utf16.Encode([]rune("Ein Café mit Größe, das ÿ hat.\nUnd noch eine Zeile.\n")) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
	}
	tree(t, map[string]string{"le.txt": string(little), "be.txt": string(big)})
	const is = "are not UTF-8: this looks like UTF-16 without a byte order mark: convert the file to UTF-8 (iconv -f UTF-16"
	refused(t, config("le.txt"), "", "le.txt:1: the bytes e9 00 20 00 at offset 14 "+is+"LE -t UTF-8)")
	refused(t, config("be.txt"), "", "be.txt:1: the bytes e9 00 20 00 at offset 15 "+is+"BE -t UTF-8)")
	long := "\x00" + strings.Repeat("a\x00", blockSize/2-1) + "\xE9" + strings.Repeat("\x00a", 100) // its block starts at the odd byte E9
	tree(t, map[string]string{"long.txt": long, "short.txt": "\xE9\x00", "none.txt": strings.Repeat("\x00\x00\x00a\xE9\x00", 9)})
	refused(t, config("long.txt"), "", fmt.Sprintf("the bytes e9 00 61 00 at offset %d %sBE -t UTF-8)", blockSize-1, is))
	refused(t, config("short.txt"), "", "are not UTF-8: convert the file, or set")
	refused(t, config("none.txt"), "", "are not UTF-8: convert the file, or set")
}

// TestOtherEncodings has text of other encodings, of which those of western Europe are named.
func TestOtherEncodings(t *testing.T) {
	for text, want := range map[string]string{
		"caf\xE9 au lait\r\n":                   "convert the file (it may be Latin-1, which iconv -f LATIN1 -t UTF-8 converts), or set data.invalid_utf8",
		"it\x92s \x93quoted\x94, caf\xE9":       "convert the file (it may be Windows-1252, which iconv -f CP1252 -t UTF-8 converts), or set",
		"\xF0\xD2\xC9\xD7\xC5\xD4 \xCD\xC9\xD2": "convert the file, or set", // KOI8-R
		"caf\xE9 and café, all in one text":     "convert the file, or set",
		"caf\xE9 with a control character \x01": "convert the file, or set",
	} {
		row := fmt.Sprintf("text\tid\n%s\t1\n", strings.TrimSpace(text))
		tree(t, map[string]string{"a.txt": text, "a.tsv": row})
		for _, name := range []string{"a.txt", "a.tsv"} {
			refused(t, config(name), "", "are not UTF-8: "+want)
		}
	}
}
