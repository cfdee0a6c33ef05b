package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prenorm/kernels"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// withMachine has the program see so much free memory and disk.
func withMachine(t *testing.T, memory uint64, disk int64) {
	t.Helper()
	m, d := availableMemory, freeSpace
	availableMemory, freeSpace = func() uint64 { return memory }, func(string) (int64, bool) { return disk, disk >= 0 }
	t.Cleanup(func() { availableMemory, freeSpace = m, d })
}

// TestDryRun rehearses a new run, which leaves only its prepared text and the lock's file, one that was stopped, which stays byte for byte what it was, and one
// that is done.
func TestDryRun(t *testing.T) {
	inTiny(t)
	withMachine(t, 1<<33, 1<<40)
	said := []string{"dry run of tiny: 3 steps of a new run on cpu", "planned", "for copies of the state", "8.00 GiB were free", "tokens/s", "20 steps", "4 validations", "3 samples",
		"a parameter", "for at most 4 checkpoints at one time beside 0 there", "1.00 TiB are free", "nothing of it is kept but the prepared text, in " + filepath.Join("runs", "tiny", "data")}
	command("train", "tiny.yaml", "--dry-run").want(t, exitOK, said...)
	for name := range filesOf(t, "runs") {
		if rest, ok := strings.CutPrefix(name, filepath.Join("runs", "tiny")); ok && rest != "" && !strings.HasPrefix(rest[1:], "data") && rest[1:] != "run.lock" {
			t.Errorf("%s is left", name)
		}
	}
	if !exists(filepath.Join("runs", "tiny", "run.lock")) {
		t.Error("the lock's file was removed, which another process may hold by now")
	}
	command("train", "tiny.yaml", "--max-step", "9").want(t, exitOK, "step limit of 9 reached")
	before := kept(t)
	r := command("train", "tiny.yaml", "--dry-run").want(t, exitOK, "3 steps of the run at step 9", "11 steps", "3 validations", "2 samples", "beside 3 there", "for at most 1 checkpoint at")
	if strings.Contains(r.out, "resumed") || !maps.Equal(before, kept(t)) {
		t.Errorf("the run is not what it was:\n%s", r.out)
	}
	command("train", filepath.Join("runs", "tiny"), "--dry-run").want(t, exitOK, "the run at step 9")
	command("train", "tiny.yaml", "--dry-run", "--set", "seed=6").want(t, exitUsage, "holds a run with other settings")
	command("train", "tiny.yaml").want(t, exitOK, "resumed from step 9 of 20", "done: step 20")
	command("train", "tiny.yaml", "--dry-run").want(t, exitOK, "the run at step 20", "0 steps")
	command("train", "tiny.yaml", "--dry-run", "--out", "whole").want(t, exitOK)
	uninterrupted(t)
	same(t, "whole", filepath.Join("runs", "tiny"))
	command("train", "tiny.yaml", "--dry-run", "--fresh").want(t, exitUsage, "--dry-run and --fresh exclude each other")
	command("train", "tiny.yaml", "--dry-run", "--set", "data.train=gone.txt", "--out", "new").want(t, exitFailure, "the run would not come to its end:\n--set data.train=gone.txt: gone.txt")
	if exists("new") {
		t.Error("a refused dry run leaves its folder")
	}
}

// kept is what the folder of the run tiny holds besides its prepared text.
func kept(t *testing.T) map[string]string {
	t.Helper()
	files := filesOf(t, "runs")
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, filepath.Join("runs", "tiny", "data")) })
	return files
}

// bad is a run with everything wrong that a run file cannot show: its lines are those of the test below.
const bad = `name: bad
init_from: nowhere
data:
  train:
    - gone.txt
    - text.txt
    - lost*.txt
  val: {files: away.txt}
  tokenizer: {kind: byte, file: no.json}
model: {layers: 1, width: 16, heads: 2, context: 16, vocab: 256}
train:
  batch: 2
  steps: 3
checkpoint:
  keep: 2
`

// TestRefusedAtOnce wants all that would fail later in one message, each at its line, before anything is there, from train and from a dry run.
func TestRefusedAtOnce(t *testing.T) {
	inTiny(t)
	withMachine(t, 1000, 1000)
	write(t, "bad.yaml", bad)
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		r := command(append([]string{"train", "bad.yaml"}, dry...)...).want(t, exitFailure, "the run would not come to its end:\nbad.yaml:2: init_from: nowhere does not exist",
			"bad.yaml:4: data.train: gone.txt", "bad.yaml:4: data.train: lost*.txt", "bad.yaml:8: data.val.files: away.txt", "bad.yaml:9: data.tokenizer.file: tokenizer file: open no.json",
			"bad.yaml:12: train.batch: 2 sequences of 16 tokens: the run takes ", "and 1000 B are free", "bad.yaml:15: checkpoint.keep: 2: the run writes ", "in 1 checkpoint, and 1000 B are free")
		if exists("runs") {
			t.Errorf("%v: a folder is left", dry)
		}
		if n := strings.Count(r.errOut, "bad.yaml:"); n != 7 {
			t.Errorf("%d problems, want 7:\n%s", n, r.errOut)
		}
	}
}

