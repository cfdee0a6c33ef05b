package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/configs"
)

// TestMistakes wants bad input to cost a message that says what to do, and the right exit code.
func TestMistakes(t *testing.T) {
	inTiny(t)
	write(t, "bad.yaml", "model:\n  heads: 5\n  widht: 128\n")
	write(t, "untold.yaml", "name: untold\n")
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{exitUsage, "trian", "prenorm: there is no command \"trian\" (did you mean train?)\nSee prenorm --help."},
		{exitUsage, "train", "prenorm: prenorm train takes one run file, preset (such as quickstart) or run's folder, not 0\nSee prenorm train --help."},
		{exitUsage, "train tiny.yaml --stpes 3", "prenorm: unknown flag: --stpes\nSee prenorm train --help."},
		{exitUsage, "train tiny.yaml --max-setp 3", "prenorm: unknown flag: --max-setp (did you mean --max-step?)\nSee prenorm train --help."},
		{exitUsage, "train tiny.yaml --max-seconds soon", "prenorm: --max-seconds \"soon\": wants a number, such as 0.5 or 1e-3\n"},
		{exitUsage, "train tiny.yaml --max-step 1.5", "prenorm: --max-step \"1.5\": wants a whole number\n"},
		{exitUsage, "train tiny.yaml --fresh=maybe", "prenorm: --fresh \"maybe\": wants true or false\n"},
		{exitUsage, "train tiny.yaml --set", "prenorm: --set lacks its value: give a key=value behind it\n"},
		{exitUsage, "lab init --max", "prenorm: unknown flag: --max\nSee prenorm lab init --help."},
		{exitUsage, "lab init --jbos 3", "prenorm: unknown flag: --jbos"},
		{exitUsage, "lab paths --layers x", "prenorm: --layers \"x\": wants a whole number\n"},
		{exitUsage, "train tiny.yml", "prenorm: reading the run file: open tiny.yml: no such file or directory (did you mean tiny.yaml?): give a .yaml file, the folder of a run, or a preset ("},
		{exitFailure, "sample emtpy", "prenorm: emtpy does not exist (did you mean empty?): give the folder of a run"},
		{exitFailure, "inspect emtpy", "prenorm: emtpy holds no metrics.jsonl (did you mean empty?): give the folder of a run"},
		{exitFailure, "replay none.zip", "prenorm: bundle none.zip does not exist: name one of a run's folder"},
		{exitUsage, "tokenizer encode txet.txt --tokenizer byte", "open txet.txt: no such file or directory: name a file that is there (did you mean text.txt?)\n"},
		{exitFailure, "tokenizer encode empty --tokenizer byte", "is a directory: name a file\n"},
		{exitUsage, "tokenizer encode text.txt --tokenizer text.txt", "name one of prenorm's files, a tokenizer.json or a SentencePiece model"},
		{exitFailure, "train tiny.yaml --set data.tokenizer.file=empty", "--set data.tokenizer.file=empty: tokenizer file: empty is a folder: name a file, such as the tokenizer.json in a checkpoint of a run\n"},
		{exitUsage, "tokenizer export --tokenizer byte --out empty", "--out empty: is a folder: name a file in it"},
		{exitFailure, "tokenizer export --tokenizer byte --out emtpy/x", "there is no folder emtpy (did you mean empty?): name one that is there, or make it\n"},
		{exitFailure, "tokenizer export --tokenizer byte --out text.txt/x", "text.txt is a file, and no folder: name another place\n"},
		{exitFailure, "train tiny.yaml --out text.txt", "name a folder\n"},
		{exitUsage, "verify-resume tiny.yaml --out empty", "name a folder that is not there yet\n"},
		{exitUsage, "lab init --out text.txt", "--out text.txt: text.txt is a file: name a folder, or one to be made\n"},
		{exitUsage, "lab paths --out text.txt/x/y", "--out text.txt/x/y: text.txt is a file"},
		{exitUsage, "lab drop runs/none --out text.txt", "--out text.txt: text.txt is a file"},
		{exitUsage, "lab lr tiny.yaml --out text.txt", "--out text.txt: text.txt is a file"},
		{exitUsage, "repro --out text.txt", "--out text.txt: text.txt is a file"},
		{exitUsage, "data report text.txt --out text.txt", "--out text.txt: text.txt is a file"},
		{exitUsage, "data report quikstart", "there is no text, run file or preset quikstart (did you mean quickstart?)"},
		{exitUsage, "data report text.txt --tokenizer gtp2", "--tokenizer gtp2: is neither a file nor a kind (did you mean gpt2?): the kinds are bpe, "},
		{exitFailure, "data report txet.txt", "there is no such file (did you mean "},
		{exitUsage, "train quikstart", "prenorm: no run file and no preset quikstart (did you mean quickstart?)\n"},
		{exitUsage, "train empty", "prenorm: empty holds no run, as it has no config.yaml"},
		{exitUsage, "config empty", "prenorm: empty holds no run, as it has no config.yaml: give a run file"},
		{exitUsage, "completion foo", "prenorm: there is no script for \"foo\" (shells: bash, zsh, fish, powershell)"},
		{exitUsage, "sample x The rays", "The prompt goes with --prompt:\n  prenorm sample x --prompt 'The rays'"},
		{exitUsage, "eval x y --invalid-utf8 skip", "--invalid-utf8 \"skip\": wants drop, fail or replace"},
		{exitUsage, "eval x --invalid-utf8 fail", "--invalid-utf8 is for texts that are named"},
		{exitUsage, "train nowhere.yaml", "prenorm: reading the run file"},
		{exitUsage, "train bad.yaml", "bad.yaml:2: model.heads: 5 does not divide width 128 (try 4 or 8)\nbad.yaml:3: model.widht: unknown key (did you mean model.width?)"},
		{exitUsage, "train tiny.yaml --set trian.steps=3", "--set trian.steps=3: unknown key (did you mean train.steps?)"},
		{exitUsage, "train untold.yaml", "untold.yaml: data.train: names no text"},
		{exitUsage, "train tiny.yaml --device tpu", "--set device=tpu: \"tpu\" is not known (allowed: auto, cpu, cuda)"},
		{exitUsage, "train tiny.yaml --workers -1", "--set workers=-1"},
		{exitUsage, "train tiny.yaml --max-seconds -1", "prenorm: --max-seconds -1: wants a number of seconds"},
		{exitUsage, "train tiny.yaml --fresh --resume", "prenorm: --fresh and --resume exclude each other"},
		{exitUsage, "train tiny.yaml --resume", "prenorm: --resume: " + filepath.Join("runs", "tiny") + " holds no checkpoint to go on from"},
		{exitFailure, "train tiny.yaml --set data.train=missing.txt", "missing.txt"},
		{exitFailure, "train shakespeare-char", "name a text that exists with --set data.train=PATH"},
		{exitFailure, "train gpt2-124m --set precision=fp32", "gpt2-124m says of itself:\n  GPT-2 small: 124 M parameters"},
		{exitFailure, "sample nowhere", "prenorm: nowhere does not exist: give the folder of a run"},
		{exitFailure, "sample empty", "prenorm: empty holds no checkpoint"},
		{exitFailure, "eval tiny.yaml", "prenorm: tiny.yaml is a file: give the folder of a run"},
		{exitUsage, "sample", "takes the folder of a run or of a checkpoint, not 0"},
		{exitUsage, "sample x --temperature -1", "prenorm: --temperature: -1 is out of range"},
		{exitUsage, "sample x --top-p 2 --tokens 0", "--top-p: 2 is out of range (from 0 to 1)\n--tokens: 0 is out of range"},
		{exitUsage, "sample x --overflow wrap", "--overflow: \"wrap\" is not known (allowed: slide, stop)"},
		{exitUsage, "sample x --prompt a --prompt-file b", "prenorm: --prompt and --prompt-file exclude each other"},
		{exitUsage, "sample x --prompt-file missing.txt", "prenorm: --prompt-file: open missing.txt"},
		{exitUsage, "eval x --windows -1", "prenorm: --windows -1"},
		{exitUsage, "config", "prenorm: prenorm config takes one run file, preset (such as quickstart) or run's folder"},
		{exitUsage, "config --keys tiny.yaml", "take no run file"},
		{exitUsage, "check", "takes safetensors files, not 0"},
		{exitUsage, "check x --rtol -1", "--rtol -1: wants a number above 0, up to 1"},
		{exitUsage, "check x --precision fp16", "--precision fp16: wants one of"},
		{exitUsage, "check x --device tpu", "no backend \"tpu\""},
		{exitFailure, "check missing.safetensors", "missing.safetensors"},
		{exitUsage, "doctor now", "takes no arguments, not 1"},
	} {
		r := command(strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.errOut, c.want) {
			t.Errorf("%s: exit code %d, want %d, and the message\n%s\nwant\n%s", c.args, r.code, c.code, r.errOut, c.want)
		}
		if strings.Contains(r.errOut, "Usage:") {
			t.Errorf("%s: the help drowns the message:\n%s", c.args, r.errOut)
		}
	}
	command("verify", "emtpy").want(t, exitFailure, "emtpy: there is no such folder (did you mean empty?): give that of a run") // among its findings
}

