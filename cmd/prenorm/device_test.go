package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
)

// withBrokenGPU makes the build know GPUs, with none that can be used.
func withBrokenGPU(t *testing.T) {
	t.Helper()
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		if name == "cuda" {
			return nil, errors.New("no NVIDIA driver")
		}
		return kernels.Open(name, o)
	})
	withKnown(t, []string{"cpu", "cuda", "ref"})
}

// TestStoredDevice brings a run whose device is a GPU to a machine without one, in a build that knows GPUs and in one that does not. Reading
// it works, and going on with it says how.
func TestStoredDevice(t *testing.T) {
	for _, precision := range []string{"fp32", "tf32"} {
		inTiny(t)
		withGPU(t)
		command("train", "tiny.yaml", "--max-seconds", "1e-9", "--device", "cuda", "--set", "precision="+precision).want(t, exitOK, "on cuda", "stopped:")
		run := filepath.Join("runs", "tiny")
		own := filepath.Join(run, "config.yaml")
		remedy := "To run on the CPU: --device cpu"
		if precision != "fp32" {
			remedy += " --set precision=fp32"
		}
		reading := [][]string{{"sample", run, "--tokens", "3"}, {"eval", run}, {"plan", own}, {"plan", own, "--device", "cpu"}, {"sample", run, "--tokens", "3", "--device", "cpu"}}
		withBrokenGPU(t)
		for _, args := range reading {
			r := command(args...).want(t, exitOK)
			if auto := len(args) < 4 || args[len(args)-1] == "3"; auto != strings.Contains(r.errOut, "note: the GPU cannot be used") {
				t.Errorf("%v says %q", args, r.errOut)
			}
			if lacks := precision != "fp32"; lacks != strings.Contains(r.errOut, "this is fp32 on the CPU") {
				t.Errorf("%v says %q", args, r.errOut)
			}
		}
		command("train", run).want(t, exitFailure, "device cuda: no NVIDIA driver\n"+remedy+"\n")
		command("sample", run, "--device", "cuda").want(t, exitFailure, "no NVIDIA driver")
		command("check", "x.safetensors", "--device", "cuda", "--precision", precision).want(t, exitFailure, "device cuda: no NVIDIA driver\n"+strings.Replace(remedy, "--set precision=", "--precision ", 1)+"\n")
		if precision != "fp32" {
			command("train", "tiny.yaml", "--fresh", "--set", "precision="+precision).want(t, exitFailure, "needs a GPU, and there is none to use: no NVIDIA driver\nTo run on the CPU: --set precision=fp32\n")
		}
		withKernels(t, openOriginal)
		withoutGPU(t)
		for _, args := range reading {
			command(args...).want(t, exitOK)
		}
		command("eval", run).want(t, exitOK, "note: the run's ", "on the CPU")
		command("train", run).want(t, exitUsage, "this build has no CUDA backend", "\n"+remedy+"\n")
		command("check", "x.safetensors", "--device", "cuda").want(t, exitUsage, "this build has no CUDA backend", "\nTo run on the CPU: --device cpu\n")
		args := strings.Fields("train " + run + strings.TrimPrefix(remedy, "To run on the CPU:"))
		command(args...).want(t, exitOK, "on cpu into", "done: step 20 of 20")
	}
}

// TestDeviceFlag wants the help to say whose device is taken without the flag, and commands that read no run's device to know the words.
func TestDeviceFlag(t *testing.T) {
	for _, name := range []string{"sample", "eval", "plan", "lab init"} {
		command(append(strings.Fields(name), "--help")...).want(t, exitOK, `the GPU where one can be used, else the CPU (default "auto")`)
	}
	for _, name := range []string{"train", "bench", "lab compare"} {
		command(append(strings.Fields(name), "--help")...).want(t, exitOK, "auto, cpu or cuda (default the run's own)")
	}
	inTiny(t)
	for _, args := range []string{"sample x --device tpu", "eval x --device tpu", "plan tiny.yaml --device tpu"} {
		command(strings.Fields(args)...).want(t, exitUsage, `--device "tpu" is not known (allowed: auto, cpu, cuda)`)
	}
}

// TestPlanInFloat32 plans on the CPU what only a GPU trains.
func TestPlanInFloat32(t *testing.T) {
	for _, args := range []string{"plan llama-15m --device cpu", "plan llama-15m"} {
		command(append(strings.Fields(args), "--set", "train.batch=1")...).want(t, exitOK, "precision is bf16, which needs a GPU; this is fp32 on the CPU", "memory on cpu in fp32")
	}
}

// TestMatMulOnTheCPU wants a choice of who multiplies on a GPU to be said to be idle, wherever the CPU comes from.
func TestMatMulOnTheCPU(t *testing.T) {
	inTiny(t)
	withBrokenGPU(t)
	train, bench := []string{"train", "tiny.yaml", "--fresh", "--max-seconds", "1e-9"}, []string{"bench", "sample", "--config", "tiny.yaml", "--seconds", "0.01"}
	const cublas, said = "kernels.matmul=cublas", "warning: --set kernels.matmul=cublas: is not used "
	for _, args := range [][]string{train, bench} {
		for _, device := range []string{"cpu", "auto"} {
			with := append(args[:len(args):len(args)], "--device", device)
			if r := command(append(with, "--set", cublas)...).want(t, exitOK); strings.Count(r.errOut, said) != 1 {
				t.Errorf("%v on %s says %q", args, device, r.errOut)
			}
			if r := command(with...).want(t, exitOK); strings.Contains(r.errOut, "kernels.matmul") {
				t.Errorf("%v on %s says %q", args, device, r.errOut)
			}
		}
	}
	withGPU(t)
	if r := command(append(train, "--device", "auto", "--set", cublas)...).want(t, exitOK, "on cuda"); strings.Contains(r.errOut, said) {
		t.Errorf("a GPU uses it: %q", r.errOut)
	}
}
