package corpus

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"prenorm/data"
)

const (
	lines   = "{\"text\": \"one\", \"id\": 1}\r\n\n{\"text\": null}\n{\"text\": \"\"}\n{\"meta\": {\"text\": \"no\"}, \"text\": \"two\\n\\u00e9\\ud83d\\ude00\"}"
	rows    = "id,text\r\n1,one\r\n\r\n2,\"two, \"\"quoted\"\"\r\nline\"\r\n3,\n4,four"
	tabbed  = "text\tid\none, two\t1\n\"a\tb\"\t2\n"
	rowsAre = "[%[1]s:2|one][%[1]s:4|two, \"quoted\"\r\nline][%[1]s:7|four]"
)

// samples are files of every format and the documents that they hold; %[1]s stands for the file.
func samples(t testing.TB) map[string][2]string {
	parquet := "[%[1]s row 1|first text][%[1]s row 4|dritte Zeile\nmit é und 日本][%[1]s row 5|same][%[1]s row 6|same][%[1]s row 7|same][%[1]s row 8|last\x00\r\n]"
	found := map[string][2]string{
		"a.txt": {"one\r\ntwo", "[%[1]s|one\r\ntwo]"}, "a.md": {"# a", "[%[1]s|# a]"}, "A.TXT": {"x", "[%[1]s|x]"},
		"a.jsonl": {lines, "[%[1]s:1|one][%[1]s:5|two\né😀]"}, "a.ndjson": {lines, "[%[1]s:1|one][%[1]s:5|two\né😀]"},
		"a.csv": {rows, rowsAre}, "a.tsv": {tabbed, "[%[1]s:2|one, two][%[1]s:3|a\tb]"},
	}
	for _, name := range []string{"snappy", "zstd", "gzip", "none"} {
		found[name+".parquet"] = [2]string{fixture(t, name+".parquet"), parquet}
	}
	return found
}

// TestFormats reads every format by itself, packed, in archives, packed in archives, and from standard input.
func TestFormats(t *testing.T) {
	files, want := map[string]string{}, map[string]string{}
	for name, sample := range samples(t) {
		text, documents := sample[0], sample[1]
		inner := archive(t, "d/", "", "d/"+name, text, "d/skip.bin", "\xFF", ".hid/"+name, "\xFF", "d/.x.txt", "\xFF", "z.txt", "end")
		for file, content := range map[string]string{
			name: text, name + ".gz": gz(t, text), name + ".zst": zst(t, text),
			name + ".tar": inner, name + ".tgz": gz(t, inner), name + ".tar.gz": gz(t, inner), name + ".tar.zst": zst(t, inner),
		} {
			files[file] = content
			want[file] = fmt.Sprintf(documents, file)
			if strings.Contains(file[len(name):], "t") && file[len(name):] != ".zst" {
				want[file] = fmt.Sprintf(documents, file+":d/"+name) + "[" + file + ":z.txt|end]"
			}
		}
		packed := name + "-packed.tar"
		files[packed] = archive(t, name+".gz", gz(t, text), name+".zst", zst(t, text))
		want[packed] = fmt.Sprintf(documents, packed+":"+name+".gz") + fmt.Sprintf(documents, packed+":"+name+".zst")
	}
	tree(t, files)
	for file := range files {
		cfg := config(file)
		if got, err := all(cfg, nil); err != nil || got != want[file] {
			t.Errorf("%s: got %q, %v, want %q", file, got, err, want[file])
		}
		cfg = config("-")
		cfg.Format = strings.ToLower(strings.Join(strings.Split(file, ".")[1:], "."))
		if strings.Contains(file, "tar") || strings.Contains(file, "tgz") {
			cfg.Format = strings.Join(strings.Split(file, ".")[2:], ".")
		}
		if strings.Contains(file, "tgz") {
			cfg.Format = "tar.gz"
		}
		if strings.Contains(file, "packed") {
			cfg.Format = "tar"
		}
		cfg.Format = strings.NewReplacer("ndjson", "jsonl", "md", "txt").Replace(cfg.Format)
		for _, stretch := range []int{1 << 20, 1 << 4} { // held, or kept on disk
			small(t, stretch, 1<<20)
			got, err := all(cfg, strings.NewReader(files[file]))
			if expected := strings.ReplaceAll(want[file], file, "<stdin>"); err != nil || got != expected {
				t.Errorf("%s as standard input: got %q, %v, want %q", file, got, err, expected)
			}
		}
	}
}