// TestNoCUDA wants a build without CUDA to say how to get one with it, and auto to do without.
func TestNoCUDA(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--device", "cuda").want(t, exitUsage, "this build has no CUDA backend", "go build -tags gpu", "--device cpu")
	command("train", "tiny.yaml", "--device", "auto").want(t, exitOK, "on cpu into")
}

// TestPrecision wants a precision that the CPU lacks never to become another one in silence.
func TestPrecision(t *testing.T) {
	inTiny(t)
	for _, args := range [][]string{{"train", "tiny.yaml", "--set", "precision=bf16"}, {"train", "tiny.yaml", "--set", "precision=tf32", "--device", "auto"}} {
		r := command(args...).want(t, exitUsage, "needs a GPU, and there is none to use", "this build has no CUDA backend", "To run on the CPU: --set precision=fp32")
		if r.out != "" {
			t.Errorf("%v: something was done:\n%s", args, r.out)
		}
	}
	command("train", "tiny.yaml", "--set", "precision=bf16", "--device", "cpu").want(t, exitUsage,
		"--set precision=bf16: bf16 needs a GPU and device is cpu (--set precision=fp32, or device: cuda)")
	r := command("check", "x.safetensors", "--precision", "bf16").want(t, exitUsage, "--precision bf16: the CPU computes in fp32 alone (--precision fp32, --device cuda, or --device ref for bf16)", "See prenorm check --help.")
	if strings.Contains(r.errOut, "set precision") {
		t.Errorf("check reads no run file, and says %q", r.errOut)
	}
	const settled = "note: the run's precision is bf16, which needs a GPU; this is fp32 on the CPU"
	command("plan", "tiny.yaml", "--set", "precision=bf16").want(t, exitOK, settled, "memory on cpu in fp32")
	command("plan", "tiny.yaml", "--set", "precision=bf16", "--device", "cuda").want(t, exitUsage, "this build has no CUDA backend")
}

