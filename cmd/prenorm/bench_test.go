package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/train/bench"
)

func benchJSON(t *testing.T, args ...string) (r bench.Report, text string) {
	t.Helper()
	got := command(append([]string{"bench", "--json", "--config", "tiny.yaml", "--seconds", "0.01"}, args...)...).want(t, exitOK)
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v in\n%s", err, got.out)
	}
	return r, got.out
}

// TestBench wants every part to be there, with figures that fit each other.
func TestBench(t *testing.T) {
	inTiny(t)
	r, text := benchJSON(t, "--profile", "trace.json")
	if r.Name != "tiny" || r.Device != "cpu" || r.Precision != "fp32" || r.Batch != 2 || r.Accumulate != 3 || r.Ceilings.Copy <= 0 || r.Ceilings.MatMul <= 0 {
		t.Errorf("report %+v", r)
	}
	alone := map[string]int{}
	for _, k := range r.Kernels {
		alone[k.Kernel] += k.Launches
		if !(k.Seconds > 0 && k.Share > 0 && k.GBs > 0) || math.IsInf(k.Share, 0) || k.Naive <= 0 || k.Shape == "" || k.Path == "" {
			t.Errorf("kernel %+v", k)
		}
	}
	var all, inAll float64
	once := map[string]bool{"adamw": true, "clip_factor": true, "global_norm": true, "fill": true}
	for _, k := range r.Train.Kernels {
		all += k.Of
		inAll += k.Seconds
		want := 3 * alone[k.Kernel]
		if once[k.Kernel] {
			want = alone[k.Kernel]
		}
		if k.Launches != want {
			t.Errorf("%s is launched %d times a step, the listing says %d", k.Kernel, k.Launches, want)
		}
	}
	if math.Abs(all-1) > 1e-9 || math.Abs(r.Train.InKernels()/inAll-1) > 1e-9 {
		t.Errorf("the kernels' shares add up to %v, their times to %v, said is %v", all, inAll, r.Train.InKernels())
	}
	m, p := r.Train, planJSON(t, "tiny.yaml")
	if want := p.Memory.Weights + p.Memory.Gradients + p.Memory.Moments + p.Memory.Train; m.Memory != want {
		t.Errorf("memory %d, plan says %d", m.Memory, want)
	}
	if want := float64(p.Tokens.Step) / m.Median; math.Abs(m.Tokens/want-1) > 1e-9 || math.Abs(m.ShareOfPeak*r.Ceilings.Arithmetic()/m.GFLOPs-1) > 1e-9 || math.Abs(p.Arithmetic.Step/m.Median/1e9/m.GFLOPs-1) > 1e-9 {
		t.Errorf("training %+v of %+v", m, p)
	}
	if m.Min > m.Median || m.Steps < 3 || !(m.Loss > math.Log(256) && m.Loss < math.Log(256)+0.7) { // logits start with a variance near 1, which costs half a nat
		t.Errorf("training %+v", m)
	}
	if r.Ceilings.Peak <= 0 || r.Ceilings.Read <= 0 {
		t.Errorf("ceilings %+v", r.Ceilings)
	}
	if len(r.Sample) != 3 {
		t.Fatalf("sampling %+v", r.Sample)
	}
	for i, s := range r.Sample {
		if want := []string{"fp32", "bf16", "int8"}[i]; s.Weights != want || s.Prefill <= 0 || s.Decode <= 0 || s.Prompt != 8 {
			t.Errorf("sampling %+v", s)
		}
		if math.Abs(float64(s.BytesPerToken)*s.Decode/1e9/s.GBs-1) > 1e-9 || !(s.Reading > 0) || math.Abs(s.GBs/s.Reading/s.Share-1) > 1e-9 {
			t.Errorf("sampling %+v", s)
		}
		if i > 0 && s.BytesPerToken >= r.Sample[i-1].BytesPerToken {
			t.Errorf("with %s weights %d bytes are moved a token, with %s weights %d", s.Weights, s.BytesPerToken, r.Sample[i-1].Weights, r.Sample[i-1].BytesPerToken)
		}
	}
	if s := r.Sample[0]; s.BytesPerToken < p.Memory.Weights/2 {
		t.Errorf("sampling %+v of weights of %d bytes", s, p.Memory.Weights)
	}
	if n := readTrace(t, "trace.json").counts(); n["step"] != 3 || n["adamw"] != 6 {
		t.Errorf("trace %v", n)
	}
	write(t, "old.json", text)
	command("bench", "train", "--config", "tiny.yaml", "--seconds", "0.01", "--compare", "old.json", "--set", "train.batch=1").want(t, exitOK,
		"ceilings, measured", "of the measured ceiling of arithmetic", "kernels of the step, launches timed one by one: ", " in all, beside the step's median of ", "not alike: batch 2, now 1", "tokens/s", "×")
}

