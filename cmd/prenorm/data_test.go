package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataExport writes a run's tokens for other programs, trains on them, and wants the same run.
func TestDataExport(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "text").want(t, exitOK, "done: step 20 of 20")
	for format, name := range map[string]string{"nanogpt": "n", "llm.c": "c"} {
		command("data", "export", "tiny.yaml", "--out", name, "--format", format).want(t, exitOK, filepath.Join(name, "train.bin")+": ", filepath.Join(name, "tokenizer.tok")+": ")
		if entries, err := os.ReadDir(name); err != nil || len(entries) != 3 {
			t.Errorf("%v, %v", entries, err)
		}
		command("train", "tiny.yaml", "--out", "from-"+name, "--set", "data.train="+filepath.Join(name, "train.bin"), "--set", "data.val.files="+filepath.Join(name, "val.bin"),
			"--set", "data.tokenizer.file="+filepath.Join(name, "tokenizer.tok")).want(t, exitOK, "done: step 20 of 20")
		want, have := losses("text"), losses("from-"+name)
		if len(want) != 20 || len(have) != 20 || want[19] != have[19] {
			t.Errorf("%s: %v, want %v", format, have, want)
		}
	}
	command("tokenizer", "inspect", "--tokenizer", filepath.Join("n", "tokenizer.tok")).want(t, exitOK, "byte")
	before := read(t, filepath.Join("n", "train.bin"))
	command("data", "export", "tiny.yaml", "--out", "n").want(t, exitUsage, "is there already", "--force")
	command("data", "export", "tiny.yaml", "--out", "n", "--force").want(t, exitOK)
	own := []string{"data", "export", "tiny.yaml", "--out", "n", "--force", "--set", "data.train=n/*.bin", "--set", "data.tokenizer.file=" + filepath.Join("n", "tokenizer.tok")}
	command(own...).want(t, exitUsage, "is what is read")
	if read(t, filepath.Join("n", "train.bin")) != before {
		t.Error("what was read was replaced")
	}
	command("tokenizer", "train", "text.txt", "--vocab", "300", "--out", "text.txt", "--force").want(t, exitUsage, "text.txt is what is read")
	command("data", "report", filepath.Join("n", "train.bin"), "--set", "data.val.by=end").want(t, exitOK, "a tokenizer that is not known")
	command("data", "export", "tiny.yaml", "--out", "wide", "--set", "data.tokenizer.kind=cl100k", "--set", "model.vocab=100277").want(t, exitFailure, "write the format llm.c")
	if exists("wide") {
		t.Error("an export that was refused leaves a folder")
	}
	command("data", "export", "tiny.yaml").want(t, exitUsage, "--out is missing")
	command("data", "export", "tiny.yaml", "--out", "x", "--format", "csv").want(t, exitUsage, "wants nanogpt or llm.c")
}

// TestVerified wants to be told what data.verify has shown, whether it was shown now or before.
func TestVerified(t *testing.T) {
	inTiny(t)
	proved := fmt.Sprintf("round trip proved over %d bytes of text", len(read(t, "text.txt")))
	verify := func(args ...string) result { return command(append(args, "--set", "data.verify=true")...) }
	for range 2 {
		verify("train", "tiny.yaml", "--max-step", "1").want(t, exitOK, "verify  "+proved)
	}
	verify("data", "export", "tiny.yaml", "--out", "n").want(t, exitOK, proved)
	verify("data", "report", "tiny.yaml").want(t, exitOK, proved)
	verify("train", "tiny.yaml", "--out", "ids", "--max-step", "1", "--set", "data.train="+filepath.Join("n", "train.bin")).want(t, exitOK, "round trip not proved: token files of other programs have no text")
	for _, args := range [][]string{{"train", "tiny.yaml", "--out", "plain", "--max-step", "1"}, {"data", "export", "tiny.yaml", "--out", "m"}} {
		if r := command(args...).want(t, exitOK); strings.Contains(r.out+r.errOut, "round trip") {
			t.Errorf("%v says what was not asked for: %s", args, r.out)
		}
	}
}

// TestNothingToPredict refuses documents of one token that attention does not leave, before the first step.
func TestNothingToPredict(t *testing.T) {
	inTiny(t)
	write(t, "one.jsonl", strings.Repeat("{\"text\": \"a\"}\n", 300))
	for _, key := range []string{"data.train", "data.val.files"} {
		args := []string{"train", "tiny.yaml", "--set", "data.tokenizer.kind=byte", "--set", "data.train=text.txt", "--set", "data.val.files=text.txt", "--set", "data.cross_documents=false"}
		if key == "data.val.files" {
			args = append(args, "--set", "data.val.files=one.jsonl")
		} else {
			args = append(args, "--set", "data.val.files=", "--set", "data.train=one.jsonl", "--set", "data.val.by=end", "--set", "data.val.fraction=0.5")
		}
		command(args...).want(t, exitFailure, "no token can be predicted", "data.cross_documents")
	}
}

// TestSourcesInWords goes the way of a user with several sources: train, go on, evaluate.
func TestSourcesInWords(t *testing.T) {
	inTiny(t)
	write(t, "other.txt", read(t, "text.txt")[500:])
	sets := []string{"--set", "data.train=", "--set", "data.sources=[{name: a, train: text.txt}, {name: b, train: other.txt, weight: 2}]",
		"--set", "data.stages=[{from: 5, weights: [1, 0]}]", "--set", "data.packing=documents", "--set", "data.cross_documents=false"}
	command(append([]string{"train", "tiny.yaml", "--dry-run"}, sets...)...).want(t, exitOK, "3 steps of a new run", "validations")
	command("train", "tiny.yaml", "--dry-run", "--set", "data.train=", "--set", "data.sources=[{name: a, train: text.txt}, {name: b, train: gone.txt}]").want(t, exitFailure,
		"the run would not come to its end", "data.sources", "b: gone.txt")
	command(append([]string{"train", "tiny.yaml"}, sets...)...).want(t, exitOK, "source b: weight 2", "of the places are padding", "source a, weight 1: loss", "done: step 20")
	run := filepath.Join("runs", "tiny")
	command("train", run).want(t, exitOK, "resumed from step 20 of 20")
	command("eval", run).want(t, exitOK, "source a", "bits a byte, weight 2", "ln V 5.545, unigram")
	command(append([]string{"data", "report", "tiny.yaml"}, sets...)...).want(t, exitOK, "of 2 sources", "weights by data.stages")
	command("eval", run, "text.txt").want(t, exitOK, "nats a token")
	command(append([]string{"plan", "tiny.yaml"}, sets...)...).want(t, exitOK, "weights")
	command("lab", "drop", run).want(t, exitFailure, "windows over one text only")
}
