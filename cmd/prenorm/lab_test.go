package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesIn wants files of a folder to be there and not to be empty.
func filesIn(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s in %s: %v", name, dir, err)
		}
	}
}

func TestLabInit(t *testing.T) {
	t.Chdir(t.TempDir())
	command("lab", "init", "--placements", "pre,deepnorm", "--depths", "1,2", "--widths", "16,24", "--seeds", "1").
		want(t, exitOK, "p of gradient", "independent", "independent: p of the same gradient", "first/last: ", "stream: RMS", "S5  deepnorm", "written: "+filepath.Join("runs", "lab", "init", "report.html"))
	filesIn(t, filepath.Join("runs", "lab", "init"), "report.html", "init-16.csv", "init-24.csv", "gradient-by-depth-16.svg", "stream-by-block-24.png", "laws-16.csv")
	command("lab", "init", "--setup", "own", "--placements", "none", "--depths", "2", "--widths", "16", "--init", "gpt2", "--out", "o").want(t, exitOK, "none")
	filesIn(t, "o", "report.html", "init.csv", "stream-by-block.svg")
}

func TestLabPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	command("lab", "paths", "--placements", "pre,post", "--layers", "2", "--width", "16", "--context", "4", "--seeds", "1", "--out", "p").want(t, exitOK, "k = 0", "sum's error", "straight, a sub-layer: ", "sum's error: ", "k = 0's error: ")
	filesIn(t, "p", "report.html", "paths.csv", "shares.svg", "straight.png")
}

func TestLabTraining(t *testing.T) {
	inTiny(t)
	args := []string{"tiny.yaml", "--placements", "pre,post", "--lrs", "0.01,0.003", "--seeds", "1", "--set", "train.steps=5", "--set", "train.schedule.warmup=0", "--out", "c"}
	first := command(append([]string{"lab", "compare"}, args...)...).want(t, exitOK, "4 runs of 5 steps into c", "At the best rate of each", "slow: above it by none", "unigram: within", "fell back: more", "diverged: not", "fastest step, ms")
	if strings.Contains(first.errOut, "kept") || !strings.Contains(first.errOut, "4 of 4") {
		t.Errorf("the first start says %s", first.errOut)
	}
	filesIn(t, "c", "report.html", "best.csv", "places.csv", "sweep.svg", "curves.png", "gradients.png")
	again := command(append([]string{"lab", "lr"}, args...)...).want(t, exitOK, "advised rate", "largest stable rate")
	if strings.Count(again.errOut, "kept from before") != 4 {
		t.Errorf("runs that both commands need were trained again: %s", again.errOut)
	}
	command("lab", "lr", "tiny.yaml", "--placements", "post", "--lrs", "0.01", "--warmups", "0,2", "--set", "train.steps=5", "--out", "c").want(t, exitOK, "advised warm-up", "shown as well: 3 runs", "pre        ")
	wide := command("lab", "compare", "tiny.yaml", "--placements", "none", "--lrs", "0.01", "--seeds", "1", "--set", "train.steps=5", "--set", "train.schedule.warmup=0", "--out", "c").
		want(t, exitOK, "shown as well: 5 runs")
	if page, err := os.ReadFile(filepath.Join("c", "report.html")); err != nil || !strings.Contains(string(page), "<td class=\"\">post</td>") || strings.Count(wide.out, "  post ") < 4 {
		t.Errorf("runs of earlier commands are not shown: %v, %s", err, wide.out)
	}

	command("train", "tiny.yaml", "--set", "train.steps=4", "--set", "train.schedule.warmup=0", "--out", "r").want(t, exitOK)
	out := command("lab", "drop", "r", "r", "--windows", "3", "--out", "d").want(t, exitOK, "block 2 (layers.1)", "rise", "the first is layers.0").out
	if strings.Count(out, "block 1 ") != 2 {
		t.Errorf("two runs: %s", out)
	}
	filesIn(t, "d", "report.html", "drop.csv", "drop.svg", "drop.png")
}

func TestLabRefuses(t *testing.T) {
	inTiny(t)
	for _, c := range []struct{ args, want string }{
		{"init --placements pre,norm", `there is no "norm"`},
		{"init --placements mix --depths 2,4", "mix of 2 layers: norm.placement: mix needs 4 layers"},
		{"init --placements pre,post,pre", "pre is given twice"},
		{"init --seeds 1,2,1", "1 is given twice"},
		{"paths --placements mix --layers 3", "mix of 3 layers: norm.placement: mix needs 4 layers"},
		{"paths --width 7", "heads: 4 does not divide width 7"},
		{"init --placements=", "at least one placement"},
		{"init --seeds a", "--seeds"},
		{"init --depths 6,6", "ascending"},
		{"init --setup lab", "wants norms or own"},
		{"init --init he", "fan_in, xavier or gpt2"},
		{"paths --layers 13", "1 to 12 blocks"},
		{"paths --batch 0", "16384 tokens"},
		{"compare", "takes one run file"},
		{"compare tiny.yaml --lrs 0", "learning rates above 0"},
		{"compare tiny.yaml --warmups 20", "0 to 19"},
		{"compare tiny.yaml --placements mix", "needs 4 layers"},
		{"compare tiny.yaml --jobs -1", "wants 0 or more"},
		{"compare tiny.yaml --set model.vocab=9", "9 is smaller than"},
		{"compare tiny.yaml --lrs abc", `--lrs "abc": wants numbers above 0 such as 1e-3`},
		{"compare tiny.yaml --lrs 1e-3,NaN", `--lrs "NaN": wants numbers above 0`},
		{"compare tiny.yaml --lrs=", "want learning rates above 0"},
		{"compare tiny.yaml --seeds 1,x", `--seeds "x": wants whole numbers such as 1,2`},
		{"compare tiny.yaml --seeds=", "at least one seed"},
		{"lr tiny.yaml --warmups 1.5", `--warmups "1.5": wants whole numbers such as 0,50`},
		{"init --depths four", `--depths "four": wants whole numbers`},
		{"init --widths 9,", `--widths "": wants whole numbers`},
		{"lr tiny.yaml --set train.steps=5 --set train.schedule.warmup=9", "--set train.schedule.warmup=-1"},
		{"drop", "takes folders of runs"},
		{"drop none", "does not exist"},
		{"drop none --windows -1", "0 or more"},
		{"norms", `there is no command "norms"`},
	} {
		r := command(append([]string{"lab"}, strings.Fields(c.args)...)...)
		if r.code == exitOK || !strings.Contains(r.errOut, c.want) {
			t.Errorf("lab %s: exit code %d, %s, want %q", c.args, r.code, r.errOut, c.want)
		}
	}
}

// TestLabRates wants help to show rates as people type them, and a flag that is given twice to have the entries of both.
func TestLabRates(t *testing.T) {
	command("lab", "lr", "--help").want(t, exitOK, "3e-4,1e-3,3e-3,1e-2,3e-2")
	command("lab", "compare", "--help").want(t, exitOK, "(default 1,2)")
	t.Chdir(t.TempDir())
	command("lab", "init", "--placements", "pre", "--depths", "1", "--depths", "2,3", "--widths", "16", "--seeds", "1").want(t, exitOK, "L=1", "L=2", "L=3")
}
