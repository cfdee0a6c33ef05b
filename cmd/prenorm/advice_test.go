package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// TestKeepFewer wants a full disk to be met by what does have the run keep fewer checkpoints, and by nothing that does not.
func TestKeepFewer(t *testing.T) {
	inTiny(t)
	withMachine(t, 1<<33, 1000)
	const none, one, fewer, best, every = "", "set checkpoint.keep to 1 or more (0 keeps all)", "lower checkpoint.keep", "lower checkpoint.keep_best", "raise checkpoint.keep_every"
	for policy, want := range map[string]string{
		"{every: 4, keep: 0, keep_best: 0}":                one,
		"{every: 4, keep: 3, keep_best: 0}":                fewer,
		"{every: 4, keep: 2, keep_best: 1}":                fewer + ", " + best,
		"{every: 4, keep: 1, keep_best: 0}":                none,
		"{every: 4, keep: 1, keep_best: 1}":                best,
		"{every: 4, keep: 1, keep_best: 0, keep_every: 8}": every,
		"{every: 0, minutes: 0, keep: 3, keep_best: 0}":    none, // there is but the last
	} {
		if want != none {
			want += ", "
		}
		command("train", "tiny.yaml", "--dry-run", "--set", "train.eval.every=0", "--set", "checkpoint="+policy).want(t, exitFailure, "1000 B are free at "+filepath.Join("runs", "tiny")+": free some, "+want+"or choose another folder with --out")
	}
}

// TestKeptSettingsAreNotPointedAt wants what is wrong with a run that goes on by its own settings never to point into a file of a checkpoint,
// whose change would break it, and what is advised to work.
func TestKeptSettingsAreNotPointedAt(t *testing.T) {
	inTiny(t)
	command("train", "tiny.yaml", "--max-step", "4").want(t, exitOK, "stopped: step limit")
	run := filepath.Join("runs", "tiny")
	if err := os.Rename("text.txt", "moved.txt"); err != nil {
		t.Fatal(err)
	}
	withMachine(t, 1000, 1<<40)
	for _, more := range [][]string{nil, {"--set", "train.batch=0"}, {"--dry-run"}, {"--set", "data.val.files=gone.txt"}} {
		r := command(append([]string{"train", run}, more...)...)
		if r.code == exitOK || strings.Contains(r.errOut, "config.yaml") || strings.Contains(r.errOut, "checkpoints") {
			t.Errorf("%v: %+v", more, r)
		}
	}
	command("train", run).want(t, exitFailure, "\n"+run+": data.train: text.txt", "--set data.train=PATH", "\n"+run+": train.batch: ")
	withMachine(t, 1<<33, 1<<40)
	command("train", run, "--set", "data.train=moved.txt").want(t, exitOK, "resumed from step 4 of 20", "done: step 20")
}

// TestSpikeAdvice wants every command that a run names which a spike has stopped to go past that step.
func TestSpikeAdvice(t *testing.T) {
	inTiny(t)
	spiky := []string{"train", "tiny.yaml", "--set", "train.guard={policy: stop, sigma: 0.01, window: 4}"}
	r := command(spiky...).want(t, exitFailure, "is a spike: ", "is saved, as step ")
	ways := 0
	for line := range strings.Lines(r.errOut) {
		_, args, found := strings.Cut(strings.TrimSpace(line), ": prenorm train tiny.yaml --set 'train.guard={policy: stop, sigma: 0.01, window: 4}' ")
		if !found {
			continue
		}
		ways++
		command(append(spiky, "--fresh")...).want(t, exitFailure, "is saved, as step ")
		again := command(append(spiky, strings.Fields(args)...)...)
		if strings.Contains(args, "sigma") == strings.Contains(again.out, "held back: ") && !strings.Contains(args, "sigma") || again.code == exitUsage ||
			strings.Contains(again.errOut, strings.SplitN(r.errOut, "is a spike", 2)[0]) {
			t.Errorf("%s: %+v", args, again)
		}
	}
	if ways != 3 || strings.Contains(r.errOut, "optimizer.lr") {
		t.Errorf("%d ways:\n%s", ways, r.errOut)
	}
}

// TestReadmeFigures holds the first lines that the README shows of the quickstart against what is planned for it.
func TestReadmeFigures(t *testing.T) {
	readme := read(t, filepath.Join("..", "..", "README.md"))
	line := regexp.MustCompile(`(?m)^    model   (\S+) parameters, pre rmsnorm, (\S+ MiB) activations$`).FindStringSubmatch(readme)
	if line == nil {
		t.Fatal("the README shows no line of the model")
	}
	p := planJSON(t, "quickstart", "--device", "cpu")
	if got := metrics.Count(float64(p.Parameters.Total)); got != line[1] {
		t.Errorf("%s parameters, the README says %s", got, line[1])
	}
	command("plan", "quickstart", "--device", "cpu").want(t, exitOK, line[2]+"  activations and their gradients")
}
