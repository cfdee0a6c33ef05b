package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify: whole checkpoints, one with a changed byte, one cut short, and what is no checkpoint.
func TestVerify(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml").want(t, exitOK)
	var all []verifyRecord
	read := func(code int, args ...string) {
		t.Helper()
		all = nil
		if err := json.Unmarshal([]byte(command(append([]string{"verify", "--json"}, args...)...).want(t, code).out), &all); err != nil {
			t.Fatal(err)
		}
	}
	read(exitOK, "runs/tiny")
	if len(all) < 2 || !all[0].Whole || all[0].Step >= all[1].Step || all[0].Files < 5 || all[0].Bytes < 1000 {
		t.Fatalf("found %+v", all)
	}
	first, second := all[0].Checkpoint, all[1].Checkpoint
	command("verify", "runs/tiny").want(t, exitOK, first+": whole, step ")
	path := filepath.Join(first, "optimizer.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	write(t, path, string(data))
	read(exitFailure, "runs/tiny")
	if all[0].Whole || !strings.Contains(all[0].Problem, "optimizer.safetensors: does not have the checksum") || !all[1].Whole {
		t.Errorf("found %+v", all)
	}
	write(t, path, string(data[:9]))
	command("verify", first).want(t, exitFailure, first+": NOT WHOLE: optimizer.safetensors: has 9 bytes")
	read(exitOK, second)
	command("verify", "runs").want(t, exitFailure, "runs: NOT WHOLE: manifest.json: is missing")
	command("verify", "nowhere").want(t, exitFailure, "nowhere is no folder")
	command("verify").want(t, exitUsage, "takes folders of runs or of checkpoints")
}

// TestDiff: a run that was stopped and gone on with is the same as one that was not, and another seed is another run.
func TestDiff(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--out", "runs/a").want(t, exitOK)
	process(t, "kill 15", "train", "tiny.yaml", "--out", "runs/b")
	command("train", "tiny.yaml", "--out", "runs/b").want(t, exitOK, "resumed from step 12 of 20")
	command("diff", "runs/a", "runs/b").want(t, exitOK, "same, bit for bit")
	command("train", "tiny.yaml", "--out", "runs/c", "--set", "seed=6").want(t, exitOK)
	r := command("diff", "runs/a", "runs/c").want(t, exitFailure, "state: ", "seed", "files: config.yaml differ", "embed_tokens.weight", "changed")
	if strings.Contains(r.out, "only in") {
		t.Errorf("says\n%s", r.out)
	}
	var d diffRecord
	if err := json.Unmarshal([]byte(command("diff", "runs/a", "runs/c", "--json").want(t, exitFailure).out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Same || len(d.Tensors) < 10 || d.Tensors[0].Changed == 0 || d.Tensors[0].Largest == 0 {
		t.Errorf("found %+v", d)
	}
	command("diff", "runs/a").want(t, exitUsage, "takes two folders")
	command("diff", "runs/a", "runs").want(t, exitFailure, "runs holds no checkpoint")
}