// TestBenchParts wants only what was asked for.
func TestBenchParts(t *testing.T) {
	inTiny(t)
	if r, _ := benchJSON(t, "sample"); r.Kernels != nil || r.Train != nil || r.Sample == nil {
		t.Errorf("report %+v", r)
	}
	r := command("bench", "kernels", "--config", "tiny.yaml", "--seconds", "0.01", "--workers", "1").want(t, exitOK, "each shape alone", "naive", "1 worker")
	if r := command("bench", "sample", "--config", "tiny.yaml", "--seconds", "0.01", "--set", "model.context=1").want(t, exitOK, "none"); strings.Contains(r.out, "NaN") {
		t.Errorf("says\n%s", r.out)
	}
	write(t, "train.json", command("bench", "train", "--json", "--config", "tiny.yaml", "--seconds", "0.01").want(t, exitOK).out)
	command("bench", "sample", "--config", "tiny.yaml", "--seconds", "0.01", "--compare", "train.json").want(t, exitOK, "has none of the parts that were measured now")
	if strings.Contains(r.out, "sampling") || strings.Contains(r.out, "\ntraining") {
		t.Errorf("says\n%s", r.out)
	}
	write(t, "text.json", "{}")
	for args, want := range map[string]string{
		"bench decode":                               "there is nothing called \"decode\" to measure (parts: kernels, train, sample)",
		"bench --seconds 0":                          "--seconds 0: wants a number above 0",
		"bench sample --profile x.json":              "train is not among the parts",
		"bench --profile x":                          "must end in .json",
		"bench --compare text.json":                  "text.json does not hold what this version",
		"bench --json --compare text.json":           "--json and --compare exclude each other",
		"bench --compare nowhere.json":               "--compare: open nowhere.json",
		"bench --config gpt2-124m train":             "precision bf16 needs a GPU",
		"bench --config tiny.yaml --set precision=x": "--set precision=x: \"x\" is not known",
	} {
		command(strings.Fields(args)...).want(t, exitUsage, want)
	}
}

// TestBenchWithoutRoom wants a probe of memory that there was no room for to be told from a speed.
func TestBenchWithoutRoom(t *testing.T) {
	for read, want := range map[float64]string{0: " reading not measured: no room for 512 MiB ", 31.25: " reading 31.2 GB/s "} {
		var out strings.Builder
		printBench(&out, &bench.Report{Ceilings: bench.Ceilings{Copy: 3, MatMul: 5, Square: 512, Peak: 7, Read: read}})
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
			t.Errorf("reading at %g GB/s is written as\n%s\nwant %q", read, out.String(), want)
		}
	}
}

// TestBenchMatMul wants a measurement and a run on a GPU to say who multiplies, and one on the CPU not to.
func TestBenchMatMul(t *testing.T) {
	inTiny(t)
	if r, _ := benchJSON(t, "sample"); r.MatMul != "" {
		t.Errorf("on the CPU %q multiplies", r.MatMul)
	}
	withGPU(t)
	if r, _ := benchJSON(t, "sample", "--device", "cuda"); r.MatMul != "cublas" {
		t.Errorf("%q multiplies", r.MatMul)
	}
	command("bench", "sample", "--config", "tiny.yaml", "--seconds", "0.01", "--device", "cuda").want(t, exitOK, "cuda, matrix products: cublas\n")
	command("train", "tiny.yaml", "--device", "cuda", "--max-seconds", "1e-9").want(t, exitOK, "on cuda into "+filepath.Join("runs", "tiny")+" (matrix products: cublas)\n")
}

