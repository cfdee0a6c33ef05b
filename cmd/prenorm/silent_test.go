package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train"
	"prenorm/train/checkpoint"
)

// TestTokenizerIsKept wants a tokenizer's file to be replaced on request alone.
func TestTokenizerIsKept(t *testing.T) {
	inTiny(t)
	for _, args := range [][]string{{"tokenizer", "train", "text.txt", "--vocab", "280", "--out", "a.tok"}, {"tokenizer", "export", "--tokenizer", "gpt2", "--out", "a.tok"}} {
		write(t, "a.tok", "mine")
		command(args...).want(t, exitUsage, "--out a.tok: is there already", "--force")
		if read(t, "a.tok") != "mine" {
			t.Fatal("it was replaced")
		}
		command(append(args, "--force")...).want(t, exitOK, "a.tok: ")
		if read(t, "a.tok") == "mine" {
			t.Error("it was not replaced")
		}
	}
}

// TestVerifyAll wants every name to be answered, and checkpoints that were set aside to be among what is checked.
func TestVerifyAll(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	command("train", "whole", "--from-step", "16", "--max-step", "17").want(t, exitOK)
	aside := filepath.Join("whole", train.CheckpointFolder, "step-00000020.aside-1")
	command("verify", "whole").want(t, exitOK, aside+": whole, step 20", "; set aside", "newest")
	must(os.MkdirAll("none/checkpoints", 0o777))
	must(os.Mkdir("empty", 0o777))
	write(t, "file", "x")
	r := command("verify", "gone", "file", "none", "empty", "whole").want(t, exitFailure, "gone: there is no such folder", "file: is no folder", "none: holds no checkpoint", "empty: holds no checkpoint", aside+": whole")
	if strings.Contains(r.out, "NOT WHOLE") {
		t.Errorf("what is not there is called damaged\n%s", r.out)
	}
	write(t, filepath.Join(aside, "model.safetensors"), "x")
	command("verify", "whole").want(t, exitFailure, aside+": NOT WHOLE")
}

// TestEvalOfSpoiledWeights wants a loss that is no number to be a failure.
func TestEvalOfSpoiledWeights(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	c, _, err := train.OpenCheckpoint("whole")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Weights {
		if w.Name == "norm.weight" || strings.HasPrefix(w.Name, "embed_tokens") {
			binary.LittleEndian.PutUint32(w.Data, math.Float32bits(float32(math.NaN())))
			for i := 0; i+4 <= len(w.Data); i += 4 {
				copy(w.Data[i:], w.Data[:4])
			}
		}
	}
	root := filepath.Join("spoiled", train.CheckpointFolder)
	must(os.MkdirAll(root, 0o777))
	snap := checkpoint.Snapshot{Step: c.Step, State: map[string]any{"step": c.Step}, Files: c.Files, Weights: c.Weights, Optimizer: c.Optimizer}
	if _, err := checkpoint.Save(checkpoint.OS, root, snap); err != nil {
		t.Fatal(err)
	}
	command("eval", "spoiled", "text.txt").want(t, exitFailure, "the loss is NaN")
}
