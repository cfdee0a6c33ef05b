package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestKinds(t *testing.T) {
	if want := []string{"bpe", "byte", "char", "cl100k", "gpt2", "o200k", "p50k"}; !slices.Equal(Kinds(), want) {
		t.Errorf("Kinds() = %v, want %v", Kinds(), want)
	}
	for name, tokenizer := range buildAll(t) {
		if kind, _, _ := strings.Cut(name, "-"); tokenizer.Kind() != kind {
			t.Errorf("%s: Kind() = %q", name, tokenizer.Kind())
		}
	}
}

func TestEveryKindRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, tokenizer := range buildAll(t) {
		kind := tokenizer.Kind()
		texts := []string{"", sample}
		for range 400 {
			texts = append(texts, randomText(r, kind != kindChar))
		}
		for _, text := range texts {
			ids, err := tokenizer.Encode([]int32{-7}, []byte(text))
			if err != nil {
				t.Fatalf("%s: Encode(%q): %v", name, text, err)
			}
			if ids[0] != -7 {
				t.Fatalf("%s: Encode lost what dst held", name)
			}
			single := []byte("kept")
			for _, id := range ids[1:] {
				if id < 0 || int(id) >= tokenizer.Vocab() || id == tokenizer.Separator() {
					t.Fatalf("%s: id %d, vocabulary %d, separator %d", name, id, tokenizer.Vocab(), tokenizer.Separator())
				}
				if single, err = tokenizer.Decode(single, id); err != nil {
					t.Fatal(err)
				}
			}
			whole, err := tokenizer.Decode([]byte("kept"), ids[1:]...)
			if err != nil || string(whole) != "kept"+text {
				t.Fatalf("%s: %q became %q (%v)", name, text, whole, err)
			}
			if !bytes.Equal(single, whole) {
				t.Fatalf("%s: one id at a time gives %q, all at once %q", name, single, whole)
			}
		}
	}
}

func TestEveryKindRefusesForeignIDs(t *testing.T) {
	for name, tokenizer := range buildAll(t) {
		for _, bad := range []int32{-1, int32(tokenizer.Vocab()), 1 << 30, -1 << 31} {
			dst, err := tokenizer.Decode([]byte("kept"), 0, bad)
			wantError(t, err, tokenizer.Kind(), "number 1", "outside the vocabulary")
			if string(dst) != "kept" {
				t.Errorf("%s: dst is %q after an error", name, dst)
			}
		}
		if _, err := tokenizer.Decode(nil, int32(tokenizer.Vocab()-1)); err != nil {
			t.Errorf("%s: the last id: %v", name, err)
		}
	}
}

func TestSeparators(t *testing.T) {
	want := map[string]int32{"byte": -1, "char-fail": -1, "char-unk": -1, "bpe": 299, "gpt2": 50256, "p50k": 50256, "cl100k": 100257, "o200k": 199999, "bytepairs": 288, "sentencepiece": 1}
	for name, tokenizer := range buildAll(t) {
		separator := tokenizer.Separator()
		if separator != want[name] {
			t.Errorf("%s: separator %d, want %d", name, separator, want[name])
		}
		if separator < 0 {
			continue
		}
		if text, err := tokenizer.Decode(nil, separator); err != nil || string(text) != "<|endoftext|>" {
			t.Errorf("%s: separator decodes to %q (%v)", name, text, err)
		}
		if ids := mustEncode(t, tokenizer, "<|endoftext|>"); len(ids) < 2 || slices.Contains(ids, separator) {
			t.Errorf("%s: the separator's text encodes to %d", name, ids)
		}
	}
}

func TestEveryFileReadsBack(t *testing.T) {
	again := buildAll(t)
	r := rand.New(rand.NewPCG(3, 4))
	for name, tokenizer := range buildAll(t) {
		file, err := tokenizer.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := again[name].Marshal(); !bytes.Equal(file, second) {
			t.Errorf("%s: built twice, two files", name)
		}
		read, err := Unmarshal(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if rewritten, _ := read.Marshal(); !bytes.Equal(file, rewritten) {
			t.Errorf("%s: read back and written again, another file", name)
		}
		sum := sha256.Sum256(file)
		if print, err := Fingerprint(read); err != nil || print != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: fingerprint %s (%v)", name, print, err)
		}
		if read.Kind() != tokenizer.Kind() || read.Vocab() != tokenizer.Vocab() || read.Separator() != tokenizer.Separator() {
			t.Errorf("%s: read back as another tokenizer", name)
		}
		for range 50 {
			text := randomText(r, tokenizer.Kind() != kindChar)
			if !slices.Equal(mustEncode(t, tokenizer, text), mustEncode(t, read, text)) {
				t.Fatalf("%s: read back, it encodes %q otherwise", name, text)
			}
		}
	}
}

