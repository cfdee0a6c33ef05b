package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTokenizerStory trains, encodes, decodes, shows, compares and exports, by file and by standard input.
func TestTokenizerStory(t *testing.T) {
	inTiny(t)
	text := read(t, "text.txt")
	command("tokenizer", "train", "text.txt", "--vocab", "280", "--out", "a.tok").want(t, 0, "a.tok: 280 ids, kind bpe")
	for _, name := range []string{"a.tok", "o200k", "byte"} {
		ids := command("tokenizer", "encode", "text.txt", "--tokenizer", name).want(t, 0)
		if strings.Trim(ids.out, "0123456789 ") != "\n" || ids.errOut != "" {
			t.Errorf("%s: not only ids in one line: %.80q %q", name, ids.out, ids.errOut)
		}
		if in := commandWith(t.Context(), text, "tokenizer", "encode", "--tokenizer", name); in != ids {
			t.Errorf("%s: other ids from standard input", name)
		}
		if back := commandWith(t.Context(), ids.out, "tokenizer", "decode", "--tokenizer", name); back.out != text || back.code != 0 {
			t.Errorf("%s: the text does not come back: %.80q %s", name, back.out, back.errOut)
		}
	}
	command("tokenizer", "export", "--tokenizer", "a.tok", "--out", "hf.json").want(t, 0, "280 ids")
	if a, b := command("tokenizer", "encode", "text.txt", "--tokenizer", "a.tok"), command("tokenizer", "encode", "text.txt", "--tokenizer", "hf.json"); a != b {
		t.Error("the exported file gives other ids")
	}
	command("tokenizer", "inspect", "--tokenizer", "cl100k").want(t, 0, "100 277, of which 16 stand for nothing", `100257 "<|endoftext|>"`)
	command("tokenizer", "inspect", "--tokenizer", "a.tok", "--tokens").want(t, 0, "97\t\"a\"", "255\t\"\\xff\"", "279\t\"<|endoftext|>\"")
	command("tokenizer", "compare", "text.txt", "--tokenizer", "byte", "--tokenizer", "a.tok").want(t, 0, "tokens a byte", "1.0000", "yes")
	var figures []tokenizerFigures
	out := command("tokenizer", "compare", "text.txt", "--json", "--tokenizer", "byte", "--tokenizer", "hf.json").want(t, 0)
	if err := json.Unmarshal([]byte(out.out), &figures); err != nil || len(figures) != 2 || figures[0].Tokens != int64(len(text)) || !figures[1].RoundTrip ||
		figures[1].TokensPerByte >= 1 {
		t.Errorf("figures %+v (%v)", figures, err)
	}
	// A run with the exported file keeps it in its checkpoints.
	command("train", "tiny.yaml", "--set", "data.tokenizer.file=hf.json", "--set", "data.verify=true", "--set", "train.steps=4", "--out", "run").want(t, 0, "bytepairs tokenizer, 280 ids")
	command("sample", "run", "--prompt", "times", "--tokens", "3").want(t, 0)
}

func TestTokenizerSpecials(t *testing.T) {
	inTiny(t)
	command("tokenizer", "train", "text.txt", "--vocab", "270", "--pattern", "llama3", "--bytes", "gpt2", "--special", "<|user|>", "--format", "huggingface",
		"--out", "a.json").want(t, 0, "kind bytepairs")
	encode := []string{"tokenizer", "encode", "--tokenizer", "a.json"}
	if got := commandWith(t.Context(), "<|user|>", append(encode, "--special")...).want(t, 0).out; got != "269\n" {
		t.Errorf("the special token is %q", got)
	}
	if got := commandWith(t.Context(), "<|user|>", encode...).want(t, 0).out; strings.Contains(got, "269") {
		t.Errorf("ordinary text became a special token: %q", got)
	}
}

func TestTokenizerMistakes(t *testing.T) {
	model := read(t, filepath.FromSlash("../../data/token/testdata/bpe.model"))
	inTiny(t)
	write(t, "bpe.model", model)
	write(t, "wrong.json", `{"model": {"type": "WordPiece"}}`)
	write(t, "ids", "1 2 x")
	write(t, "high", "1 99999")
	for _, c := range []struct {
		want string
		args string
	}{
		{"--tokenizer is missing", "encode text.txt"},
		{"--tokenizer is missing", "compare text.txt"},
		{"--out is missing", "train text.txt"},
		{"--out is missing", "export --tokenizer byte"},
		{"neither a file nor a kind", "encode text.txt --tokenizer none"},
		{`tokenizer "cl10k" (did you mean cl100k?) is neither a file nor a kind`, "encode text.txt --tokenizer cl10k"},
		{"high: number 2: id 99999 is outside the vocabulary [0, 256) of tokenizer byte: ", "decode high --tokenizer byte"},
		{"kind bpe is trained", "encode text.txt --tokenizer bpe"},
		{"wrong.json: model.type: WordPiece", "inspect --tokenizer wrong.json"},
		{`number 3: "x" is no token id`, "decode ids --tokenizer byte"},
		{"no special tokens", "encode text.txt --special --tokenizer byte"},
		{"cannot be written as a tokenizer.json: byte-level BPE can, and kinds byte and char", "export --tokenizer bpe.model --out x"},
		{`--format "x"`, "train text.txt --format x --out y"},
		{`pattern "x"`, "train text.txt --pattern x --out y"},
		{`bytes "x"`, "train text.txt --bytes x --out y"},
		{"vocab is 9", "train text.txt --vocab 9 --out y"},
		{"- is named twice", "encode - - --tokenizer byte"},
		{"no such file", "encode none.txt --tokenizer byte"},
	} {
		command(append([]string{"tokenizer"}, strings.Fields(c.args)...)...).want(t, 2, c.want)
	}
}