// TestRefusedTokens wants what only the tokens show to be said with the rest.
func TestRefusedTokens(t *testing.T) {
	inTiny(t)
	withMachine(t, 1<<33, 1<<40)
	command("train", "tiny.yaml", "--set", "model.position.kind=learned", "--set", "name=short", "--set", "train.steps=1", "--set", "train.schedule.warmup=0").want(t, exitOK)
	write(t, "text.txt", strings.Repeat("ab", 40))
	write(t, "enough.txt", strings.Repeat("ab", 400))
	write(t, "long.yaml", `name: long
init_from: runs/short
data:
  train: text.txt
  val: {fraction: 0.2}
  tokenizer: {kind: char}
model:
  layers: 2
  width: 16
  heads: 2
  kv_heads: 1
  ffn: 32
  context: 64
  vocab: 200
  position: {kind: learned}
train: {steps: 3}
`)
	command("train", "long.yaml").want(t, exitFailure, "long.yaml:2: init_from: runs/short: the weights are of a model with", "long.yaml:4: data.train: the training text is too short (tokens: 64)",
		"long.yaml:5: data.val.fraction: the validation text has 16 tokens", "long.yaml:13: model.context: 64 is beyond the 16 learned positions", "set model.context to 16",
		"long.yaml:14: model.vocab: 200 is smaller than the tokenizer's 256 ids")
	alone := command("train", "long.yaml", "--set", "model.vocab=0", "--set", "data.train=enough.txt", "--set", "data.val.fraction=0.5")
	alone.want(t, exitFailure, "long.yaml:13: model.context: 64 is beyond the 16 learned positions")
	if strings.Contains(alone.errOut, "init_from: runs/short: the weights are of") {
		t.Errorf("one cause is told twice:\n%s", alone.errOut)
	}
	write(t, "char.yaml", "data: {train: text.txt, tokenizer: {kind: char}}\nmodel: {context: 4}\ninit_from: gone\ntrain:\n  sample:\n    prompt: xyz\n")
	command("train", "char.yaml").want(t, exitFailure, "char.yaml:3: init_from: gone does not exist", "char.yaml:6: train.sample.prompt: tokenizer char: U+0078 'x' at byte 0 is not among the 2 characters",
		"; that is so with the tokenizer of data.tokenizer, and init_from, which cannot be read, may have another")
	if r := command("train", "char.yaml", "--set", "init_from="); strings.Contains(r.errOut, "may have another") || r.code != exitFailure {
		t.Errorf("without init_from: %s", r.errOut)
	}
	write(t, "latin.txt", "caf\xe9\n")
	command("train", "tiny.yaml", "--set", "data.train=latin.txt").want(t, exitFailure, "prenorm: latin.txt:1: the bytes e9 0a")
	command("train", "char.yaml", "--set", "data.train=latin.txt").want(t, exitFailure, "char.yaml:3: init_from: gone does not exist", "--set data.train=latin.txt: latin.txt:1: the bytes e9 0a")
	write(t, "empty.txt", "")
	command("train", "tiny.yaml", "--set", "data.val.files=empty.txt").want(t, exitFailure, "--set data.val.files=empty.txt: empty.txt: the file is empty")
	write(t, "one.txt", "x")
	command("train", "tiny.yaml", "--set", "data.train=one.txt").want(t, exitFailure, "tiny.yaml: data.val: the last 0.1 of the text leaves no")
}

