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
