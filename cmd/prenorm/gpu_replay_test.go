//go:build gpu

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/train"
)

// TestGPUReplay lets runs go wrong for real on the GPU, in each precision: their bundles give the step again there, bit for bit, and spikes
// are those of the CPU within what rounding explains.
func TestGPUReplay(t *testing.T) {
	needGPU(t)
	inTiny(t)
	for _, precision := range kernels.Precisions() {
		for cause, sets := range map[string][]string{
			"wild":  {"train.optimizer.kind=sgd", "train.optimizer.lr=10", "model.norm.placement=none", "model.init.std=0.9", "train.clip=0", "train.optimizer.momentum=0.9", "train.schedule.warmup=0"},
			"spike": {"train.steps=12", "train.optimizer.lr=0.3", "train.schedule.warmup=0", "train.guard={sigma: 0.01, window: 2}"},
		} {
			out := cause + "-" + string(precision)
			args := []string{"train", "tiny.yaml", "--device", "cuda", "--out", out, "--set", "kernels.matmul=own", "--set", "precision=" + string(precision)}
			for _, s := range sets {
				args = append(args, "--set", s)
			}
			trained := command(args...)
			bundles := filesLike(filepath.Join(out, train.BundleFolder), "*.zip")
			if len(bundles) == 0 {
				t.Fatalf("%s: no bundle\n%s%s", out, trained.out, trained.errOut)
			}
			command("replay", bundles[0]).want(t, exitOK, "recorded on cuda in "+string(precision), "same, bit for bit")
			if cause == "wild" {
				continue // what overflows in one precision need not in another
			}
			cpu := command("replay", bundles[0], "--device", "cpu").want(t, exitOK, "held back here too, on cpu in fp32; bits are those of another device than cuda in "+string(precision), "which is rounding")
			if noted := strings.Contains(cpu.errOut, "the run's precision is "+string(precision)+", which needs a GPU; this is fp32 on the CPU"); noted != (precision != kernels.PrecisionFP32) {
				t.Errorf("%s: %s", out, cpu.errOut)
			}
		}
	}
}

// TestGPUVerifyResume kills processes that train on the GPU, in each precision, and wants the run that goes on to be the one without the kill.
func TestGPUVerifyResume(t *testing.T) {
	needGPU(t)
	inTiny(t)
	t.Setenv(asCommand, withRealGPU)
	for _, settings := range []string{
		"precision=fp32 checkpoint.background=never train.accumulate=1",
		"precision=tf32 checkpoint.background=always model.dropout=0",
		"precision=bf16 checkpoint.background=always train.optimizer.lr=0.1 train.schedule.warmup=0 train.guard={policy:rewind,sigma:0.01,window:2,limit:4,every:1,bundles:1}",
	} {
		args := []string{"verify-resume", "tiny.yaml", "--device", "cuda", "--steps", "4", "--out", settings[10:14]}
		for _, s := range strings.Fields(settings) {
			args = append(args, "--set", strings.ReplaceAll(strings.ReplaceAll(s, ":", ": "), ",", ", "))
		}
		r := command(args...)
		r.want(t, exitOK, sameAfter(r, 4))
		if text := read(t, filepath.Join(settings[10:14], "parts/metrics.jsonl")); strings.Contains(settings, "rewind") != strings.Contains(text, `"action":"rewind"`) {
			t.Errorf("%s: the measurements are\n%s", settings, text)
		}
	}
}
