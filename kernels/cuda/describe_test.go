//go:build gpu

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// TestDescribe wants the facts that a person needs to find what is amiss.
func TestDescribe(t *testing.T) {
	b := opened(t)
	facts, err := b.Describe()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, f := range facts {
		values[f.Name] = f.Value
	}
	for name, words := range map[string]string{"driver": "CUDA 1", "gpu": b.Device() + ", compute capability ", "memory": " GiB free of ", "cuBLAS": "not used"} {
		if !strings.Contains(values[name], words) {
			t.Errorf("%s: %q does not say %q", name, values[name], words)
		}
	}
	if !strings.HasPrefix(values["driver"], "/") || !strings.Contains(values["driver"], "libcuda.so") {
		t.Errorf("driver: %q is no path", values["driver"])
	}
}

// TestDescribeMemory wants a remedy where most of the memory is taken, and none where most is free.
func TestDescribeMemory(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("only the software driver can be told how much memory it has")
	}
	out := strings.Split(strings.TrimSpace(child(t, asChild+"=describe", "EMU_MEM_GB=1")), "\n")
	if free, taken := out[len(out)-2], out[len(out)-1]; strings.Contains(free, "nvidia-smi") || !strings.Contains(taken, "something else uses the GPU: nvidia-smi") {
		t.Errorf("while memory is free: %s\nwhen it is taken: %s", free, taken)
	}
}

// TestDescribeBLAS wants the file of cuBLAS where it is found, and what to do where it is not.
func TestDescribeBLAS(t *testing.T) {
	needBLAS(t)
	b, err := New(kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	facts, err := b.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if f := facts[len(facts)-1]; !strings.HasPrefix(f.Value, "/") || !strings.Contains(f.Value, "libcublas") || f.Remedy != "" {
		t.Errorf("%+v", f)
	}
	if out := child(t, asChild+"=describe", "PRENORM_LIBCUBLAS=/nowhere/libcublas.so"); !strings.Contains(out, "/nowhere/libcublas.so") || !strings.Contains(out, "install it") {
		t.Error(out)
	}
}

// describe prints the facts, and those that there are when five eighths of a GiB are taken.
func describe() {
	b, err := New(kernels.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	for _, bytes := range []int{0, 5 << 27} {
		_, full := b.NewArena(bytes)
		facts, err := b.Describe()
		fmt.Printf("%+v %v\n", facts, errors.Join(full, err))
	}
}

// TestOldGPU wants a GPU that lacks what the kernels use to be refused when the backend is opened.
func TestOldGPU(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("only the software driver can be told to be an old GPU")
	}
	out := child(t, asChild+"=open", "EMU_CC=75")
	for _, words := range []string{"has compute capability 7.5, wants 8.0", kernels.ErrUnsuitable.Error()} {
		if !strings.Contains(out, words) {
			t.Errorf("%q does not say %q", out, words)
		}
	}
}

// TestMarks wants marks in the order of the launches, each behind what was launched before it, and many of them.
func TestMarks(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	x, y := p.view(kernels.Shaped(kernels.F32, 1<<16)), p.view(kernels.Shaped(kernels.F32, 1<<16))
	launch, err := b.Bind(kernels.Scale{Factor: 2}, kernels.Args{Out: []kernels.View{y}, In: []kernels.View{x}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m := kernels.MarkerOf(b)
		m.Mark()
		m.Mark()
		for range 3 {
			if err := launch(); err != nil {
				t.Fatal(err)
			}
			m.Mark()
		}
		at, err := m.Marks()
		if err != nil || len(at) != 5 || at[0] != 0 || !slices.IsSorted(at) {
			t.Fatalf("marks at %v, %v", at, err)
		}
		if at[4]-at[1] < 2*(at[1]-at[0]) {
			t.Errorf("marks at %v: launches take no time", at)
		}
	}
	if at, err := b.Marks(); err != nil || len(at) != 0 {
		t.Errorf("marks that were read come back: %v, %v", at, err)
	}
}

// TestOutOfMemoryIsTyped wants the figures of the error to be readable by programs.
func TestOutOfMemoryIsTyped(t *testing.T) {
	b := opened(t)
	first, err := b.NewArena(1000)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Free()
	_, err = b.NewArena(1 << 50)
	var full *kernels.OutOfMemory
	if !errors.As(err, &full) || full.Wanted != 1<<50 || full.Held != 1000 || full.Free <= 0 || full.Total < full.Free {
		t.Errorf("error %v", err)
	}
}
