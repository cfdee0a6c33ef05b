package corpus

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestTextsHoldNoMore wants the memory of texts, which live on while others are read, to be about their size: of thousands of small files, packed
// and in archives too, and of stretches.
func TestTextsHoldNoMore(t *testing.T) {
	files := map[string]string{}
	var members []string
	for i := range 1000 {
		text := strings.Repeat(fmt.Sprint("text ", i, " "), 1+i%9)
		files[fmt.Sprintf("d/a%d.txt", i)], files[fmt.Sprintf("d/b%d.txt.gz", i)] = text, gz(t, text)
		members = append(members, fmt.Sprintf("c%d.txt", i), text, fmt.Sprintf("d%d.txt.zst", i), zst(t, text))
	}
	long := strings.Repeat("a line of text\n", 400_000)
	files["d/e.tgz"], files["d/f.txt"], files["d/g.txt.zst"] = gz(t, archive(t, members...)), long, zst(t, long)
	tree(t, files)
	c, err := Open(config("d"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	documents, bytes, held := 0, 0, 0
	for i := range c.Files(Train) {
		err := c.pass(int(Train), i, func(d chunk) error { // what a Document shows of its text ends where the text does
			if documents++; len(d.text) < 1000 {
				bytes, held = bytes+len(d.text), held+cap(d.text)
			} else if cap(d.text) > len(d.text)*5/4+1<<14 {
				t.Errorf("%s: %d bytes hold %d", d.name, len(d.text), cap(d.text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if documents < 4000 || held > 2*bytes {
		t.Errorf("%d documents, whose %d bytes hold %d", documents, bytes, held)
	}
}

// TestTextsComeWhole wants a text of less than the limit in one stretch, though it has more bytes than its file.
func TestTextsComeWhole(t *testing.T) {
	small(t, 1<<20, 1<<20)
	text := strings.Repeat("日本語", 50_000) // 9 bytes, of which UTF-16 has 6
	var wide bytes.Buffer
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
		wide.Write([]byte{byte(u), byte(u >> 8)})
	}
	tree(t, map[string]string{"wide.txt": wide.String(), "odd.txt": strings.Repeat("a\xFF", 200_000), "plain.txt": text})
	for _, name := range []string{"wide.txt", "odd.txt", "plain.txt"} {
		cfg := config(name)
		cfg.Invalid = "replace"
		got, err := all(cfg, nil)
		if want := map[bool]string{false: text, true: strings.Repeat("a\uFFFD", 200_000)}[name == "odd.txt"]; err != nil || got != "["+name+"|"+want+"]" {
			t.Errorf("%s: %d bytes, %v, want one document of %d", name, len(got), err, len(want))
		}
	}
}

// TestSmallTextsAreCheap wants the memory that reading a small file takes for a while to be of its size, in a folder and in an archive.
func TestSmallTextsAreCheap(t *testing.T) {
	files := map[string]string{}
	var members []string
	for i := range 500 {
		for kind, text := range map[string]string{"txt": "a text", "jsonl": `{"text": "a text"}`, "csv": "text\na text\n"} {
			files[fmt.Sprintf("d/%d.%s", i, kind)] = text
			members = append(members, fmt.Sprintf("%d.%s", i, kind), text)
		}
	}
	files["d/a.tar"] = archive(t, members...)
	tree(t, files)
	c, err := Open(config("d"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	documents := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range c.Documents(Train) {
		if documents++; err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 3000; documents < 2000 || each > 8<<10 {
		t.Errorf("%d documents of a few bytes, each of which takes %d bytes", documents, each)
	}
}
