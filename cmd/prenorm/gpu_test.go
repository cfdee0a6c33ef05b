//go:build gpu

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/configs"
	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
)

// These tests need a GPU, or the software driver, which computes a training step of the quickstart in seconds. PRENORM_SLOW=1 runs them at
// full size.

// needGPU has a test look for the GPU as the program does, and skips it where there is no driver. Where PRENORM_LIBCUDA names a driver, a
// device that cannot be used is a failure, but for the path of a file that is not there, which is how to test without a driver where there is one.
func needGPU(t *testing.T) {
	t.Helper()
	withKnown(t, kernels.Names())
	be, err := kernels.Open("cuda", kernels.Options{})
	if err == nil {
		err = be.Close()
	}
	if err != nil {
		library := os.Getenv("PRENORM_LIBCUDA")
		if absent := filepath.IsAbs(library) && !exists(library); library != "" && !absent {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// course trains a model for some steps on tokens that follow a rule, and returns the losses and the gradient norms.
func course(t *testing.T, device string, p kernels.Precision, run configs.Run, steps int) (losses, norms []float64) {
	t.Helper()
	be, err := kernels.Open(device, kernels.Options{Precision: p, MatMul: "own"})
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	w, err := model.NewWeights(be, run.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Initialise(run.Seed); err != nil {
		t.Fatal(err)
	}
	s, err := train.NewStepper(w, train.StepOptions{Batch: run.Train.Batch, Context: run.Model.Context, Accumulate: 1, Optimizer: run.Train.Optimizer, Clip: run.Train.Clip})
	if err != nil {
		t.Fatal(err)
	}
	for step := range steps {
		b := &batch.Batch{B: run.Train.Batch, T: run.Model.Context}
		at := step
		for range b.B * b.T {
			b.Inputs = append(b.Inputs, int32(at))
			at = (5*at + 7) % 32
			b.Targets = append(b.Targets, int32(at))
		}
		lr := run.Train.Optimizer.LR * min(1, float64(step+1)/10)
		r, err := s.Step(context.Background(), int64(step+1), lr, []*batch.Batch{b})
		if err != nil {
			t.Fatal(err)
		}
		losses, norms = append(losses, r.Loss), append(norms, r.GradNorm)
	}
	return losses, norms
}

// quickstart is the preset with a part of its batch.
func quickstart(t *testing.T, divide int) configs.Run {
	t.Helper()
	l, err := configs.Load("quickstart", nil)
	if err != nil {
		t.Fatal(err)
	}
	run := l.Run
	run.Model.Vocab = run.Data.Tokenizer.Vocab
	if os.Getenv("PRENORM_SLOW") == "" {
		run.Train.Batch /= divide
	}
	return run
}

// TestGPUSteps holds twenty steps of the quickstart's model on the GPU against the CPU's, at half of its learning rate: at the full one the
// gradient of so small a batch jumps, and every difference with it. A difference of one rounding grows from step to step, so the limit in
// float32 is far above it. In bf16 the software driver is within 2.5e-4 of float32 in the loss and 7.1e-3 in the norm.
func TestGPUSteps(t *testing.T) {
	needGPU(t)
	for _, c := range []struct {
		precision  kernels.Precision
		divide     int
		loss, norm float64
	}{{kernels.PrecisionFP32, 16, 1e-3, 1e-3}, {kernels.PrecisionBF16, 16, 2e-3, 3e-2}} {
		t.Run(string(c.precision), func(t *testing.T) {
			run := quickstart(t, c.divide)
			run.Train.Optimizer.LR /= 2
			const steps = 20
			wantLoss, wantNorm := course(t, "cpu", kernels.PrecisionFP32, run, steps)
			loss, norm := course(t, "cuda", c.precision, run, steps)
			if wantLoss[steps-1] > 0.7*wantLoss[0] {
				t.Errorf("losses %v: nothing is learnt", wantLoss)
			}
			var worst [2]float64
			for i := range steps {
				worst[0], worst[1] = max(worst[0], math.Abs(loss[i]/wantLoss[i]-1)), max(worst[1], math.Abs(norm[i]/wantNorm[i]-1))
				if !(math.Abs(loss[i]/wantLoss[i]-1) <= c.loss) || !(math.Abs(norm[i]/wantNorm[i]-1) <= c.norm) {
					t.Errorf("step %d: loss %g and norm %g, on the CPU %g and %g", i+1, loss[i], norm[i], wantLoss[i], wantNorm[i])
				}
			}
			t.Logf("worst errors: loss %.2g, norm %.2g; loss from %.4f to %.4f", worst[0], worst[1], loss[0], loss[steps-1])
		})
	}
}

// measured reads the losses and gradient norms of a run.
func measured(t *testing.T, run string) []float64 {
	t.Helper()
	var list []float64
	for line := range strings.Lines(read(t, filepath.Join(run, "metrics.jsonl"))) {
		var r struct {
			Kind string
			Loss float64
			Norm float64 `json:"grad_norm"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case "train":
			list = append(list, r.Loss, r.Norm)
		case "eval":
			list = append(list, r.Loss)
		}
	}
	return list
}

// TestGPUCheckpoints stops a run on one device and goes on with it on the other, in both directions.
func TestGPUCheckpoints(t *testing.T) {
	needGPU(t)
	inTiny(t)
	command("train", "tiny.yaml", "--device", "cpu", "--out", "whole").want(t, exitOK)
	want := measured(t, "whole")
	for _, devices := range [][2]string{{"cpu", "cuda"}, {"cuda", "cpu"}} {
		out := devices[0] + "-" + devices[1]
		ctx, cancel := context.WithCancel(context.Background())
		withKernels(t, hooked(11, cancel))
		commandWith(ctx, "", "train", "tiny.yaml", "--device", devices[0], "--out", out).want(t, exitInterrupted, "on "+devices[0]+" into", "stopped: interrupted at step 10 of 20")
		withKernels(t, openOriginal)
		command("train", "tiny.yaml", "--device", devices[1], "--out", out).want(t, exitOK, "on "+devices[1]+" into", "resumed from step 10 of 20", "done: step 20 of 20")
		got := measured(t, out)
		if len(got) != len(want) {
			t.Fatalf("%s: %d figures, want %d", out, len(got), len(want))
		}
		for i := range want {
			if !(math.Abs(got[i]/want[i]-1) <= 1e-3) {
				t.Errorf("%s: figure %d is %g, in a run without a stop %g", out, i, got[i], want[i])
			}
		}
	}
}

// TestGPUSameSeed wants the same bytes of a run that is done twice, and others with another seed.
func TestGPUSameSeed(t *testing.T) {
	needGPU(t)
	inTiny(t)
	for _, precision := range kernels.Precisions() {
		t.Run(string(precision), func(t *testing.T) {
			var files [3]map[string]string
			for i, seed := range []int{5, 5, 6} {
				out := fmt.Sprint(precision, "-", i)
				command("train", "tiny.yaml", "--device", "cuda", "--set", "train.steps=6", "--set", "precision="+string(precision), "--set", fmt.Sprint("seed=", seed), "--out", out).want(t, exitOK)
				files[i] = map[string]string{}
				dir := filepath.Join(out, "checkpoints", "step-00000006")
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					files[i][e.Name()] = read(t, filepath.Join(dir, e.Name()))
				}
			}
			if len(files[0]) < 4 {
				t.Fatalf("a checkpoint has %d files", len(files[0]))
			}
			for name, text := range files[0] {
				if files[1][name] != text {
					t.Errorf("%s differs between two runs of one seed", name)
				}
			}
			if files[0]["model.safetensors"] == files[2]["model.safetensors"] {
				t.Error("another seed gives the same weights")
			}
		})
	}
}