// TestPrecisionOfARun goes on with a run in another precision, and reads its checkpoint where there is no GPU. Its GPU is the CPU in disguise.
func TestPrecisionOfARun(t *testing.T) {
	inTiny(t)
	withGPU(t)
	short := []string{"train", "tiny.yaml", "--max-seconds", "1e-9", "--set", "precision=tf32"}
	command(short...).want(t, exitOK, "on cuda in tf32 into", "stopped:")
	run := filepath.Join("runs", "tiny")
	withKernels(t, openOriginal)
	withoutGPU(t)
	for _, args := range [][]string{{"sample", run, "--tokens", "3"}, {"eval", run}, {"sample", run, "--tokens", "3", "--device", "cpu"}} {
		command(args...).want(t, exitOK, "note: the run's precision is tf32, which needs a GPU; this is fp32 on the CPU")
	}
	command("train", "tiny.yaml").want(t, exitUsage, "precision: run has tf32, the default is fp32", "--set precision=fp32")
	command("train", run).want(t, exitUsage, "precision tf32 needs a GPU, and there is none to use")
	r := command("train", run, "--device", "cpu").want(t, exitUsage, "--set device=cpu: precision: tf32 needs a GPU and device is cpu (--set precision=fp32, or device: cuda)")
	if strings.Contains(r.errOut, "config.yaml") {
		t.Errorf("points into a file of the checkpoint: %s", r.errOut)
	}
	command("train", run, "--set", "precision=fp32").want(t, exitOK, "changed: precision from tf32 to fp32", "done: step 20 of 20")
}

