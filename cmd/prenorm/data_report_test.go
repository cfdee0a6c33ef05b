package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prenorm/data/survey"
)

// inTexts goes to a folder with rows of text, of which some are copies.
func inTexts(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, "{\"text\": \"%s\"}\n", strings.Repeat(fmt.Sprintf("row %d of words ", i%50), 4))
	}
	write(t, "a.jsonl", rows.String())
	old := time.Now().Add(-time.Hour) // so that what is found of it is remembered
	must(os.Chtimes("a.jsonl", old, old))
	write(t, "run.yaml", "name: looked\ndata: {train: a.jsonl, tokenizer: {kind: byte}}\n")
}

// TestDataReport surveys a run's text and files, as tables, JSON and a page.
func TestDataReport(t *testing.T) {
	inTexts(t)
	r := command("data", "report", "run.yaml", "--out", "report").want(t, exitOK, "exact copies", "a.jsonl:51", "bigram", "zstd, validation given training", filepath.Join("report", "report.html"))
	for _, name := range []string{"report.html", "lengths.svg", "scripts.png", "lines.csv", "copies-list.csv"} {
		if !exists(filepath.Join("report", name)) {
			t.Errorf("no %s in\n%s", name, r.out)
		}
	}
	if n := len(filesLike(filepath.Join("runs", "looked", "data"), "*.tokens")); n != 2 {
		t.Errorf("%d files of tokens are kept for the run", n)
	}
	var a, b survey.Survey
	if err := json.Unmarshal([]byte(command("data", "report", "a.jsonl", "--json").want(t, exitOK).out), &a); err != nil {
		t.Fatal(err)
	}
	if a.Copies.Exact != 10 || a.Train.Documents+a.Val.Documents != 60 || a.Tokenizer != "byte" {
		t.Errorf("%+v", a)
	}
	// What was remembered of the text with its copies is not taken for the text without them.
	if err := json.Unmarshal([]byte(command("data", "report", "run.yaml", "--json", "--set", "data.duplicates=drop_exact").want(t, exitOK).out), &b); err != nil {
		t.Fatal(err)
	}
	if b.Train.Documents+b.Val.Documents != 50 || b.Train.Tokens+b.Val.Tokens >= a.Train.Tokens+a.Val.Tokens {
		t.Errorf("%+v", b)
	}
	// Standard input is read more than once; tokenizers and keys are taken.
	in := read(t, "a.jsonl")
	piped := commandWith(t.Context(), in, "data", "report", "-", "--json", "--tokenizer", "gpt2", "--set", "data.format=jsonl", "--set", "data.duplicates=drop_exact").want(t, exitOK)
	if err := json.Unmarshal([]byte(piped.out), &b); err != nil {
		t.Fatal(err)
	}
	if b.Copies.Exact != 10 || b.Train.Documents+b.Val.Documents != 50 || b.Tokenizer != "gpt2" {
		t.Errorf("%+v", b)
	}
}

// TestDataReportOfOddTexts has a row of each kind of odd character in text, on the page and in files; the counts in JSON.
func TestDataReportOfOddTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "odd.txt", "some\x00 text\n\x00of \xff\xfe\n\x01"+strings.Repeat("and that\n", 20)+"\x00")
	args := []string{"data", "report", "odd.txt", "--set", "data.invalid_utf8=replace"}
	r := command(append(args, "--out", "report")...).want(t, exitOK, "odd characters")
	for _, want := range []string{"NUL 2 1 3 odd.txt:1 kept (data.nul)", "bytes that are not UTF-8 0 0 1 odd.txt:2 U+FFFD a run (data.invalid_utf8)", "U+FFFD for such bytes 1 0 – – –", "other controls 1 0 "} {
		if got := strings.Join(strings.Fields(r.out), " "); !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if page := read(t, filepath.Join("report", "report.html")); !strings.Contains(page, `<td class="">NUL</td><td class="n">2</td><td class="n">1</td><td class="n">3</td><td class="">odd.txt:1</td><td class="">kept (data.nul)</td>`) {
		t.Errorf("the page has no row of NUL:\n%s", page)
	}
	if file := read(t, filepath.Join("report", "odd.csv")); !strings.Contains(file, "\nNUL,2,1,3,odd.txt:1,kept (data.nul)\n") {
		t.Error(file)
	}
	var s survey.Survey
	out := command(append(args, "--json")...).want(t, exitOK, `"nul": {`, `"count": 3`, `"first": "odd.txt:1"`, `"rule": "keep"`, `"passed_over"`).out
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Odd.NUL.Count != 3 || s.Train.Odd.NUL != 2 || s.Val.Odd.NUL != 1 || s.Odd.Invalid.Count != 1 || s.Train.Odd.Controls != 1 {
		t.Errorf("%+v, %v", s.Part, err)
	}
	command(append(args, "--set", "data.nul=drop")...).want(t, exitOK, "left out")
}

// TestDataReportOfDigits has a text without a letter, of which no script is known.
func TestDataReportOfDigits(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.txt", strings.Repeat("1 234 56\n", 50))
	command("data", "report", "a.txt", "--out", "report").want(t, exitOK, "training", "written: ")
	if exists(filepath.Join("report", "scripts.svg")) {
		t.Error("there is a figure of no scripts")
	}
}

// TestDataReportMistakes wants messages for what cannot be surveyed, and nothing left behind.
func TestDataReportMistakes(t *testing.T) {
	inTexts(t)
	command("data", "report").want(t, exitUsage, "a run file, a preset or a run's folder, or files of text")
	command("data", "report", "none.txt").want(t, exitFailure, "none.txt")
	command("data", "report", "a.jsonl", "--tokenizer", "none.json").want(t, exitUsage, "none.json")
	command("data", "report", "run.yaml", "--set", "data.duplicates=some").want(t, exitUsage, "data.duplicates", "drop_near")
	command("data", "nothing").want(t, exitUsage, "nothing")
	write(t, "empty.yaml", "name: empty\n")
	command("data", "report", "empty.yaml").want(t, exitUsage, "data.train")
	if entries, _ := os.ReadDir("runs"); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestDataReportBesideMeta has ids of characters with nanoGPT's meta.pkl beside them: the flag that names it is that of the command, for a run file
// its setting.
func TestDataReportBesideMeta(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "ids/train.bin", strings.Repeat("\x00\x00\x01\x00\x02\x00\x03\x00", 50))
	write(t, "ids/meta.pkl", "x")
	write(t, "run.yaml", "name: ids\ndata: {train: ids/train.bin, tokenizer: {kind: char}}\n")
	meta := filepath.Join("ids", "meta.pkl")
	command("data", "report", "ids/train.bin").want(t, exitOK, "(--tokenizer "+meta+")")
	command("data", "report", "run.yaml").want(t, exitOK, "(--set data.tokenizer.file="+meta+")")
	command("train", "run.yaml", "--out", "out").want(t, exitFailure, "(data.tokenizer.file: "+meta+", which lies there")
}
