package main

import (
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/train"
)

// TestInspect trains with inspection and looks at what the command makes of it.
func TestInspect(t *testing.T) {
	inTiny(t)
	run := filepath.Join("runs", "tiny")
	command("train", "tiny.yaml", "--set", "train.inspect.every=6").want(t, exitOK)
	r := command("inspect", run).want(t, exitOK, "step 20, the stream at each sub-layer", "  layers.1.mlp ", "  layers.0.attn ", "layers.0 is the first block", "over time", "step 20, matrices", "self_attn.q_proj.weight ")
	for _, step := range []string{"1", "6", "12", "18", "20"} {
		if !strings.Contains(r.out, "\n  "+strings.Repeat(" ", 4-len(step))+step+"  ") {
			t.Errorf("step %s is not in the table over time:\n%s", step, r.out)
		}
	}
	if up, down := strings.Index(r.out, "layers.1.mlp"), strings.Index(r.out, "layers.0.attn"); up > down {
		t.Error("the first sub-layer is not at the bottom")
	}
	command("inspect", run, "--step", "6", "--matrices").want(t, exitOK, "step 6, the stream", "layers.1.mlp.down_proj.weight ")
	command("inspect", run, "--step", "7").want(t, exitFailure, "--step 7 was not inspected; inspected were steps 1, 6, 12, 18, 20")
	command("inspect", run, "--plot", "a.jpg").want(t, exitUsage, "ends in .png, .svg, .pdf")
	command("inspect", run, "--plot", "a.png").want(t, exitOK, "a.png: 5 inspected steps")
	file, err := os.Open("a.png")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if picture, _, err := image.Decode(file); err != nil || picture.Bounds().Dx() < 500 {
		t.Errorf("the picture: %v", err)
	}
	if title, want := titleOf(run), "tiny: pre rmsnorm, 2 layers of width 16"; title != want {
		t.Errorf("title %q, want %q", title, want)
	}
}

// TestInspectWithoutRecords wants to be told what to do.
func TestInspectWithoutRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	command("inspect", "runs/nowhere").want(t, exitFailure, "runs/nowhere holds no metrics.jsonl: give the folder of a run")
	write(t, filepath.Join("run", train.MetricsFile), `{"kind":"note","step":1,"text":"x"}`+"\n")
	command("inspect", "run").want(t, exitFailure, "no step was inspected: train with --set train.inspect.every=50")
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1.00", 12.345: "12.3", 123.4: "123", 0.0123: "0.0123", 0.9999: "1.00", 0.00999: "9.99e-3", 0.00123: "1.23e-3", 123456: "1.23e+05", 1.5e-12: "1.50e-12"} {
		if got := figure(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}