// TestRoom holds runs against machines: what is only estimated can be started anyway, and a run that goes on needs no more than what is left.
func TestRoom(t *testing.T) {
	inTiny(t)
	withMachine(t, 1000, 1<<40)
	command("train", "tiny.yaml").want(t, exitFailure, "tiny.yaml:9: train.batch: 2 sequences of 16 tokens: the run takes ", "on the host and 1000 B are free", "lower train.batch and raise train.accumulate")
	command("train", "tiny.yaml", "--ignore-estimates", "--max-step", "1").want(t, exitOK)
	withMachine(t, 0, -1) // neither is known
	command("train", "tiny.yaml", "--dry-run").want(t, exitOK, "not known")
	withMachine(t, 1<<33, 100<<10)
	command("train", "tiny.yaml", "--ignore-estimates").want(t, exitFailure, "tiny.yaml:16: checkpoint.keep: 2: the run writes ", "and 100 KiB are free at "+filepath.Join("runs", "tiny"))
	const guarded = "train.guard={policy: skip, bundles: 90}"
	withMachine(t, 1<<33, 3<<20)
	command("train", "tiny.yaml", "--set", guarded).want(t, exitFailure, "train.guard.bundles: 90: the run writes up to ", "in 90 bundles of steps that are held back, beside ", "3.00 MiB are free")
	write(t, filepath.Join("runs", "tiny", train.BundleFolder, "step-00000001.zip"), "x")
	write(t, filepath.Join("runs", "tiny", train.BundleFolder, ".tmp-step-00000002.zip"), "x")
	command("train", "tiny.yaml", "--set", guarded).want(t, exitFailure, "in 89 bundles of steps")
	command("train", "tiny.yaml", "--set", guarded, "--set", "train.guard.policy=stop", "--dry-run").want(t, exitOK, "and 1 bundle of steps held back")
	size := tokenFiles(t)
	withMachine(t, 1<<33, 1<<40)
	write(t, "text.txt", strings.Repeat(read(t, "text.txt"), quickTimes))
	freeSpace = func(path string) (int64, bool) {
		return map[bool]int64{true: size, false: 1 << 40}[strings.Contains(path, "small")], true
	}
	command("train", "tiny.yaml", "--out", "large", "--set", "data.cache=small").want(t, exitFailure, "--set data.cache=small: the text becomes about ", "left for them at small")
	if exists("large") {
		t.Error("a folder is left")
	}
	must(os.Mkdir("small", 0o777))
	write(t, filepath.Join("small", "train-0123456789abcdef.tokens"), "of another text")
	command("train", "tiny.yaml", "--out", "large", "--set", "data.cache=small").want(t, exitFailure, "the text becomes about ", "left for them at small")
	must(os.Chtimes("text.txt", time.Now(), time.Now().Add(-time.Hour))) // a file that has just been written is read again
	command("train", "tiny.yaml", "--out", "large", "--set", "data.cache=small", "--ignore-estimates", "--max-step", "1").want(t, exitOK)
	command("train", "tiny.yaml", "--out", "again", "--set", "data.cache=small", "--max-step", "1").want(t, exitOK)
}

// quickTimes makes the text of the run tiny larger than what is prepared before memory and disk are looked at.
const quickTimes = 9000

// tokenFiles is the size of the token files of the run tiny.
func tokenFiles(t *testing.T) (size int64) {
	t.Helper()
	for _, path := range filesLike(filepath.Join("runs", "tiny", "data"), "*.tokens") {
		size += sizeOf(path)
	}
	if size < 1000 {
		t.Fatalf("token files of %d bytes", size)
	}
	return size
}

// limited is the CPU as a device with memory of its own.
type limited struct {
	kernels.Backend
	free int64
}

func (l limited) FreeMemory() (int64, error) { return l.free, nil }

// TestRoomDevice has a device with little memory.
func TestRoomDevice(t *testing.T) {
	inTiny(t)
	free := int64(1000)
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		be, err := kernels.Open(name, o)
		return limited{be, free}, err
	})
	command("train", "tiny.yaml").want(t, exitFailure, "train.batch: 2 sequences of 16 tokens: the run takes ", "of memory on cpu and 1000 B are free")
	free = 1 << 30
	command("train", "tiny.yaml", "--dry-run").want(t, exitOK, "memory, device", "memory, host", "1.00 GiB were free")
}

// TestStoppedWhilePreparing ends the start before there is anything to save.
func TestStoppedWhilePreparing(t *testing.T) {
	inTiny(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	commandWith(ctx, "", "train", "tiny.yaml").want(t, exitInterrupted, "stopped: interrupted before the first step, nothing was trained\nto start: prenorm train tiny.yaml")
	if left := slices.Sorted(maps.Keys(filesOf(t, "."))); !slices.Equal(left, []string{".", "text.txt", "tiny.yaml"}) {
		t.Errorf("left: %v", left)
	}
	commandWith(ctx, "", "train", "tiny.yaml", "--dry-run").want(t, exitInterrupted, "stopped: nothing is kept")
	command("train", "tiny.yaml", "--max-step", "5").want(t, exitOK)
	before := kept(t)
	commandWith(ctx, "", "train", "tiny.yaml", "--set", "train.log.every=2").want(t, exitInterrupted, "before the first step", "stopped: interrupted before the first step of this session, the run is as it was\nto go on: prenorm train tiny.yaml")
	commandWith(ctx, "", "train", "tiny.yaml", "--fresh").want(t, exitInterrupted, "nothing was trained\nto start: prenorm train tiny.yaml --fresh\n", "the old run is back in")
	commandWith(ctx, "", "train", "tiny.yaml", "--from-step", "5").want(t, exitInterrupted, "the run is as it was\nto go on: prenorm train tiny.yaml --from-step 5\n")
	if !maps.Equal(before, kept(t)) {
		t.Error("a run that was to go on is not what it was")
	}
}

// TestDryRunLocked wants a folder that another process trains in to be left alone.
func TestDryRunLocked(t *testing.T) {
	inTiny(t)
	if err := os.MkdirAll("mine", 0o777); err != nil {
		t.Fatal(err)
	}
	lock, err := checkpoint.Lock("mine")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	r := command("train", "tiny.yaml", "--dry-run", "--out", "mine")
	if r.code == exitOK || !regexp.MustCompile(`in use by process \d+`).MatchString(r.errOut) {
		t.Errorf("%+v", r)
	}
}
