//go:build gpu

package cuda

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/kerneltest"
)

// TestConformance holds every kernel against the reference. It needs a GPU, or the software driver.
func TestConformance(t *testing.T) {
	needDevice(t)
	open := func() (kernels.Backend, error) {
		return kernels.Open("cuda", kernels.Options{MatMul: "own", Precision: kernels.PrecisionBF16})
	}
	kerneltest.Run(t, open, kerneltest.Options{Narrow: narrowCall})
	if have, want := len(table), len(kerneltest.Calls()); have != want {
		t.Errorf("cuda has %d kernels, package kernels has %d calls", have, want)
	}
}

// narrowCall says which calls the backend takes bfloat16 views of: all but those on caches, which stay float32 here.
func narrowCall(c kernels.Call) bool {
	switch c.(type) {
	case kernels.CacheWrite, kernels.CachedAttention:
		return false
	}
	return true
}

// needBLAS skips a test where there is no cuBLAS; where PRENORM_LIBCUBLAS names one, a missing one is a failure.
func needBLAS(t *testing.T) {
	t.Helper()
	b := opened(t)
	l := blas{use: "cublas"}
	if err := b.device.do(func() error { defer l.close(); return l.open(b.device.compute) }); err != nil {
		if os.Getenv("PRENORM_LIBCUBLAS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// TestBLAS holds the calls that are made of products against the reference with cuBLAS's.
func TestBLAS(t *testing.T) {
	needBLAS(t)
	for _, use := range []string{"cublas", "auto"} {
		b, err := New(kernels.Options{MatMul: use})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		r := rand.New(rand.NewPCG(15, 16))
		for mode := range 4 {
			c := kernels.MatMul{TransA: mode&1 != 0, TransB: mode&2 != 0}
			x, y := random(r, 37, 29), random(r, 29, 41)
			if c.TransA {
				x = random(r, 29, 37)
			}
			if c.TransB {
				y = random(r, 41, 29)
			}
			sameAsReference(t, b, 1e-6, c, x, y)
		}
		in := []kernels.View{random(r, 20, 8), random(r, 30, 8), below(r, 20, 30), scalar(20), kernels.HostView([]float32{0.5})}
		sameAsReference(t, b, 2e-6, kernels.LinearCrossEntropyGrad{}, in...)
		if b.device.blas.handle == nil {
			t.Errorf("%s: cuBLAS was not used", use)
		}
	}
}

// TestNoBLAS wants our own products where cuBLAS is missing, and an error where it was asked for.
func TestNoBLAS(t *testing.T) {
	needDevice(t)
	t.Setenv("PRENORM_LIBCUBLAS", "/nowhere/libcublas.so")
	out := child(t, asChild+"=blas")
	if !strings.Contains(out, "auto: <nil>") || !strings.Contains(out, "cublas: cuda: cuBLAS cannot be used: /nowhere/libcublas.so") {
		t.Error(out)
	}
	for _, words := range []string{"PRENORM_LIBCUBLAS", "nvidia/cublas/lib/", "nvidia/cu13/lib/"} {
		if !strings.Contains(out, words) {
			t.Errorf("%q does not say %q", out, words)
		}
	}
	if _, err := New(kernels.Options{MatMul: "mkl"}); err == nil || !strings.Contains(err.Error(), "auto, own or cublas") {
		t.Errorf("error %v", err)
	}
}

// TestNoBLASAnywhere wants the error to name every file that was tried.
func TestNoBLASAnywhere(t *testing.T) {
	needDevice(t)
	out := child(t, asChild+"=blas", "PRENORM_LIBCUBLAS=")
	if strings.Contains(out, "cublas: <nil>") {
		t.Skip("the loader finds cuBLAS here")
	}
	for _, name := range []string{"libcublas.so.13: ", "libcublas.so.12: ", "libcublas.so.11: "} {
		if !strings.Contains(out, name) {
			t.Errorf("%q does not name %q", out, name)
		}
	}
}

// bindProduct prints what comes of binding a product in each way.
func bindProduct() {
	for _, use := range []string{"auto", "cublas"} {
		err := func() error {
			b, err := New(kernels.Options{MatMul: use})
			if err != nil {
				return err
			}
			defer b.Close()
			a, err := b.NewArena(12)
			if err != nil {
				return err
			}
			one := func(at int) kernels.View { return a.View(at, kernels.F32, 1, 1) }
			_, err = b.Bind(kernels.MatMul{}, kernels.Args{Out: []kernels.View{one(0)}, In: []kernels.View{one(4), one(8)}})
			return err
		}()
		fmt.Printf("%s: %v\n", use, err)
	}
}