func TestEveryDamagedFile(t *testing.T) {
	for name, tokenizer := range buildAll(t) {
		file, _ := tokenizer.Marshal()
		for n := range len(file) - 1 { // the last byte is a newline
			if _, err := Unmarshal(file[:n]); err == nil {
				t.Fatalf("%s: cut to %d of %d bytes, no error", name, n, len(file))
			}
		}
		for i := 0; i < len(file); i += 1 + len(file)/2048 {
			for _, flip := range []byte{1, 4, 0x20, 0x80} {
				damaged := bytes.Clone(file)
				damaged[i] ^= flip
				acceptedWritesItself(t, damaged)
			}
		}
		for _, change := range [][2]string{
			{`"kind"`, `"Kind"`}, {`"version":1`, `"version":1,"version":1`}, {`{`, `{"extra":0,`}, {"}\n", "}{}"}, {"}\n", "} x"},
			{`"format":"prenorm-tokenizer",`, ``}, {`"version":1,`, ``},
		} {
			changed := strings.Replace(string(file), change[0], change[1], 1)
			if changed == string(file) {
				t.Fatalf("%s: nothing to change at %s", name, change[0])
			}
			if _, err := Unmarshal([]byte(changed)); err == nil {
				t.Errorf("%s: accepted with %s for %s", name, change[1], change[0])
			}
		}
		spaced := strings.ReplaceAll(string(file), ",", ",\n  ")
		if _, err := Unmarshal([]byte(spaced)); err != nil {
			t.Errorf("%s: white space refused: %v", name, err)
		}
	}
}

// acceptedWritesItself fails when a file is accepted that says something else than what was read from it.
func acceptedWritesItself(t testing.TB, file []byte) {
	t.Helper()
	tokenizer, err := Unmarshal(file)
	if err != nil {
		return
	}
	again, err := tokenizer.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(b []byte) string { return strings.Join(strings.Fields(string(b)), "") }
	if squeeze(again) != squeeze(file) {
		t.Fatalf("%q was read as %q", file, again)
	}
}

