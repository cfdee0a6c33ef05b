package bench

import (
	"math"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/train/profile"
)

func shaped(shape ...int) kernels.View { return kernels.Shaped(kernels.F32, shape...) }

// TestDistinct counts launches that are alike, and keeps those of other shapes and attributes apart.
func TestDistinct(t *testing.T) {
	step := func(path string, c kernels.Call, out kernels.View, in ...kernels.View) exec.StepInfo {
		return exec.StepInfo{Path: path, Call: c, Args: kernels.Args{Out: []kernels.View{out}, In: in, Work: kernels.Shaped(kernels.I8, 64)}}
	}
	x, y := shaped(4, 8), shaped(4, 6)
	got := distinct([]exec.StepInfo{
		step("a", kernels.MatMul{TransB: true}, y, x, shaped(6, 8)), step("b", kernels.Add{}, x, x, x), step("c", kernels.MatMul{TransB: true}, y, x, shaped(6, 8)),
		step("d", kernels.Add{}, y, y, y), step("e", kernels.Dropout{Rate: 0.1, Site: 1}, x, x), step("f", kernels.Dropout{Rate: 0.1, Site: 2}, x, x),
		step("g", kernels.Rope{}, x, x), step("h", kernels.Rope{Inverse: true}, x, x),
	})
	var rows []string
	for _, k := range got {
		rows = append(rows, k.row.Path+" "+k.row.Kernel+" "+k.row.Shape)
		if k.args.Work.Len() != 1 {
			t.Errorf("%s keeps the workspace of its program", k.row.Path)
		}
	}
	want := []string{"a matmul NT 4x6x8 f32<-f32", "b add 4x8 f32", "d add 4x6 f32", "e dropout 4x8 f32", "g rope 4x8 f32", "h rope inverse 4x8 f32"}
	if !slices.Equal(rows, want) || got[0].row.Launches != 2 || got[3].row.Launches != 2 || got[1].row.Launches != 1 {
		t.Errorf("got %q", rows)
	}
}

// TestRate wants the share of a call to count what it reads beyond as much as it writes at the speed of reading, where that is known.
func TestRate(t *testing.T) {
	x := shaped(500) // 2000 bytes
	for _, c := range []struct {
		ceilings Ceilings
		want     float64
	}{{Ceilings{Copy: 1000, Read: 500}, 4 + 4}, {Ceilings{Copy: 1000}, 6}, {Ceilings{MatMul: 2, Copy: 1000, Read: 500}, 10}, {Ceilings{MatMul: 2, Peak: 4, Copy: 1000}, 6}} {
		k := distinct([]exec.StepInfo{{Call: kernels.Add{}, Args: kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x, x}}, FLOPs: 20, Bytes: 6000}})[0]
		k.row.Seconds = 1e-9 * 20
		k.rate(c.ceilings.profile())
		if got := 20 * k.row.Share; math.Abs(got-c.want) > 1e-9 || math.Abs(k.row.GFLOPs-1) > 1e-9 || math.Abs(k.row.GBs-300) > 1e-9 {
			t.Errorf("%+v: %+v takes %g ns at the ceilings, want %g", c.ceilings, k.row, got, c.want)
		}
	}
}

