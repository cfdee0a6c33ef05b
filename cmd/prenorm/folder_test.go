package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// lastEval is the last validation that training wrote.
func lastEval(t *testing.T, run string) metrics.Eval {
	t.Helper()
	records, err := metrics.Read(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var last metrics.Eval
	for _, r := range records {
		if e, ok := r.(metrics.Eval); ok {
			last = e
		}
	}
	return last
}

// TestEvalNeedsNoText moves a run away from its text, changes the text, and wants the figures that training printed all the same. Some runs
// have a tokenizer with separators, some a text from standard input, of which nothing is recorded but the tokens.
func TestEvalNeedsNoText(t *testing.T) {
	inTiny(t)
	text := read(t, "text.txt")
	write(t, "documents/1.txt", text[:700])
	write(t, "documents/2.txt", text[700:1400]+"é€")
	write(t, "documents/3.txt", text[1400:])
	for name, sets := range map[string][]string{
		"file":  nil,
		"stdin": {"data.train=-"},
		"bpe":   {"data.train=documents", "data.val={fraction: 0.7, by: end}", "data.tokenizer={kind: bpe, vocab: 270}"},
		"char":  {"data.train=-", "data.tokenizer={kind: char}", "train.sample.prompt=1"},
		"cache": {"data.cache=cache"},
	} {
		args := []string{"train", "tiny.yaml", "--out", filepath.Join("runs", name)}
		for _, s := range sets {
			args = append(args, "--set", s)
		}
		commandWith(context.Background(), text, args...).want(t, exitOK)
	}
	if err := os.RemoveAll("documents"); err != nil {
		t.Fatal(err)
	}
	write(t, "text.txt", "changed\n"+text)
	elsewhere := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename("runs", elsewhere); err != nil {
		t.Fatal(err)
	}
	check := func(run string) evalRecord {
		t.Helper()
		got, want := evaluation(t, "no text", run), lastEval(t, run)
		if got.Loss != want.Loss || got.BitsPerByte != want.BitsPerByte || got.Predicted != want.Tokens {
			t.Errorf("%s: eval says %+v, training said %+v", run, got, want)
		}
		return got
	}
	check(filepath.Join(elsewhere, "cache"))
	t.Chdir(t.TempDir())
	for _, name := range []string{"file", "stdin", "bpe", "char"} {
		check(filepath.Join(elsewhere, name))
	}
	command("eval", filepath.Join(elsewhere, "cache")).want(t, exitFailure, "are not there", filepath.Join(elsewhere, "cache", "data"))
	// Without the record of the sources, decoding gives the same figures.
	recorded := check(filepath.Join(elsewhere, "bpe"))
	for _, path := range filesLike(filepath.Join(elsewhere, "bpe", "data"), "sources-*.json") {
		write(t, path, "damaged")
	}
	if got := check(filepath.Join(elsewhere, "bpe")); !reflect.DeepEqual(got, recorded) || got.Documents < 2 {
		t.Errorf("by decoding %+v, by the record %+v", got, recorded)
	}
	for _, path := range filesLike(filepath.Join(elsewhere, "file", "data"), "val-*.tokens") {
		write(t, path, "damaged")
	}
	command("eval", filepath.Join(elsewhere, "file")).want(t, exitFailure, "are not there", "token shard")
	// A checkpoint's folder as the working directory has no name of its own.
	t.Chdir(filepath.Join(elsewhere, "stdin", "checkpoints", "step-00000020"))
	if inside, want := evaluation(t, "", "."), lastEval(t, filepath.Join("..", "..")); inside.Loss != want.Loss {
		t.Errorf("from inside eval says %+v, training said %+v", inside, want)
	}
}

// TestTrainFolder goes on with a run by its folder, from elsewhere, and makes it longer with nothing but the number of steps.
func TestTrainFolder(t *testing.T) {
	inTiny(t)
	write(t, "tiny.yaml", strings.NewReplacer("schedule: {warmup: 3}", "log: {every: 2}", "ffn: 32, ", "", "  log: {every: 1}\n", "").Replace(tiny))
	text, err := filepath.Abs("text.txt")
	if err != nil {
		t.Fatal(err)
	}
	command("train", "tiny.yaml", "--set", "data.train="+text, "--max-seconds", "1e-9").want(t, exitOK, "stopped")
	run := filepath.Join("runs", "tiny")
	// A tenth of the steps is 2 at first, and stays so.
	command("train", "tiny.yaml", "--set", "data.train="+text, "--set", "train.steps=34").want(t, exitOK, "changed: train.steps from 20 to 34", "done: step 34 of 34")
	if config := read(t, filepath.Join(run, "config.yaml")); !strings.Contains(config, "warmup: 2,") {
		t.Errorf("the warmup has not stayed 2:\n%s", config)
	}
	command("train", "tiny.yaml", "--set", "data.train="+text).want(t, exitUsage, "train.steps: run has 34, file says 20\nTo go on with the run's own settings:\n  prenorm train "+run+"\n")
	command("train", run, "--out", "x").want(t, exitUsage, "goes on in that folder")
	command("train", filepath.Join(run, "checkpoints", "step-00000034")).want(t, exitUsage, "is the folder of a checkpoint")
	whole, err := filepath.Abs(run)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	command("train", whole).want(t, exitOK, "resumed from step 34 of 34")
	command("train", whole, "--set", "train.steps=36").want(t, exitOK, "resumed from step 34 of 36", "done: step 36 of 36")
	// The run goes on by what it was saved with, whatever became of the folder's file; a refusal suggests just that.
	config := filepath.Join(whole, "config.yaml")
	write(t, config, strings.Replace(read(t, config), "steps: 36", "steps: 37", 1))
	command("train", whole, "--set", "seed=6").want(t, exitUsage, "seed: run has 5, --set says 6", "settings:\n  prenorm train "+whole+"\n")
	command("train", whole).want(t, exitOK, "warning: "+config+" is not what", "done: step 36 of 36")
	if strings.Contains(read(t, config), "steps: 37") {
		t.Error("the folder's file still differs from the run")
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestFreeKeysAreNoSurprise changes keys of a finished run that cannot change its result, which are in its folder's file from then on and in
// no checkpoint.
func TestFreeKeysAreNoSurprise(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "train.schedule.warmup=0", "--set", "train.steps=2").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	config := filepath.Join(run, "config.yaml")
	before := read(t, config)
	command("train", run, "--device", "cpu", "--workers", "1", "--set", "train.log.every=2", "--set", "checkpoint.keep=3").want(t, exitOK)
	if read(t, config) == before {
		t.Fatal("the folder's file is what it was")
	}
	for _, args := range [][]string{{"train", run}, {"train", run, "--set", "train.steps=3"}} {
		if r := command(args...).want(t, exitOK); strings.Contains(r.errOut, "warning: "+config) {
			t.Errorf("%v warns:\n%s", args, r.errOut)
		}
	}
	write(t, config, "seed: x\n")
	command("train", run).want(t, exitOK, "warning: "+config+" is not what")
}

// TestDefaultIsNoFile wants a refusal not to blame the file for what it leaves out.
func TestDefaultIsNoFile(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "train.clip=2", "--max-seconds", "1e-9").want(t, exitOK)
	command("train", "tiny.yaml").want(t, exitUsage, "train.clip: run has 2, the default is 1")
}

// TestFailedStart wants a start that fails to leave nothing new, and nothing changed.
func TestFailedStart(t *testing.T) {
	inTiny(t)
	for _, args := range [][]string{{"--resume"}, {"--set", "data.train=missing.txt"}, {"--out", filepath.Join("a", "b"), "--set", "data.train=missing.txt"}} {
		if r := command(append([]string{"train", "tiny.yaml"}, args...)...); r.code == exitOK {
			t.Errorf("%v: no failure", args)
		}
		for _, dir := range []string{"runs", "a"} {
			if exists(dir) {
				t.Errorf("%v leaves %s behind", args, dir)
				os.RemoveAll(dir)
			}
		}
	}
	write(t, filepath.Join("mine", "notes.txt"), "kept")
	command("train", "tiny.yaml", "--out", "mine", "--set", "data.train=missing.txt").want(t, exitFailure)
	if read(t, filepath.Join("mine", "notes.txt")) != "kept" {
		t.Error("the user's file is changed")
	}
	command("train", "tiny.yaml", "--max-seconds", "1e-9").want(t, exitOK)
	config := filepath.Join("runs", "tiny", "config.yaml")
	before := read(t, config)
	command("train", "tiny.yaml", "--set", "data.train=missing.txt").want(t, exitFailure)
	if read(t, config) != before {
		t.Error("a start that failed changed config.yaml")
	}
}

// filesOf reads all that a folder holds.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[path] = read(t, path)
		} else if err == nil {
			files[path] = "folder"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFailedFresh wants a start anew that fails to give the old run back.
func TestFailedFresh(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--max-seconds", "1e-9").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	before := filesOf(t, run)
	command("train", "tiny.yaml", "--fresh", "--set", "data.train=typo.txt").want(t, exitFailure, "the old run is back in "+run)
	if after := filesOf(t, run); !maps.Equal(before, after) {
		t.Errorf("before:\n%v\nafter:\n%v", before, after)
	}
	command("train", "tiny.yaml", "--fresh", "--max-seconds", "1e-9").want(t, exitOK, "the old run is now in "+filepath.Join(run, "old-1"))
}

// TestLockedFolder wants a command to change nothing in a folder that another one holds.
func TestLockedFolder(t *testing.T) {
	inTiny(t)
	var r result
	withKernels(t, hooked(2, func() { r = command("train", "tiny.yaml", "--set", "seed=6", "--fresh") }))
	command("train", "tiny.yaml").want(t, exitOK, "done: step 20 of 20")
	r.want(t, exitFailure, "is in use by")
	if config := read(t, filepath.Join("runs", "tiny", "config.yaml")); !strings.Contains(config, "seed: 5") {
		t.Errorf("another command's settings are in the folder:\n%s", config)
	}
}

// TestRemedies wants commands with a trained model to advise nothing that they cannot do.
func TestRemedies(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--set", "data.tokenizer={kind: char}", "--set", "train.sample.prompt=1", "--max-seconds", "1e-9").want(t, exitOK)
	run := filepath.Join("runs", "tiny")
	write(t, "raw.txt", "1 times \xff is 2.\n")
	write(t, "other.txt", "1 times ü\n")
	for _, args := range [][]string{{"eval", run, "raw.txt"}, {"eval", run, "other.txt"}, {"sample", run, "--prompt", "ü"}, {"sample", run, "--prompt", "\xff"}} {
		r := command(args...).want(t, exitUsage)
		if strings.Contains(r.errOut, "--set") || strings.Contains(r.errOut, ", set data") || strings.Contains(r.errOut, ": set data") {
			t.Errorf("%v: advises a run file's setting: %s", args, r.errOut)
		}
	}
	command("eval", run, "raw.txt").want(t, exitUsage, "add --invalid-utf8 replace")
	command("train", "tiny.yaml", "--out", "bytes", "--max-seconds", "1e-9").want(t, exitOK)
	command("eval", "bytes", "raw.txt", "--invalid-utf8", "replace").want(t, exitOK, "of 18, 18 B") // U+FFFD has three bytes
}

func TestProgramName(t *testing.T) {
	sep := string(os.PathSeparator)
	for path, want := range map[string]string{
		"prenorm":             "prenorm",
		"." + sep + "prenorm": shellWord("." + sep + "prenorm"),
		sep + "opt" + sep + "a b" + sep + "prenorm":                       "'" + sep + "opt" + sep + "a b" + sep + "prenorm'",
		sep + "tmp" + sep + "go-build12" + sep + "exe" + sep + "prenorm":  "go run ./cmd/prenorm",
		sep + "tmp" + sep + "go-build12" + sep + "b1" + sep + "main.test": "prenorm",
	} {
		if got := nameOf(path); got != want {
			t.Errorf("%s is called %s, want %s", path, got, want)
		}
	}
}

// TestCompleteWords completes what stands behind a key.
func TestCompleteWords(t *testing.T) {
	for word, want := range map[string]string{
		"model.norm.kind=": "model.norm.kind=rmsnorm\nmodel.norm.kind=layernorm\n",
		"model.tied=":      "model.tied=true\nmodel.tied=false\n",
		"train.steps=1":    ":",
	} {
		if r := command("__complete", "config", "quickstart", "--set", word).want(t, exitOK); !strings.HasPrefix(r.out, want) {
			t.Errorf("%s is completed with %q", word, r.out)
		}
	}
}