// TestFolder wants a folder to stand for the files of every format, and for the documents of all.
func TestFolder(t *testing.T) {
	tree(t, map[string]string{"d/a.jsonl": lines, "d/b/c.csv.gz": gz(t, rows), "d/d.go": "no", "d/e.tar": archive(t, "x.txt", "x"), "d/f.gz": "no", "d/.g.csv": "no", "d/h.txt": "h"})
	got, err := all(config("d"), nil)
	if want := "[d/a.jsonl:1|one][d/a.jsonl:5|two\né😀]" + fmt.Sprintf(rowsAre, "d/b/c.csv.gz") + "[d/e.tar:x.txt|x][d/h.txt|h]"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestFields names where the text is.
func TestFields(t *testing.T) {
	tree(t, map[string]string{
		"a.jsonl": `{"a": {"b": {"c": "deep"}}, "a.b": "flat", "text": "t"}`, "a.csv": "x,a.b\n1,flat\n", "a.parquet": fixture(t, "snappy.parquet"),
		"other": lines, "other.gz": gz(t, lines),
	})
	for _, test := range []struct{ file, field, format, want string }{
		{"a.jsonl", "a.b.c", "txt", "[a.jsonl:1|deep]"},
		{"a.csv", "a.b", "txt", "[a.csv:2|flat]"},
		{"a.parquet", "meta.inner.body", "txt", "[a.parquet row 1|first text]"},
		{"a.parquet", "meta.url", "txt", "[a.parquet row 1|u0][a.parquet row 2|u1]"},
		{"a.parquet", "a.b", "txt", "[a.parquet row 1|FIRST TEXT][a.parquet row 4|DRITTE"},
		{"other", "id", "txt", "[other|" + lines},
		{"other", "text", "jsonl", "[other:1|one]"},
		{"other.gz", "text", "jsonl", "[other.gz:1|one]"},
		{"other.gz", "text", "txt", "[other.gz|" + lines},
	} {
		cfg := config(test.file)
		cfg.Field, cfg.Format = test.field, test.format
		if got, err := all(cfg, nil); err != nil || !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

// TestFormatErrors wants each error to name the place, what is wrong, the rule and a remedy.
func TestFormatErrors(t *testing.T) {
	small(t, 1<<20, 1<<20)
	long := strings.Repeat("x", 1<<20)
	parquet := fixture(t, "snappy.parquet")
	for _, test := range []struct {
		file, text, field string
		want              []string
	}{
		{"a.jsonl", "{\"text\": \"a\"}\n{\"body\": 1, \"id\": 2}", "text", []string{"a.jsonl:2: ", "no field text", "body, id", "--set data.field=NAME"}},
		{"a.jsonl", "{\"text\": 5}", "text", []string{"a.jsonl:1: ", "field text is no text but 5", "--set data.field=NAME"}},
		{"a.jsonl", "{\"text\": {\"body\": 1, \"n\": 2}}", "text.bod", []string{"a.jsonl:1: ", "no field text.bod", "(there are: text.body, text.n)"}},
		{"a.jsonl", "{\"text\": {}}", "text.body", []string{"a.jsonl:1: ", "no field text.body"}},
		{"a.jsonl", "{\"text\": []}", "text.body", []string{"a.jsonl:1: ", "field text is no object but []"}},
		{"a.jsonl", "{\"text\": \"a\"}\n\n[1]\n", "text", []string{"a.jsonl:3: ", "no JSON object but [1]"}},
		{"a.jsonl", "{\"text\": \"a}\n", "text", []string{"a.jsonl:1: ", "is not JSON", "byte 12"}},
		{"a.jsonl", "{\"text\": \"a\xFF\"}\n", "text", []string{"a.jsonl:1: ", "the bytes ff 22 7d at offset 11", "--set data.invalid_utf8=replace"}},
		{"a.jsonl", "{\"text\": \"\\\\\\ud83d!\"}\n", "text", []string{"a.jsonl:1: ", `\ud83d at byte 12`, "half a character", "--set data.invalid_utf8=replace"}},
		{"a.jsonl", "{\"text\": \"" + long + "\"}\n", "text", []string{"a.jsonl:1: ", "the line takes more than 1 MiB", "the most that is held in memory"}},
		{"a.jsonl.gz", gz(t, "\n"+strings.Repeat(" ", 9<<20)), "text", []string{"a.jsonl.gz:2: ", "more than 1 MiB"}},
		{"a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"a\", \"id\": 1, \"te\\u0078t\": \"a\"}", "text", []string{"a.jsonl:2: ", "the key text stands 2 times in its object", "leave one of them", "--set data.field=NAME"}},
		{"a.jsonl", "{\"text\": null, \"text\": \"a\"}", "text", []string{"a.jsonl:1: ", "the key text stands 2 times"}},
		{"a.jsonl", "{\"m\": {\"text\": \"a\"}, \"m\": {\"text\": \"b\"}, \"m\": 1}", "m.text", []string{"a.jsonl:1: ", "the key m stands 3 times"}},
		{"a.jsonl", "{\"m\": {\"text\": \"a\", \"text\": 5}}", "m.text", []string{"a.jsonl:1: ", "the key m.text stands 2 times"}},
		{"a.jsonl", "null", "text", []string{"a.jsonl:1: ", "no JSON object but null"}},
		{"a.csv", "text,id,text\na,1,b\n", "text", []string{"a.csv:1: ", "the header names more than one column text", "leave one of them or give it another name", "--set data.field=NAME"}},
		{"a.tsv", "id\ttext\ttext\n", "text", []string{"a.tsv:1: ", "more than one column text"}},
		{"a.csv", "id,body\n1,x\n", "text", []string{"a.csv:1: ", "no field text", "id, body", "--set data.field=NAME"}},
		{"a.csv", "id;body;lang\n1;x;en\n", "body", []string{"a.csv:1: there is no field body (there are: id;body;lang)", "; fields are divided by commas, and this file seems to use ';': write the file anew with commas"}},
		{"a.csv", "\"id\";\"body\"\n1;x\n", "body", []string{"a.csv:1: ", "fields are divided by commas, and this file seems to use ';'"}},
		{"a.csv", "id\tbody\n1\tx\n", "body", []string{"a.csv:1: ", "fields are divided by commas, and this file seems to use '\\t': name it .tsv"}},
		{"a.tsv", "id,body\n1,x\n", "body", []string{"a.tsv:1: ", "fields are divided by tabs, and this file seems to use ',': name it .csv"}},
		{"a.tsv", "id;body\n1;x\n", "body", []string{"a.tsv:1: ", "fields are divided by tabs, and this file seems to use ';': write the file anew with tabs"}},
		{"a.csv", "id,text\n1,x\n2\n", "text", []string{"a.csv:3: ", "1 columns, the header has 2"}},
		{"a.csv", "id,text\n\"1\n2\",x\n3,a\"b\n", "text", []string{"a.csv:4: ", "a quote stands inside a field"}},
		{"a.csv", "id,text\n1,\"a\"b\n", "text", []string{"a.csv:2: ", "'b' follows the quote"}},
		{"a.csv", "id,text\n1,\"a\n\nb", "text", []string{"a.csv:2: ", "never closed"}},
		{"a.csv", "id,text\n1,\"" + long, "text", []string{"a.csv:2: ", "the row takes more than 1 MiB"}},
		{"a.csv", "id,text\n1," + strings.Repeat(",", 100_000), "text", []string{"a.csv:2: ", "the row takes more than 1 MiB"}},
		{"a.csv", "id,text\n1,a\xFFb\n", "text", []string{"a.csv:2: ", "the bytes ff 62 at offset 1", "data.invalid_utf8"}},
		{"a.parquet", parquet, "body", []string{"a.parquet: ", "no field body", "id, text, meta, a.b, tags", "--set data.field=NAME"}},
		{"a.parquet", parquet, "id", []string{"a.parquet: ", "column id holds values of type INT"}},
		{"a.parquet", parquet, "meta", []string{"a.parquet: ", "column meta holds columns of its own"}},
		{"a.parquet", parquet, "tags", []string{"a.parquet: ", "column tags holds lists of texts and not one text a row"}},
		{"a.parquet", parquet, "meta.x", []string{"a.parquet: ", "no field meta.x", "(there are: meta.url, meta.inner)"}},
		{"a.parquet", parquet, "tags.list.element", []string{"a.parquet: ", "holds lists"}},
		{"a.parquet", "PAR1", "text", []string{"a.parquet: ", "has 4 bytes and no end mark"}},
		{"a.parquet", parquet[:1500], "text", []string{"a.parquet: ", "damaged or no Parquet file"}},
		{"a.parquet", parquet[:len(parquet)-8] + "\xFF\xFF\xFF\xFFPAR1", "text", []string{"a.parquet: ", "said to have 4294967295 bytes"}},
		{"a.parquet", sayingRows(t, parquet, 9), "text", []string{"a.parquet: after row ", "of rows is said to have 9, and the column of texts has ", "damaged"}},
		{"binary.parquet", fixture(t, "binary.parquet"), "text", []string{"binary.parquet row 2: ", "the bytes ed a0 80 79 at offset 1"}},
		{"a.tgz", flipped(gz(t, archive(t, "b.txt", "text")), 8), "text", []string{"a.tgz: ", "cannot be unpacked", "checksum", "fetch or pack it again"}},
		{"a.tar.zst", flipped(zst(t, archive(t, "b.txt", "text")), 4), "text", []string{"a.tar.zst: ", "cannot be unpacked", "CRC", "fetch or pack it again"}},
		{"a.gz", gz(t, "text") + "and more text", "text", []string{"a.gz: ", "something that is no gzip data follows", "cut it off"}},
		{"a.zst", zst(t, "text") + "and more", "text", []string{"a.zst: ", "something that is no zstd data follows", "cut it off"}},
		{"a.gz", gz(t, "text")[:15], "text", []string{"a.gz: ", "ends too early", "fetch or pack it again"}},
		{"a.gz", "text, not packed", "text", []string{"a.gz: ", "cannot be unpacked", "no gzip file"}},
		{"a.zst", zst(t, "text")[:9], "text", []string{"a.zst: ", "ends too early"}},
		{"a.zst", zst(t, strings.Repeat(long, 3), zstd.WithWindowSize(256<<20)), "text", []string{"a.zst: ", "window of more than 128 MiB"}},
		{"a.tar", archive(t, "b.txt", "text")[:700], "text", []string{"a.tar: ", "after b.txt", "cut off"}},
		{"a.tar", archive(t, "b.txt", "text")[:514], "text", []string{"a.tar: ", "at or after b.txt", "cut off"}},
		{"a.tar", "no archive at all" + strings.Repeat(".", 600), "text", []string{"a.tar: at its start: ", "no tar archive"}},
		{"a.tar", archive(t, "b.bin", "text"), "text", []string{"a.tar: ", "holds no .txt or .md file", "name another text"}},
		{"a.tar", archive(t, "b.tgz", "text"), "text", []string{"a.tar:b.tgz: ", "archive inside an archive"}},
		{"a.tar", archive(t, "b.jsonl", "{\"text\": \"a\"}\nx"), "text", []string{"a.tar:b.jsonl:2: ", "is not JSON"}},
		{"a.tar", archive(t, "b.txt", "a\nb\n\xFF"), "text", []string{"a.tar:b.txt:3: ", "offset 4"}},
		{"a.txt", "\x00\x00\xFE\xFFx", "text", []string{"a.txt: ", "UTF-32"}},
	} {
		tree(t, map[string]string{test.file: test.text})
		cfg := config(test.file)
		cfg.Field = test.field
		_, err := all(cfg, nil)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %.30q: error %v, want it to say %q", test.file, test.text, err, want)
			}
		}
	}
	cfg := config("-")
	cfg.Format, cfg.Field = "csv", "body"
	refused(t, cfg, "id\tbody\n1\tx\n", "this file seems to use '\\t': set data.format to tsv (--set data.format=tsv)")
}

// flipped is a file with another byte so far from its end.
func flipped(file string, fromEnd int) string {
	b := []byte(file)
	b[len(b)-fromEnd] ^= 1
	return string(b)
}

// TestRowsAreDocuments divides one file of many rows by hash, and a file of few at the end.
func TestRowsAreDocuments(t *testing.T) {
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "{\"text\": \"document %d\"}\n", i)
	}
	tree(t, map[string]string{"many.jsonl": many.String(), "few.jsonl": "{\"text\": \"0123456789\"}\n{\"text\": \"abcdefghij\"}\n"})
	c, err := Open(config("many.jsonl"), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	train, val, err := c.Scan(nil)
	if err != nil || train.Documents+val.Documents != 300 || val.Documents < 15 || val.Documents > 50 || c.Note() != "" {
		t.Errorf("%d and %d documents, %v, %q", train.Documents, val.Documents, err, c.Note())
	}
	for _, fraction := range []float64{0.25, 0.5, 0.75} {
		cfg := config("few.jsonl")
		cfg.Val = data.Val{Fraction: fraction, By: "end"}
		if c, err = Open(cfg, nil, ""); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Scan(nil); err != nil {
			t.Fatal(err)
		}
		got := texts(collect(t, c, Train)) + " / " + texts(collect(t, c, Val))
		if want := map[float64]string{0.25: "0123456789|abcde / fghij", 0.5: "0123456789 / abcdefghij", 0.75: "01234 / 56789|abcdefghij"}[fraction]; got != want {
			t.Errorf("fraction %v: %s, want %s", fraction, got, want)
		}
	}
}

// sayingRows is a Parquet file whose description gives the first group of rows another number of them.
func sayingRows(t *testing.T, file string, rows int64) string {
	t.Helper()
	end := len(file) - 8
	footer := end - int(binary.LittleEndian.Uint32([]byte(file[end:])))
	var m format.FileMetaData
	var protocol thrift.CompactProtocol
	if err := thrift.Unmarshal(&protocol, []byte(file[footer:end]), &m); err != nil {
		t.Fatal(err)
	}
	m.NumRows += rows - m.RowGroups[0].NumRows
	m.RowGroups[0].NumRows = rows
	said, err := thrift.Marshal(&protocol, m)
	if err != nil {
		t.Fatal(err)
	}
	return file[:footer] + string(binary.LittleEndian.AppendUint32(said, uint32(len(said)))) + "PAR1"
}
