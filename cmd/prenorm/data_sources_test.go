package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data/survey"
)

// TestDataReportOfSources has tables of each source and of all, weights beside sizes, and pairs of sources; in text and on the page.
func TestDataReportOfSources(t *testing.T) {
	inTexts(t)
	text := read(t, "a.jsonl")
	write(t, "b.jsonl", text[:len(text)/2])
	write(t, "run.yaml", `name: several
data:
  tokenizer: {kind: gpt2}
  sources:
    - {name: prose, train: a.jsonl, weight: 3}
    - {name: web, train: b.jsonl, val: a.jsonl, weight: 1}
  stages: [{from: 40, weights: [1, 1]}, {from: 50, weights: [1, 0]}]
`)
	r := command("data", "report", "run.yaml", "--out", "report").want(t, exitOK, "of 2 sources", "75.0", "drawn", "from step 40", "Source prose", "Source web", "mean by their weights", "validation of", "copies of one of an earlier source",
		"of documents in other sources")
	if want := "web prose 50 0 3 160 55.6 "; !strings.Contains(strings.Join(strings.Fields(r.out), " "), want) { // of its 90 documents 40 are copies within it
		t.Errorf("no %q in\n%s", want, r.out)
	}
	page := read(t, filepath.Join("report", "report.html"))
	for _, want := range []string{"Weights and sizes of the sources", "Source web", "from step 50", "<svg", "a.jsonl:1"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, name := range []string{"sources.svg", "sources.csv", "stages.csv", "between.csv", "size-prose.csv", "lines-web.csv", "copies-web.csv", "overlap-prose.csv", "scripts-web.csv", "across.csv", "across-list.csv", "odd.csv", "odd-web.csv"} {
		if !exists(filepath.Join("report", name)) {
			t.Errorf("no %s in\n%s", name, r.out)
		}
	}
	var s survey.Survey
	if err := json.Unmarshal([]byte(command("data", "report", "run.yaml", "--json").want(t, exitOK).out), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Sources) != 2 || s.Sources[0].Weights[0] != 0.75 || s.Train.Documents != s.Sources[0].Train.Documents+s.Sources[1].Train.Documents {
		t.Errorf("%+v", s)
	}
}

// TestDataReportOfTokenFiles surveys what data export writes: with its tokenizer as text, and without as numbers.
func TestDataReportOfTokenFiles(t *testing.T) {
	inTexts(t)
	command("data", "export", "run.yaml", "--out", "ids", "--set", "data.tokenizer.kind=gpt2", "--format", "llm.c").want(t, exitOK)
	train, file := filepath.Join("ids", "train.bin"), filepath.Join("ids", exportedTokenizer)
	var known, unknown survey.Survey
	for to, args := range map[*survey.Survey][]string{&known: {"--tokenizer", file}, &unknown: {}} {
		r := command(append([]string{"data", "report", train, "--json"}, args...)...).want(t, exitOK)
		if err := json.Unmarshal([]byte(r.out), to); err != nil {
			t.Fatal(err)
		}
	}
	if !known.Text || known.Train.Documents+known.Val.Documents == 0 || known.Tokenizer != "gpt2" || known.Copies.Exact == 0 {
		t.Errorf("%+v", known)
	}
	if unknown.Text || unknown.Tokenizer != survey.Unknown || unknown.Train.Tokens != known.Train.Tokens || unknown.Lines.TrainUnigram != known.Lines.TrainUnigram {
		t.Errorf("%+v", unknown)
	}
	command("data", "report", train, "--out", "report").want(t, exitOK, "a tokenizer that is not known", "--tokenizer gpt2", "bigram", "–")
	if exists(filepath.Join("report", "scripts.csv")) {
		t.Error("there is a table of scripts that nobody knows")
	}
	command("data", "report", train, "--tokenizer", file).want(t, exitOK, "what the token ids stand for", "training ids from", "zstd, validation given training")
	command("data", "report", train, "--tokenizer", "byte").want(t, exitFailure, "outside the vocabulary", "name the tokenizer")
	command("data", "report", "none.bin").want(t, exitFailure, "none.bin")
	write(t, "odd.bin", "odd")
	command("data", "report", "odd.bin").want(t, exitFailure, "odd.bin", "an odd number")
	// A run that training would refuse is told of, and keeps nothing.
	write(t, "ids.yaml", "name: ids\ndata: {train: ids/train.bin}\n")
	command("data", "report", "ids.yaml").want(t, exitOK, "a tokenizer that is not known")
	if found := filesLike(filepath.Join("runs", "ids", "data"), "*"); len(found) > 0 {
		t.Errorf("kept: %v", found)
	}
}
