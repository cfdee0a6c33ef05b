package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/train"
	"prenorm/train/metrics"
)

// TestReplayElsewhere takes the bundle of a step on a GPU to where there is none: it says what to do without, and that does it, in the one
// precision that the CPU has. The GPU is the CPU in disguise, which computes in that alone.
func TestReplayElsewhere(t *testing.T) {
	inTiny(t)
	for _, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionTF32} {
		withGPU(t)
		out := string(precision)
		command("train", "tiny.yaml", "--device", "cuda", "--out", out, "--set", "precision="+out, "--set", "train.optimizer.lr=0.3", "--set", "train.schedule.warmup=0",
			"--set", "train.steps=12", "--set", "train.guard={sigma: 0.01, window: 2}").want(t, exitFailure, "is a spike")
		bundles := filesLike(filepath.Join(out, train.BundleFolder), "*.zip")
		if len(bundles) == 0 {
			t.Fatal("no bundle")
		}
		command("replay", bundles[0]).want(t, exitOK, "same, bit for bit")
		b, err := train.ReadBundle(bundles[0])
		if err != nil {
			t.Fatal(err)
		}
		for products, want := range map[string]string{"own": "own", "cublas": "auto", "": "auto"} { // as cuBLAS need not be there
			b.Report.Products = products
			if run, err := (&replayFlags{}).runOf(b); err != nil || run.Kernels.MatMul != want {
				t.Errorf("recorded with products of %q, replayed with %q, %v", products, run.Kernels.MatMul, err)
			}
		}
		withBrokenGPU(t)
		if r := command("replay", bundles[0]).want(t, exitFailure, "device cuda: no NVIDIA driver\nTo run on the CPU: --device cpu\n"); strings.Contains(r.errOut, "--set") {
			t.Errorf("advises what replay does not have: %s", r.errOut)
		}
		for _, device := range []string{"cpu", "auto"} {
			r := command("replay", bundles[0], "--device", device)
			r.want(t, exitOK, "on cpu\nsame, bit for bit")
			if noted := strings.Contains(r.errOut, "this is fp32 on the CPU"); noted != (precision != kernels.PrecisionFP32) {
				t.Errorf("%s on %s: %s", out, device, r.errOut)
			}
		}
	}
}

// TestOfAnotherDevice wants device, precision and products to be told from those of the step.
func TestOfAnotherDevice(t *testing.T) {
	be := &disguised{cpu.New(1), kernels.PrecisionTF32}
	defer be.Close()
	for _, c := range []struct{ device, precision, products, want string }{
		{"cuda", "tf32", "cublas", ""},
		{"cuda", "tf32", "own", "with matrix products of cublas; bits are those of own"},
		{"cuda", "bf16", "cublas", "on cuda in tf32; bits are those of another device than cuda in bf16"},
		{"cpu", "fp32", "", "on cuda in tf32; bits are those of another device than cpu in fp32"},
	} {
		if got := elsewhere(be, train.Report{Device: c.device, Precision: c.precision, Products: c.products}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestDifference holds what is said of two figures against the limits of their precision.
func TestDifference(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		precision  kernels.Precision
		loss, norm [2]float64
		want       string
	}{
		{kernels.PrecisionFP32, [2]float64{2, 2 * (1 + 5e-7)}, [2]float64{1, 1.00005}, "loss differs by 5.0e-07 of it, gradient norm by 5.0e-05: within 1e-06 and 1e-04, which is rounding"},
		{kernels.PrecisionFP32, [2]float64{2, 2.00001}, [2]float64{1, 1}, "loss differs by 5.0e-06 of it, gradient norm by 0.0e+00: more than"},
		{kernels.PrecisionFP32, [2]float64{2, 2}, [2]float64{1, 1.001}, "gradient norm by 1.0e-03: more than 1e-06 and 1e-04"},
		{kernels.PrecisionBF16, [2]float64{2, 2.002}, [2]float64{1, 0.97}, "loss differs by 1.0e-03 of it, gradient norm by 3.0e-02: within 2e-03 and 4e-02"},
		{kernels.PrecisionBF16, [2]float64{nan, nan}, [2]float64{inf, inf}, "loss differs by 0.0e+00 of it, gradient norm by 0.0e+00: within"},
		{kernels.PrecisionBF16, [2]float64{2, 2}, [2]float64{nan, inf}, "gradient norm by +Inf: more than"},
		{kernels.PrecisionBF16, [2]float64{nan, 2}, [2]float64{inf, -inf}, "loss differs by +Inf of it, gradient norm by +Inf: more than"},
		{kernels.PrecisionBF16, [2]float64{0, 2}, [2]float64{0, 0}, "loss differs by +Inf of it, gradient norm by 0.0e+00: more than"},
	} {
		r := train.Report{Precision: string(c.precision), Loss: metrics.Float(c.loss[0]), GradNorm: metrics.Float(c.norm[0])}
		if got := difference(r, train.Result{Loss: c.loss[1], GradNorm: c.norm[1]}); !strings.Contains(got, c.want) {
			t.Errorf("%v, %v: %q, wants %q", c.loss, c.norm, got, c.want)
		}
	}
}
