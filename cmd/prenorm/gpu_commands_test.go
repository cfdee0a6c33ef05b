//go:build gpu

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

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

// TestGPUOutOfMemory wants what the run takes beside what the device has.
func TestGPUOutOfMemory(t *testing.T) {
	needGPU(t)
	inTiny(t)
	huge := []string{"--device", "cuda", "--set", "model.vocab=16777216", "--set", "model.width=4096", "--set", "model.heads=64"}
	command(append([]string{"train", "tiny.yaml"}, huge...)...).want(t, exitFailure, "tiny.yaml:9: train.batch: ", "of memory on cuda and ")
	withMachine(t, 1<<62, 1<<62) // so that only the device is too small
	command(append([]string{"train", "tiny.yaml", "--ignore-estimates"}, huge...)...).want(t, exitFailure, "out of memory on ", "bytes wanted", "lower train.batch and raise train.accumulate",
		"model.context", "--set precision=bf16", "The run takes ", "were free before it")
}

// TestPlanWithoutDriver plans for a GPU where none can be used.
func TestPlanWithoutDriver(t *testing.T) {
	inTiny(t)
	withBrokenGPU(t)
	command("plan", "tiny.yaml", "--device", "cuda", "--set", "precision=bf16").want(t, exitOK, "memory on cuda in bf16")
	command("plan", "tiny.yaml", "--set", "precision=bf16").want(t, exitOK, "memory on cpu in fp32")
	command("train", "tiny.yaml", "--device", "cuda").want(t, exitFailure, "no NVIDIA driver")
}

// TestNoDriver runs this build where there is no driver. A GPU that is asked for and missing is a failure of the machine, not a mistake of the
// command line.
func TestNoDriver(t *testing.T) {
	inTiny(t)
	t.Setenv("PRENORM_LIBCUDA", filepath.Join(t.TempDir(), "libcuda.so.1"))
	golden := filepath.Join(t.TempDir(), "x.safetensors")
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"doctor", exitOK, []string{"backends   cpu, cuda, ref", "warn  cuda       cuda: no NVIDIA driver", "install NVIDIA's driver"}},
		{"train tiny.yaml --device cuda", exitFailure, []string{"no NVIDIA driver", "To run on the CPU: --device cpu\n"}},
		{"train tiny.yaml --set precision=bf16", exitFailure, []string{"precision bf16 needs a GPU", "no NVIDIA driver", "To run on the CPU: --set precision=fp32\n"}},
		{"bench --config tiny.yaml --device cuda", exitFailure, []string{"no NVIDIA driver"}},
		{"check " + golden + " --device cuda", exitFailure, []string{"no NVIDIA driver", "To run on the CPU: --device cpu\n"}},
		{"check " + golden + " --device cuda --precision bf16", exitFailure, []string{"no NVIDIA driver", "To run on the CPU: --device cpu --precision fp32\n"}},
		{"train tiny.yaml --max-seconds 1e-9", exitOK, []string{"note: the GPU cannot be used, so this runs on the CPU: cuda: no NVIDIA driver", "on cpu into"}},
		{"plan tiny.yaml --set precision=bf16", exitOK, []string{"note: the GPU cannot be used", "memory on cpu in fp32"}},
		{"plan tiny.yaml --set precision=bf16 --device cuda", exitOK, []string{"memory on cuda in bf16"}},
	} {
		process(t, withRealGPU, strings.Fields(c.args)...).want(t, c.code, c.want...)
	}
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

// TestGPUWideHead wants a head dimension that the GPU has no kernel for to name what is left.
func TestGPUWideHead(t *testing.T) {
	needGPU(t)
	inTiny(t)
	wide := []string{"train", "tiny.yaml", "--max-seconds", "1e-9", "--set", "model.heads=1", "--set", "model.width=258"}
	command(append(wide, "--device", "auto")...).want(t, exitFailure, "a head dimension of 258, the cuda backend has kernels up to 256 (take more heads, a smaller head_dim, or the device cpu)")
	command(append(wide, "--device", "cpu")...).want(t, exitOK, "on cpu into")
}
