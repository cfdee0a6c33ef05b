package exec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/exec"
)

// TestSteps wants the listing to name every launch, with the arithmetic and the bytes of its views.
func TestSteps(t *testing.T) {
	_, p := plan(t, ref.New(), configs()["llama"], model.Options{B: 2, T: 9})
	steps, flops := p.Steps(), int64(0)
	if len(steps) != p.Launches() {
		t.Fatalf("%d steps of %d launches", len(steps), p.Launches())
	}
	for i, s := range steps {
		flops += s.FLOPs
		if s.Index != i || s.Path == "" || s.Kernel != s.Call.Kernel() || s.Bytes <= 0 {
			t.Errorf("step %d: %+v", i, s)
		}
		if !strings.Contains(p.String(), s.Path) {
			t.Errorf("the listing lacks %s", s.Path)
		}
	}
	if flops != p.FLOPs() {
		t.Errorf("the steps do %d flops, the plan %d", flops, p.FLOPs())
	}
	at := slices.IndexFunc(steps, func(s exec.StepInfo) bool { return s.Path == "layers.0.mlp.up_proj.matmul" })
	if at < 0 {
		t.Fatalf("no up_proj in\n%v", p)
	}
	// [18,24] times [40,24] transposed: two factors read, the product written, 4 bytes each; two operations a multiply-add.
	if s := steps[at]; s.Bytes != 4*(18*24+40*24+18*40) || s.FLOPs != 2*18*24*40 {
		t.Errorf("up_proj moves %d bytes and does %d flops", s.Bytes, s.FLOPs)
	}
	if s := steps[0]; s.Kernel != "embed" || s.Bytes != 4*(18+2*18*24) {
		t.Errorf("%v: it reads 18 rows, not the table", s)
	}
	for _, s := range steps {
		if s.Kernel != "rope" {
			continue
		}
		a := s.Args
		if table := a.In[2].Shape; s.Bytes != int64(4*(2*a.Out[0].Len()+18+min(18, table[0])*table[1])) || table[0] == 18 {
			t.Errorf("%v: it reads as many rows of the table as there are, and as it needs", s)
		}
	}
}

// TestTrace wants a traced run to give the bits of a plain one, each launch run once and in order, and errors to name the launch.
func TestTrace(t *testing.T) {
	b := bind(t, configs()["gpt2"], model.Options{B: 2, T: 9})
	want := b.results(t)
	b.program.Poison()
	var paths []string
	err := b.program.Trace(func(s exec.StepInfo, run func() error) error {
		paths = append(paths, s.Path)
		return run()
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(paths, b.program.Plan().Paths()) {
		t.Error("the launches traced are not the plan's")
	}
	if got := b.values(t); !slices.Equal(got, want) {
		t.Error("a traced run gives other results")
	}
	broken := errors.New("broken")
	err = b.program.Trace(func(s exec.StepInfo, _ func() error) error {
		if _, ok := s.Call.(kernels.Attention); ok {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	wantError(t, err, "train", "layers.0.self_attn.attention")
}
