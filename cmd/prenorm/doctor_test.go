package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

func TestDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	r := command("doctor").want(t, exitOK, "ok    program    prenorm", "ok    cpu        a training step agrees with the reference", "ok    folder     ", "backends   cpu, ref")
	if strings.Contains(r.out, "FAIL") {
		t.Errorf("says\n%s", r.out)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestDoctorFindsFaults gives it a backend that computes with other weights, one that does not start, no text, and a folder that is gone.
func TestDoctorFindsFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Run("wrong", func(t *testing.T) {
		withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
			be, err := kernels.Open(name, o)
			return &spy{Backend: be, upload: func(data any) {
				if x, ok := data.([]float32); ok && name == "cpu" && len(x) > 100 {
					x[7] *= 1.001
				}
			}}, err
		})
		command("doctor").want(t, exitFailure, "FAIL  cpu ", "differs from the reference by", "please report it")
	})
	t.Run("silent", func(t *testing.T) {
		withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
			if name == "cpu" {
				return nil, errors.New("does not start")
			}
			return kernels.Open(name, o)
		})
		command("doctor").want(t, exitFailure, "FAIL  cpu        does not start")
	})
	t.Run("text", func(t *testing.T) {
		t.Setenv("GOROOT", t.TempDir())
		command("doctor").want(t, exitOK, "warn  text ", "prenorm train quickstart --set data.train=PATH")
	})
	t.Run("folder", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("the current folder cannot be removed")
		}
		gone := t.TempDir()
		t.Chdir(gone)
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		command("doctor").want(t, exitFailure, "FAIL  folder ", "local disk")
	})
	withBrokenGPU(t)
	if f := examineGPU(tinyResult{}); len(f) != 1 || f[0].status != warning {
		t.Errorf("no GPU: %+v", f)
	}
}

// described is a GPU that tells of itself.
type described struct{ kernels.Backend }

func (described) Describe() ([]kernels.Fact, error) {
	return []kernels.Fact{{Name: "gpu", Value: "a fast one"}, {Name: "cuBLAS", Value: "not found", Remedy: "install it"}}, nil
}

// TestDoctorGPU wants a line for each fact and each precision, and a GPU that is too old to fail.
func TestDoctorGPU(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := tinyStep("ref", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spoil := float32(1)
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		precision := o.Precision
		o.Precision = kernels.PrecisionFP32
		be, err := kernels.Open("cpu", o)
		return described{&spy{Backend: be, upload: func(data any) {
			if x, ok := data.([]float32); ok && precision == kernels.PrecisionBF16 && len(x) > 100 {
				x[7] *= spoil
			}
		}}}, err
	})
	found := examineGPU(want)
	statuses := func() (list []status) {
		for _, f := range found {
			list = append(list, f.status)
		}
		return list
	}
	if got := statuses(); !slices.Equal(got, []status{fine, warning, fine, fine}) || found[1].remedy != "install it" || found[3].what != "cuda bf16" || !strings.Contains(found[3].found, "allowed: 0.01") {
		t.Errorf("found %+v", found)
	}
	spoil = 100
	if found = examineGPU(want); !slices.Equal(statuses(), []status{fine, warning, fine, failed}) {
		t.Errorf("a GPU that computes wrongly in bf16: %+v", found)
	}
	withKernels(t, func(string, kernels.Options) (kernels.Backend, error) {
		return nil, fmt.Errorf("cuda: %w: compute capability 7.5", kernels.ErrUnsuitable)
	})
	if found = examineGPU(want); !slices.Equal(statuses(), []status{failed}) || !strings.Contains(found[0].found, "7.5") || found[0].remedy == "" {
		t.Errorf("an old GPU: %+v", found)
	}
	for driver, err := range map[string]error{"install NVIDIA's driver": kernels.ErrNoDriver, "nvidia-smi": errors.New("cuInit returns error 100")} {
		withKernels(t, func(string, kernels.Options) (kernels.Backend, error) { return nil, fmt.Errorf("cuda: %w", err) })
		if found = examineGPU(want); !slices.Equal(statuses(), []status{warning}) || !strings.Contains(found[0].remedy, driver) {
			t.Errorf("%v: %+v", err, found)
		}
	}
}

// TestWorstError wants whichever of loss and gradients is wrong to count, and what is no number, or missing, to fail.
func TestWorstError(t *testing.T) {
	want := tinyResult{2, []float32{3, 4}}
	nan := float32(math.NaN())
	for _, c := range []struct {
		got  tinyResult
		want float64
	}{
		{want, 0}, {tinyResult{2.5, []float32{3, 4}}, 0.25}, {tinyResult{1.5, []float32{3, 4}}, 0.25}, {tinyResult{2, []float32{3, 4.5}}, 0.1}, {tinyResult{2.5, []float32{3, 4.5}}, 0.25},
		{tinyResult{2, []float32{3}}, math.Inf(1)}, {tinyResult{2, nil}, math.Inf(1)},
	} {
		if e := c.got.worstError(want); e != c.want {
			t.Errorf("%v is wrong by %g, want %g", c.got, e, c.want)
		}
	}
	t.Chdir(t.TempDir())
	one, err := tinyStep("ref", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := examineBackend("cpu", kernels.PrecisionFP32, one); f.status != fine {
		t.Errorf("%+v", f)
	}
	one.gradients[5] = nan
	if f := examineBackend("cpu", kernels.PrecisionFP32, one); f.status != failed {
		t.Errorf("a gradient that is no number: %+v", f)
	}
	if e := (tinyResult{math.NaN(), want.gradients}).worstError(want); e <= 1e30 {
		t.Errorf("a loss that is no number is wrong by %g", e)
	}
}

// TestTinyBF16 wants the reference in bfloat16 well within what the doctor allows a GPU.
func TestTinyBF16(t *testing.T) {
	want, err := tinyStep("ref", kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tinyStep("ref", kernels.Options{Precision: kernels.PrecisionBF16})
	if err != nil {
		t.Fatal(err)
	}
	if e := got.worstError(want); !(e > 0 && e < tinyLimits[kernels.PrecisionBF16]/3) {
		t.Errorf("wrong by %.2g", e)
	}
}

func TestVersion(t *testing.T) {
	info := &debug.BuildInfo{}
	info.Main.Version = "v1.2.3"
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}
	if got := versionOf(info); got != " v1.2.3 commit 0123456789ab with changes" {
		t.Errorf("version %q", got)
	}
	info.Main.Version = "v0.0.0-20260102030405-0123456789ab+dirty"
	if got := versionOf(info); got != " "+info.Main.Version {
		t.Errorf("the commit is shown twice: %q", got)
	}
	for _, v := range []string{"", "(devel)"} {
		info := &debug.BuildInfo{}
		info.Main.Version = v
		if got := versionOf(info); got != " (devel), commit not recorded" {
			t.Errorf("version of nothing %q", got)
		}
		info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "false"}}
		if got := versionOf(info); got != " (devel) commit 0123456789ab" {
			t.Errorf("version of a commit %q", got)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	table := newTable(1)
	table.row("a", "1", "x")
	table.row("long", "1 234", "")
	table.row("é", "", "y")
	table.write(&b, "  ")
	if got, want := b.String(), "  a         1  x\n  long  1 234\n  é            y\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 1234567: "1 234 567", -1234: "-1 234", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}
