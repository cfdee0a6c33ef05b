//go:build gpu

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// needGPU skips a test where there is no driver; where PRENORM_LIBCUDA names one, a missing device is a failure.
func needGPU(t *testing.T) {
	t.Helper()
	be, err := kernels.Open("cuda", kernels.Options{})
	if err == nil {
		err = be.Close()
	}
	if err != nil {
		if os.Getenv("PRENORM_LIBCUDA") != "" {
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

// heap is a GPU whose memory in use is looked at after every allocation.
type heap struct {
	kernels.Backend
	most *int64
}

func (h *heap) Precision() kernels.Precision { return kernels.PrecisionOf(h.Backend) }

func (h *heap) Device() string { return h.Backend.(kernels.Remote).Device() }

func (h *heap) NewArena(bytes int) (kernels.Arena, error) {
	a, err := h.Backend.NewArena(bytes)
	*h.most = max(*h.most, int64(h.Backend.(interface{ Allocated() int }).Allocated()))
	return a, err
}

// TestGPUMemoryIsPlanned holds the bytes that are in use on the device at the most against the plan.
func TestGPUMemoryIsPlanned(t *testing.T) {
	needGPU(t)
	inTiny(t)
	for _, precision := range kernels.Precisions() {
		for _, sets := range [][]string{nil, {"train.accumulate=1", "model.dropout=0", "train.optimizer.kind=sgd"}, {"train.batch=3", "model.tied=false", "model.context=40", "model.norm.kind=layernorm"}} {
			args := []string{"tiny.yaml", "--device", "cuda", "--set", "train.steps=1", "--set", "train.schedule.warmup=0", "--set", "precision=" + string(precision)}
			for _, s := range sets {
				args = append(args, "--set", s)
			}
			planned := planJSON(t, args...)
			if planned.Device != "cuda" || planned.Precision != string(precision) {
				t.Errorf("planned for %s in %s", planned.Device, planned.Precision)
			}
			var most int64
			withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
				be, err := kernels.Open(name, o)
				return &heap{be, &most}, err
			})
			command(append([]string{"train", "--fresh"}, args...)...).want(t, exitOK)
			withKernels(t, openOriginal)
			if most != planned.Memory.Total {
				t.Errorf("%s %v: plan says %d bytes, %d are in use", precision, sets, planned.Memory.Total, most)
			}
		}
	}
}

// TestPlanWithoutDriver plans for a GPU where none can be used.
func TestPlanWithoutDriver(t *testing.T) {
	inTiny(t)
	withBrokenGPU(t)
	command("plan", "tiny.yaml", "--device", "cuda", "--set", "precision=bf16").want(t, exitOK, "memory on cuda in bf16")
	command("plan", "tiny.yaml", "--set", "precision=bf16").want(t, exitOK, "memory on cpu in fp32")
	command("train", "tiny.yaml", "--device", "cuda").want(t, exitFailure, "no NVIDIA driver")
}

// TestGPUOutOfMemory wants what the run takes beside what the device has.
func TestGPUOutOfMemory(t *testing.T) {
	needGPU(t)
	inTiny(t)
	huge := []string{"--device", "cuda", "--set", "model.vocab=16777216", "--set", "model.width=4096", "--set", "model.heads=64"}
	command(append([]string{"train", "tiny.yaml"}, huge...)...).want(t, exitFailure, "out of memory on ", "bytes wanted", "lower train.batch and raise train.accumulate",
		"model.context", "--set precision=bf16", "The run takes ", "were free before it")
}

// TestGPUBench measures on the device, launch by launch too, and wants the course of the steps not to be changed by that.
func TestGPUBench(t *testing.T) {
	needGPU(t)
	inTiny(t)
	be, err := kernels.Open("cuda", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	r, _ := benchJSON(t, "--device", "cuda", "--profile", "trace.json")
	if r.Device != "cuda" || r.GPU == "" || r.MatMul != be.(kernels.Multiplier).Multiplies() || len(r.Kernels) < 15 || r.Train == nil || r.Sample == nil {
		t.Errorf("report %+v", r)
	}
	events := readTrace(t, "trace.json").Events
	begin := -1.0 // no launch begins before the host had made the first upload, which is of its step
	for _, e := range events {
		if e.Name == "upload" && (begin < 0 || e.Start < begin) {
			begin = e.Start
		}
	}
	for _, e := range events {
		if e.Phase != "X" || e.Args["call"] == nil {
			continue
		}
		if e.Start < begin || e.Took <= 0 {
			t.Errorf("%s at %g for %g µs, after %g", e.Name, e.Start, e.Took, begin)
		}
		begin = e.Start
	}
	for i, profile := range [][]string{nil, {"--profile", "run.json"}} {
		command(append([]string{"train", "tiny.yaml", "--device", "cuda", "--set", "train.steps=4", "--out", fmt.Sprint("run", i)}, profile...)...).want(t, exitOK)
	}
	if a, b := timeless(t, "run0"), timeless(t, "run1"); a != b {
		t.Errorf("measurements differ with --profile:\n%s\n%s", a, b)
	}
}

// TestGPUMatMul wants a run and a measurement to say who multiplies.
func TestGPUMatMul(t *testing.T) {
	needGPU(t)
	inTiny(t)
	ways := []string{"own", "auto"}
	if os.Getenv("PRENORM_LIBCUBLAS") != "" {
		ways = append(ways, "cublas")
	}
	for _, way := range ways {
		be, err := kernels.Open("cuda", kernels.Options{MatMul: way})
		if err != nil {
			t.Fatal(err)
		}
		taken := be.(kernels.Multiplier).Multiplies()
		if err := be.Close(); err != nil || way != "auto" && taken != way {
			t.Errorf("%s is %s (%v)", way, taken, err)
		}
		command("train", "tiny.yaml", "--fresh", "--device", "cuda", "--set", "kernels.matmul="+way, "--set", "train.steps=1", "--set", "train.schedule.warmup=0").want(t, exitOK,
			"on cuda into "+filepath.Join("runs", "tiny")+" (matrix products: "+taken+")")
	}
}

// TestGPUDoctor wants every fact of the GPU, and steps in both precisions to agree.
func TestGPUDoctor(t *testing.T) {
	needGPU(t)
	t.Chdir(t.TempDir())
	r := command("doctor").want(t, exitOK, "backends     cpu, cuda, ref", "ok    cuda driver  ", "ok    cuda gpu     ", "cuda memory", "cuda cuBLAS", "ok    cuda         a training step",
		"ok    cuda bf16    a training step agrees with the reference")
	if lines := strings.Split(r.out, "\n"); slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "FAIL") }) {
		t.Error(r.out)
	}
}