// TestCeilingsOfProfile wants every ceiling handed on, in units of one.
func TestCeilingsOfProfile(t *testing.T) {
	got, want := (Ceilings{Copy: 3, MatMul: 5, Peak: 7, Read: 11}).profile(), profile.Ceilings{FLOPs: 7e9, Bytes: 3e9, Read: 11e9}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestPlace wants calls that read integers or work in place to get what they can take.
func TestPlace(t *testing.T) {
	be := ref.New()
	tokens, one := kernels.Shaped(kernels.I32, 99), shaped(1)
	for _, k := range []struct {
		call    kernels.Call
		indices int32 // how many values they have
		in      []kernels.View
	}{
		{kernels.Embed{}, 5, []kernels.View{tokens, shaped(5, 4)}},
		{kernels.EmbedGrad{Vocab: 5}, 5, []kernels.View{tokens, shaped(99, 4)}},
		{kernels.Rope{}, 3, []kernels.View{shaped(99, 8), tokens, shaped(3, 4)}},
		{kernels.LinearCrossEntropyGrad{}, 5, []kernels.View{shaped(99, 4), shaped(5, 4), tokens, one, shaped()}},
		{kernels.AdamW{Beta1: .9, Beta2: .9, Eps: 1e-8}, 0, []kernels.View{shaped(7), shaped(7), shaped(7), shaped(7), shaped(4)}},
		{kernels.Fill{}, 0, []kernels.View{shaped(7)}},
		{kernels.Add{}, 0, []kernels.View{kernels.Shaped(kernels.BF16, 7), shaped(7)}},
	} {
		out, aux, err := k.call.Infer(kernels.Widened(kernels.Args{In: k.in}).In)
		if err != nil {
			t.Fatal(err)
		}
		a, arena, err := place(be, k.call, kernels.Args{Out: out, Aux: aux, In: k.in})
		if err != nil {
			t.Errorf("%T: %v", k.call, err)
			continue
		}
		launch, err := be.Bind(k.call, a)
		if err == nil {
			err = launch()
		}
		if err != nil {
			t.Errorf("%T: %v", k.call, err)
		}
		for _, v := range a.In {
			if v.DType == kernels.I32 && (slices.Min(v.I32()) != 0 || slices.Max(v.I32()) != k.indices-1) {
				t.Errorf("%T: indices from %d to %d, want all below %d", k.call, slices.Min(v.I32()), slices.Max(v.I32()), k.indices)
			}
		}
		if err := arena.Free(); err != nil {
			t.Error(err)
		}
	}
}

// TestCompare wants ratios of speeds, of what both reports have, and the differences named.
func TestCompare(t *testing.T) {
	old := &Report{Name: "a", Device: "cpu", Ceilings: Ceilings{Copy: 10, MatMul: 20}, Train: &Train{Tokens: 100, Min: 2}, Sample: []Sample{{Weights: "int8", Prefill: 1, Decode: 1}},
		Kernels: []Kernel{{Kernel: "add", Shape: "4", Seconds: 2}, {Kernel: "add", Shape: "5", Seconds: 2}}}
	now := &Report{Name: "a", Device: "cuda", Ceilings: Ceilings{Copy: 30, MatMul: 10}, Train: &Train{Tokens: 300, Min: 1}, Sample: []Sample{{Weights: "fp32", Prefill: 1, Decode: 1}, {Weights: "int8", Prefill: 6, Decode: 8}},
		Kernels: []Kernel{{Kernel: "add", Shape: "4", Seconds: 0.5}, {Kernel: "mul", Shape: "5", Seconds: 2}}}
	ratios, differ := Compare(old, now)
	var got []float64
	for _, r := range ratios {
		got = append(got, r.Ratio)
	}
	if !slices.Equal(got, []float64{3, 0.5, 3, 2, 6, 8, 4}) || !slices.Equal(differ, []string{"device cpu, now cuda"}) {
		t.Errorf("ratios %+v, %q", ratios, differ)
	}
}

// TestCompareOfAbsurdReports leaves out what no machine has measured.
func TestCompareOfAbsurdReports(t *testing.T) {
	fast := &Report{Kernels: []Kernel{{Kernel: "add", Shape: "4", Seconds: 1e-6}}}
	for _, seconds := range []float64{0, -1, 1e-300, 1e308} {
		odd := &Report{Kernels: []Kernel{{Kernel: "add", Shape: "4", Seconds: seconds}}}
		for _, pair := range [][2]*Report{{odd, fast}, {fast, odd}, {odd, odd}} {
			if ratios, _ := Compare(pair[0], pair[1]); len(ratios) > 0 {
				t.Errorf("%g s: %+v", seconds, ratios)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	for want, x := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 3, 2}, 7: {7}} {
		if got := median(x); got != want {
			t.Errorf("median of %v is %v", x, got)
		}
	}
}