// TestTokenizerTexts wants tokenizers' commands to read what eval reads, and to advise by flags that they have.
func TestTokenizerTexts(t *testing.T) {
	inTiny(t)
	write(t, "latin.txt", strings.Repeat("caf\xe9 caf\xe9\n", 9))
	write(t, "rows.jsonl", strings.Repeat("{\"body\": \"of words, of words\"}\n", 9))
	write(t, "ids.bin", "abcd")
	train := []string{"tokenizer", "train", "--vocab", "260", "--force", "--out", "new.tok"}
	for _, args := range [][]string{train, {"tokenizer", "compare", "--tokenizer", "byte"}} {
		of := func(more ...string) result { return command(append(args[:len(args):len(args)], more...)...) }
		for _, c := range [][]string{{"latin.txt", "add --invalid-utf8 replace"}, {"rows.jsonl", "--field NAME"}, {"ids.bin", "ids.bin holds token ids (.bin)"}} {
			if r := of(c[0]).want(t, exitUsage, c[1]); strings.Contains(r.errOut, "--set") {
				t.Errorf("%v advises a flag that is not there: %s", args, r.errOut)
			}
		}
		of("rows.jsonl", "--field", "body").want(t, exitOK)
		of("latin.txt", "--invalid-utf8", "drop").want(t, exitOK)
		of("latin.txt", "--invalid-utf8", "no").want(t, exitUsage, `--invalid-utf8 "no": wants drop, fail or replace`)
	}
	command("__complete", "tokenizer", "compare", "--invalid-utf8", "").want(t, exitOK, "drop\nfail\nreplace")
	command("train", "tiny.yaml", "--out", "run", "--max-step", "1").want(t, exitOK)
	command("eval", "run", "ids.bin").want(t, exitUsage, "ids.bin holds token ids (.bin), and text is read here", "data.val.files")
}

// TestOddIsTold wants commands that read texts to tell what preparing them tells: of odd characters in them, and of files. What a program reads is
// not touched, and nothing is told of texts that have none.
func TestOddIsTold(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--max-step", "1").want(t, exitOK)
	write(t, "odd.txt", strings.Repeat("of words, of words\x00\n", 9)+"caf\xe9 caf\xe9\n")
	write(t, "list.json", "[\"of words\"]\n")
	for _, args := range [][]string{
		{"eval", "run", "--json"}, {"tokenizer", "train", "--vocab", "260", "--force", "--out", "new.tok"}, {"tokenizer", "compare", "--tokenizer", "byte", "--json"},
	} {
		of := func(more ...string) result { return command(append(args[:len(args):len(args)], more...)...) }
		replaced := of("odd.txt", "list.json", "--invalid-utf8", "replace").want(t, exitOK)
		for _, want := range []string{"9 NUL characters (the first at odd.txt:1) are in the text: files in UTF-16", "2 runs of bytes that are not UTF-8 (the first at odd.txt:10) are read as U+FFFD (--invalid-utf8 replace)", "list.json is read as plain text"} {
			if !strings.Contains(replaced.errOut, want) || strings.Contains(replaced.out, want) {
				t.Errorf("%v: no %q in %q, or in %q", args, want, replaced.errOut, replaced.out)
			}
		}
		dropped := of("odd.txt", "--invalid-utf8", "drop").want(t, exitOK, "are left out (--invalid-utf8 drop)")
		if all := replaced.errOut + dropped.errOut; strings.Contains(all, "--set") || strings.Contains(all, "data.invalid") {
			t.Errorf("%v advises a setting that is not there: %s", args, all)
		}
		if r := of("text.txt").want(t, exitOK); strings.Contains(r.errOut, "NUL") || strings.Contains(r.errOut, "not UTF-8") {
			t.Errorf("%v: %s", args, r.errOut)
		}
	}
}

// TestTokenizerWhole wants the file of a tokenizer to be replaced at once: another is put in its place.
func TestTokenizerWhole(t *testing.T) {
	inTiny(t)
	write(t, "a.tok", "old")
	before, err := os.Stat("a.tok")
	must(err)
	command("tokenizer", "train", "text.txt", "--vocab", "260", "--force", "--out", "a.tok").want(t, exitOK)
	after, err := os.Stat("a.tok")
	must(err)
	if os.SameFile(before, after) {
		t.Error("it was written over in place")
	}
}

// TestTextsClose wants standard input that is kept on disk to be closed.
func TestTextsClose(t *testing.T) {
	open := func() (n int) {
		for _, link := range filesLike("/proc/self/fd", "*") {
			if to, err := os.Readlink(link); err == nil && strings.Contains(to, "spool.tmp-") {
				n++
			}
		}
		return n
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells of open files in a folder")
	}
	if !exists("/proc/self/fd") {
		t.Fatal("/proc is not mounted, and only it tells of open files: mount it")
	}
	inTiny(t)
	text := strings.Repeat("words, words and more words\n", 200_000)
	for _, args := range []string{"train - --vocab 260 --out a.tok", "compare - --tokenizer byte"} {
		commandWith(t.Context(), text, append([]string{"tokenizer"}, strings.Fields(args)...)...).want(t, exitOK)
		if n := open(); n > 0 {
			t.Errorf("tokenizer %s: %d files stay open", args, n)
		}
	}
}