// TestOtherSettings goes on with a run under other settings.
func TestOtherSettings(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--max-seconds", "1e-9").want(t, exitOK, "stopped: time limit of", "to go on: prenorm train tiny.yaml --max-seconds 1e-09")
	command("train", "tiny.yaml").want(t, exitOK, "done: step 20 of 20")
	run := filepath.Join("runs", "tiny")
	before := read(t, filepath.Join(run, "config.yaml"))
	write(t, "other.yaml", strings.NewReplacer("steps: 20", "steps: 22", "every: 5", "every: 6", "keep: 2", "keep: 3").Replace(tiny))
	r := command("train", "other.yaml").want(t, exitUsage, run+" holds a run with other settings:\n  train.steps: run has 20, file says 22\n  train.eval.every: run has 5, file says 6\nTo go on",
		"settings:\n  prenorm train "+run+"\n", "prenorm train other.yaml --set train.steps=22 --set train.eval.every=6\n", "--fresh")
	if strings.Contains(r.errOut, "checkpoint") {
		t.Errorf("checkpoint.keep cannot change the result:\n%s", r.errOut)
	}
	for key, value := range map[string]string{"model.layers": "3", "seed": "6", "data.val.fraction": "0.2", "init_from": "x"} {
		r := command("train", "tiny.yaml", "--set", key+"="+value).want(t, exitUsage, "  "+key+": run has ", ", --set says "+value)
		if strings.Contains(r.errOut, "from here on") {
			t.Errorf("%s: offers what cannot be:\n%s", key, r.errOut)
		}
	}
	if r := command("train", "tiny.yaml", "--set", "train.steps=19").want(t, exitUsage, "is at step 20 already, and train.steps is 19"); strings.Contains(r.out, "changed:") {
		t.Errorf("a refused change is announced:\n%s", r.out)
	}
	if read(t, filepath.Join(run, "config.yaml")) != before {
		t.Error("a refused run changed config.yaml")
	}
	command("train", "other.yaml", "--set", "train={steps: 22, eval: {every: 6}}", "--set", "name=else", "--out", run).want(t, exitOK,
		"changed: train.steps from 20 to 22", "resumed from step 20 of 22", "done: step 22 of 22")
	// The text may have moved, as training compares the text itself.
	if err := os.Rename("text.txt", "moved.txt"); err != nil {
		t.Fatal(err)
	}
	going := []string{"train", filepath.Join(run, "config.yaml"), "--out", run, "--set", "data.train=moved.txt"}
	command(going...).want(t, exitOK, "changed: data.train", "done: step 22 of 22")
	write(t, "moved.txt", "another text\n"+read(t, "moved.txt"))
	if r := command(going...).want(t, exitFailure, "the text is not the one that the run was trained on"); strings.Contains(r.out, "changed:") {
		t.Errorf("a refused change is announced:\n%s", r.out)
	}
}

