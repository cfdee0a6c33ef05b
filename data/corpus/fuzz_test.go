package corpus

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"prenorm/data"
)

// read reads a file of some format from memory, and fails where a document is not what documents are.
func read(t *testing.T, name string, content []byte) (documents []string, err error) {
	format, _ := data.FormatOf(name)
	f := File{Name: name, Size: int64(len(content)), Format: format, text: content}
	r := reading{policy: policy{invalid: "replace", nul: "keep"}, field: []string{"text"}, stop: func() error { return nil }, count: func(int) {}}
	err = r.file(f, func(d chunk) error {
		if !utf8.Valid(d.text) || len(d.text) == 0 && !d.continues {
			t.Fatalf("%s: document %q", d.name, d.text)
		}
		documents = append(documents, string(d.text))
		return nil
	})
	if err != nil && !strings.HasPrefix(err.Error(), name) {
		t.Fatalf("the message names no file: %v", err)
	}
	return documents, err
}

// FuzzFormats reads anything as every format: it is documents or an error, never a panic.
func FuzzFormats(f *testing.F) {
	small(f, 1<<12, 1<<16)
	for name, sample := range samples(f) {
		for _, packing := range []string{"", ".gz", ".zst", ".tar", ".tgz"} {
			text := sample[0]
			switch packing {
			case ".gz":
				text = gz(f, text)
			case ".zst":
				text = zst(f, text)
			case ".tar":
				text = archive(f, name, text)
			case ".tgz":
				text = gz(f, archive(f, name, text))
			}
			f.Add(name+packing, []byte(text))
		}
	}
	for _, text := range []string{"", "{", "{}", "\"", "text\n\"", "PAR1PAR1", "\xFF\xFE", "\xFF\xFE\x00\xD8", "{\"text\":\"\\ud8"} {
		for _, name := range []string{"a.jsonl", "a.csv", "a.parquet", "a.tar", "a.txt.zst"} {
			f.Add(name, []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if _, known := data.FormatOf(name); known && len(content) < 1<<16 {
			read(t, name, content)
		}
	})
}

// TestDamagedParquet flips every bit of a file and cuts it everywhere: an error or documents.
func TestDamagedParquet(t *testing.T) {
	good := []byte(fixture(t, "snappy.parquet"))
	panics := 0
	for i := range len(good) {
		for _, bit := range []byte{1, 64, 128, 255} {
			bad := bytes.Clone(good)
			bad[i] ^= bit
			if _, err := read(t, "a.parquet", bad); err != nil && strings.Contains(err.Error(), "runtime error") {
				panics++
			}
		}
		if _, err := read(t, "a.parquet", good[:i]); err == nil {
			t.Errorf("cut to %d of %d bytes it is read", i, len(good))
		}
	}
	t.Logf("the library panicked %d times", panics)
}

// TestRefusedCodec wants LZ4 to be refused by name: the library reads it wrongly.
func TestRefusedCodec(t *testing.T) {
	if _, err := read(t, "a.parquet", []byte(fixture(t, "lz4.parquet"))); err == nil || !strings.Contains(err.Error(), "column text is compressed by LZ4_RAW, which is not read: write it with zstd") {
		t.Error(err)
	}
}

// FuzzTable holds tables to what encoding/csv reads, which turns CR LF into LF everywhere and is otherwise of the same mind.
func FuzzTable(f *testing.F) {
	f.Add("text,b\n\"a\"\"\r\n,\",2\n\n3,4")
	f.Add("b,text\r\n\"\",\r\n\r\n")
	f.Add("text\n\"a\"\r")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r") && strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") || !utf8.ValidString(text) || strings.HasPrefix(text, "\uFEFF") {
			return
		}
		documents, err := read(t, "a.csv", []byte(text))
		in := csv.NewReader(strings.NewReader(text))
		var want []string
		column := -1
		for {
			row, failed := in.Read()
			if failed == io.EOF {
				break
			}
			if column < 0 && failed == nil {
				named := 0
				for i, name := range row {
					if name == "text" {
						column = i
						named++
					}
				}
				if named != 1 {
					if err == nil {
						t.Fatalf("%q is read, of whose columns %d are the text", text, named)
					}
					return
				}
				continue
			}
			var parse *csv.ParseError
			if errors.As(failed, &parse) {
				if err == nil {
					t.Fatalf("%q is read, and encoding/csv says %v", text, failed)
				}
				return
			}
			if row[column] != "" {
				want = append(want, row[column])
			}
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := strings.ReplaceAll(strings.Join(documents, "|"), "\r\n", "\n"); got != strings.Join(want, "|") {
			t.Fatalf("%q: got %q, want %q", text, documents, want)
		}
	})
}