// TestBenchWithoutSchedule wants rules and warnings of what happens at which step not to be for steps that are only timed.
func TestBenchWithoutSchedule(t *testing.T) {
	inTiny(t)
	sets := []string{"--set", "train.steps=2", "--set", "train.schedule.warmup=3", "--set", "train.eval.every=1000", "--set", "checkpoint.every=1000"}
	command(append([]string{"train", "tiny.yaml"}, sets...)...).want(t, exitUsage, "train.schedule.warmup=3: 3 leaves none of 2 steps")
	r := command(append([]string{"bench", "sample", "--config", "tiny.yaml", "--seconds", "0.01"}, sets...)...).want(t, exitOK, "bytes a token")
	if strings.Contains(r.errOut, "warning") {
		t.Errorf("warns:\n%s", r.errOut)
	}
	command("bench", "--config", "tiny.yaml", "--set", "train.batch=0").want(t, exitUsage, "train.batch")
}

// full is a backend whose memory ends.
type full struct {
	kernels.Backend
	left int
}

func (f *full) NewArena(bytes int) (kernels.Arena, error) {
	if f.left -= bytes; f.left < 0 {
		return nil, &kernels.OutOfMemory{Device: "a small GPU", Wanted: int64(bytes), Held: 1 << 20, Free: 1 << 20, Total: 4 << 20}
	}
	return f.Backend.NewArena(bytes)
}

// TestOutOfMemory wants what the run takes beside what is free, and the keys to lower.
func TestOutOfMemory(t *testing.T) {
	inTiny(t)
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		be, err := kernels.Open(name, o)
		return &full{be, 50000}, err
	})
	p := planJSON(t, "tiny.yaml")
	for _, args := range [][]string{{"train", "tiny.yaml"}, {"train", "tiny.yaml", "--set", "model.context=24", "--set", "train.batch=9"}} {
		want := []string{"out of memory on a small GPU", "bytes free of 4194304", "lower train.batch and raise train.accumulate", "model.context", "--set precision=bf16",
			"The run takes ", "2.00 MiB were free before it", "prenorm plan"}
		if len(args) == 2 {
			want = append(want, grouped(p.Memory.Total)+" bytes")
		}
		command(args...).want(t, exitFailure, want...)
	}
	// The first allocation of all, and one of bench.
	withKernels(t, func(name string, o kernels.Options) (kernels.Backend, error) {
		be, err := kernels.Open(name, o)
		return &full{be, 0}, err
	})
	command("train", "tiny.yaml", "--fresh").want(t, exitFailure, "weights: slab of ", "out of memory on a small GPU", "The run takes ")
	command("bench", "train", "--config", "tiny.yaml", "--seconds", "0.01").want(t, exitFailure, "out of memory on a small GPU", "The run takes ")
	// An error of another kind stays as it is.
	other := errors.New("another")
	if err := explainMemory(nil, configs.Run{}, other); err != other {
		t.Errorf("error %v", err)
	}
}

// TestBenchProfile wants a CPU profile where the file's name says so, with the step's table beside it.
func TestBenchProfile(t *testing.T) {
	inTiny(t)
	command("bench", "train", "--config", "tiny.yaml", "--seconds", "0.01", "--profile", "cpu.pprof").want(t, exitOK, "kernels of the step", "CPU profile written to cpu.pprof")
	raw, err := os.ReadFile("cpu.pprof")
	if err != nil || len(raw) < 2 || raw[0] != 0x1f || raw[1] != 0x8b {
		t.Errorf("the profile is not what go tool pprof reads: %d bytes, %v", len(raw), err)
	}
	command("bench", "train", "--config", "tiny.yaml", "--seconds", "0.01", "--profile", "cpu.pprof", "--cpuprofile", "all.pprof").want(t, exitFailure, "leave out --cpuprofile")
}