// TestFinished wants a run that is at its end to say so, with what starts another.
func TestFinished(t *testing.T) {
	inTiny(t)
	const said = "the run was done already, so nothing was trained: --fresh starts it anew"
	again := []string{"train", "tiny.yaml", "--set", "train.steps=3", "--set", "train.schedule.warmup=0"}
	if r := command(again...).want(t, exitOK, "done: step 3 of 3"); strings.Contains(r.out, said) {
		t.Errorf("the run was not done:\n%s", r.out)
	}
	command(again...).want(t, exitOK, said, "--set name=NAME starts another in a folder of its own")
	if r := command("train", filepath.Join("runs", "tiny")).want(t, exitOK, said, "a run file with another --out"); strings.Contains(r.out, "name=NAME") {
		t.Errorf("a run's folder is its own:\n%s", r.out)
	}
	for _, more := range [][]string{{"--set", "name=another"}, {"--fresh"}, {"--set", "train.steps=4"}} {
		if r := command(append(again, more...)...).want(t, exitOK, "done: step"); strings.Contains(r.out, said) {
			t.Errorf("%v trains:\n%s", more, r.out)
		}
	}
}

// TestFresh wants an old run to be kept, twice.
func TestFresh(t *testing.T) {
	inTiny(t)
	r := command("train", "tiny.yaml", "--fresh").want(t, exitOK)
	if strings.Contains(r.out, "old run") {
		t.Errorf("there was no old run:\n%s", r.out)
	}
	run := filepath.Join("runs", "tiny")
	model := filepath.Join("checkpoints", "step-00000020", "model.safetensors")
	first, measured := read(t, filepath.Join(run, model)), read(t, filepath.Join(run, "metrics.jsonl"))
	for n, seed := range []string{"7", "8"} {
		old := filepath.Join(run, "old-"+string(rune('1'+n)))
		command("train", "tiny.yaml", "--fresh", "--set", "seed="+seed).want(t, exitOK, "the old run is now in "+old, "done: step 20 of 20")
	}
	if read(t, filepath.Join(run, "old-1", model)) != first || read(t, filepath.Join(run, "old-1", "metrics.jsonl")) != measured {
		t.Error("the first run was not kept as it was")
	}
	if read(t, filepath.Join(run, "old-2", model)) == first || read(t, filepath.Join(run, model)) == first {
		t.Error("another seed gives the same weights")
	}
	command("sample", filepath.Join(run, "old-1"), "--tokens", "3").want(t, exitOK)
}

// TestFreedom names the keys of every freedom but fixed, so that a new key is thought about.
func TestFreedom(t *testing.T) {
	var got [3][]string
	for _, d := range configs.Describe() {
		f := freedomOf(d.Key)
		if section, _, _ := strings.Cut(d.Key, "."); f == explicit && section == "train" {
			continue
		}
		got[f] = append(got[f], d.Key)
	}
	if keys, want := strings.Join(got[free], " "), "name data.cache train.guard.bundles train.inspect.every train.log.every checkpoint.every checkpoint.minutes checkpoint.keep checkpoint.keep_best checkpoint.keep_every checkpoint.background device kernels.matmul workers"; keys != want {
		t.Errorf("free to change are %s, want %s", keys, want)
	}
	if keys, want := strings.Join(got[explicit], " "), "data.train data.val.files data.stages precision"; keys != want {
		t.Errorf("to be changed by --set are, besides train, %s, want %s", keys, want)
	}
}

// TestDamaged wants a damaged checkpoint to be passed over with a word, and a run without a whole one to be left alone.
func TestDamaged(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	write(t, filepath.Join(run, "checkpoints", "step-00000020", "model.safetensors"), "no weights")
	command("sample", run, "--tokens", "3").want(t, exitOK, "warning: an older checkpoint is used, because ", "step-00000020")
	write(t, filepath.Join(run, "checkpoints", "step-00000016", "state.json"), "no state")
	for _, args := range [][]string{{"train", "tiny.yaml"}, {"sample", run}} {
		command(args...).want(t, exitFailure, "none of the 2 under")
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"runs/a-1": "runs/a-1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "train={steps: 3}": "'train={steps: 3}'", "$HOME": "'$HOME'", "a;b": "'a;b'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q is quoted as %s, want %s", word, got, want)
		}
	}
}
