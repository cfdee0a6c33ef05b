package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train"
)

// TestTokenizerOfRun wants the folder of a run, and of a checkpoint, to be its tokenizer, whose weights nobody reads.
func TestTokenizerOfRun(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "run", "--set", "data.tokenizer={kind: bpe, vocab: 280}", "--set", "train.steps=4", "--set", "checkpoint={every: 2, keep: 0}").want(t, exitOK)
	saved := filesLike("run/checkpoints", "step-*")
	if len(saved) < 2 {
		t.Fatalf("checkpoints %v", saved)
	}
	newest := saved[len(saved)-1]
	file := filepath.Join(newest, train.TokenizerFile)
	must(os.WriteFile(filepath.Join(newest, "model.safetensors"), []byte("damaged"), 0o666))
	for _, args := range []string{"encode text.txt", "inspect", "inspect --tokens"} {
		of := func(name string) result {
			return command(append(append([]string{"tokenizer"}, strings.Fields(args)...), "--tokenizer", name)...).want(t, exitOK)
		}
		want := of(file)
		for _, name := range []string{"run", newest, saved[0]} {
			if got := of(name); got.out != want.out || got.errOut != "" {
				t.Errorf("%s of %s: %.80q, want %.80q; %s", args, name, got.out, want.out, got.errOut)
			}
		}
	}
	write(t, "ids", command("tokenizer", "encode", "text.txt", "--tokenizer", "run").want(t, exitOK).out)
	if got := command("tokenizer", "decode", "ids", "--tokenizer", newest).want(t, exitOK).out; got != read(t, "text.txt") {
		t.Errorf("comes back as %.80q", got)
	}
	command("tokenizer", "compare", "text.txt", "--tokenizer", "run", "--tokenizer", "byte").want(t, exitOK, "run ", "280 ", "yes")
	command("tokenizer", "export", "--tokenizer", "run", "--out", "hf.json").want(t, exitOK, "280 ids")

	must(os.WriteFile(file, []byte(strings.Replace(read(t, file), "1", "2", 1)), 0o666))
	command("tokenizer", "encode", "text.txt", "--tokenizer", newest).want(t, exitFailure, "checkpoint "+newest, train.TokenizerFile+": does not have the checksum")
	command("tokenizer", "encode", "text.txt", "--tokenizer", "run").want(t, exitOK, "warning: an older checkpoint is used, because "+newest)
	must(os.Mkdir("byte", 0o777))
	command("tokenizer", "inspect", "--tokenizer", "byte").want(t, exitOK, "256")
	command("tokenizer", "inspect", "--tokenizer", "./byte").want(t, exitFailure, "holds no checkpoint")
	command("tokenizer", "inspect", "--tokenizer", "none").want(t, exitUsage, "the folder of a run or checkpoint")
}