func TestUnmarshalNamesTheProblem(t *testing.T) {
	for file, parts := range map[string][]string{
		``:                   {"JSON"},
		`[]`:                 {"JSON"},
		`{"format":"other"}`: {`"other"`, `"prenorm-tokenizer"`, "right file"},
		`{"format":"prenorm-tokenizer","version":7,"kind":"bpe","new":1}`:                                                        {"version 7", "reads 1"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpf"}`:                                                                {`"bpf"`, "bpe, byte, char, cl100k, gpt2, o200k, p50k", `did you mean "bpe"`},
		`{"format":"prenorm-tokenizer","version":1,"kind":"byte","vocab":3}`:                                                     {"byte", "vocab"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe"}`:                                                                {"bpe", "missing"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[[1,256]]}`:                                             {"merge 0", "256", "0 to 255"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[[-1,2]]}`:                                              {"merge 0", "-1"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[[1,2,3]]}`:                                             {"merge 0", "3 ids"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[[1,2],[1,2]]}`:                                         {"merge 1", "already"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"char","unknown":"fail","alphabet":[]}`:                                {"empty"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"char","unknown":"maybe","alphabet":[97]}`:                             {`"maybe"`, "fail, unk"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"char","unknown":"fail","alphabet":[97,97]}`:                           {"alphabet[1]"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"char","unknown":"fail","alphabet":[55296]}`:                           {"alphabet[0]", "55296"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"gpt2","table_sha256":"00"}`:                                           {`"00"`, publishedKinds[0].sum},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[` + doubling(10) + `]}`:                                {"512 bytes", "256"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"` + strings.Repeat("x", 1000) + `"}`:                                  {"..."},
		`{"format":"prenorm-tokenizer","version":1,"kind":"byte"}` + strings.Repeat(" ", maxFile):                                {"larger than 64 MiB"},
		`{"format":"prenorm-tokenizer","version":1,"kind":"bpe","merges":[` + strings.Repeat("[0,0],", maxVocab-256) + `[0,0]]}`: {"more than the 1048576 allowed"},
	} {
		_, err := Unmarshal([]byte(file))
		wantError(t, err, parts...)
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// doubling writes merges that double the longest token n times.
func doubling(n int) string {
	merges := "[0,0]"
	for id := 256; id < 255+n; id++ {
		merges += strings.ReplaceAll(",[#,#]", "#", itoa(id))
	}
	return merges
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestLoad(t *testing.T) {
	for name, tokenizer := range buildAll(t) {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		file, _ := tokenizer.Marshal()
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		read, err := New(Config{Kind: "ignored", File: path}, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, _ := Fingerprint(tokenizer)
		if got, _ := Fingerprint(read); got != want {
			t.Errorf("%s: loaded as another tokenizer", name)
		}
		if err := os.WriteFile(path, file[:len(file)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = Load(path)
		wantError(t, err, path)
	}
	_, err := Load(filepath.Join(t.TempDir(), "absent.json"))
	wantError(t, err, "absent.json")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not wrap os.ErrNotExist", err)
	}
}

// TestLargeFiles has a model that is allowed but whose file of ours would not be, and files of every format that are not allowed.
func TestLargeFiles(t *testing.T) {
	padded := func(size int) []byte {
		return smallModel(protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), make([]byte, size)))
	}
	fits, err := read(padded(40 << 20))
	if err != nil {
		t.Fatal(err)
	}
	file, err := fits.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unmarshal(file); err != nil {
		t.Errorf("a tokenizer of %d MiB does not read back: %v", len(file)>>20, err)
	}
	_, err = read(padded(50 << 20))
	wantError(t, err, "66 MiB", "64 allowed")
	for _, start := range []string{string(padded(0)), `{"model":{},"x":"`, `{"format":"prenorm-tokenizer","version":1,"kind":"byte"`} {
		_, err := read(append([]byte(start), make([]byte, maxFile)...))
		wantError(t, err, "larger than 64 MiB")
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Config{Kind: "GPT-2"}, nil, nil)
	wantError(t, err, `"GPT-2"`, "bpe, byte, char, cl100k, gpt2, o200k, p50k", `did you mean "gpt2"?`)
	_, err = New(Config{Kind: "sentencepiece"}, nil, nil)
	wantError(t, err, "sentencepiece")
	if strings.Contains(err.Error(), "did you mean") {
		t.Errorf("far-fetched: %v", err)
	}
	for _, vocab := range []int{-1, 0, 257, maxVocab + 1} {
		_, err = New(Config{Kind: "bpe", Vocab: vocab}, one("text"), nil)
		wantError(t, err, "tokenizer bpe", "vocab", "258")
	}
	_, err = New(Config{Kind: "char", Unknown: "skip"}, one("text"), nil)
	wantError(t, err, `"skip"`, "fail, unk")
	for _, kind := range []string{"bpe", "char"} {
		cfg := Config{Kind: kind, Vocab: 300, Unknown: "fail"}
		for _, texts := range []Texts{nil, one(), one("", "")} {
			_, err = New(cfg, texts, nil)
			wantError(t, err, "no text", "data.train")
		}
		broken := errors.New("disk on fire")
		_, err = New(cfg, func(yield func([]byte, error) bool) { _ = yield([]byte("ab"), nil) && yield(nil, broken) }, nil)
		if !errors.Is(err, broken) {
			t.Errorf("%s: error of the texts became %v", kind, err)
		}
	}
}

func TestTrainingIgnoresTheOrderOfTexts(t *testing.T) {
	texts := strings.SplitAfter(strings.Repeat(sample, 2), " ")
	back := slices.Clone(texts)
	slices.Reverse(back)
	for _, kind := range Kinds() {
		cfg := Config{Kind: kind, Vocab: 320, Unknown: "fail"}
		a, err := New(cfg, one(texts...), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(cfg, one(back...), nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := Fingerprint(a)
		if second, _ := Fingerprint(b); first != second {
			t.Errorf("%s depends on the order of the texts", kind)
		}
	}
}

// TestTextsMayReuseTheirBuffer gives every text in the same slice.
func TestTextsMayReuseTheirBuffer(t *testing.T) {
	words := strings.SplitAfter(sample, " ")
	for _, kind := range Kinds() {
		cfg := Config{Kind: kind, Vocab: 320, Unknown: "fail"}
		want, err := New(cfg, one(words...), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(cfg, func(yield func([]byte, error) bool) {
			buffer := make([]byte, 100)
			for _, word := range words {
				if !yield(buffer[:copy(buffer, word)], nil) {
					return
				}
				clear(buffer)
			}
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := Fingerprint(want)
		if second, _ := Fingerprint(got); first != second {
			t.Errorf("%s keeps the texts' buffer", kind)
		}
	}
}

func TestEveryKindIsSafeForConcurrentUse(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	cold := buildAll(t) // with empty caches, which all goroutines fill
	for name, tokenizer := range buildAll(t) {
		texts := make([]string, 400)
		want := make([][]int32, len(texts))
		for i := range texts {
			texts[i] = randomText(r, tokenizer.Kind() != kindChar)
			want[i] = mustEncode(t, tokenizer, texts[i])
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i, text := range texts {
					ids, err := cold[name].Encode(nil, []byte(text))
					if err != nil || !slices.Equal(ids, want[i]) {
						t.Errorf("%s: %q encodes otherwise beside others (%v)", name, text, err)
					}
				}
			})
		}
		group.Wait()
	}
}
