package kerneltest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// TestCallsAreComplete compares Calls, and the families of cases, with the types of package kernels that have a Kernel method.
func TestCallsAreComplete(t *testing.T) {
	paths, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Kernel" && f.Recv != nil {
				want = append(want, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	var have []string
	for _, c := range Calls() {
		have = append(have, strings.TrimPrefix(typeName(c), "kernels."))
		if _, ok := families[c.Kernel()]; !ok {
			t.Errorf("no cases for %s", c.Kernel())
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("Calls has %v\npackage kernels has %v", have, want)
	}
	if len(families) != len(want) {
		t.Errorf("%d families of cases for %d calls", len(families), len(want))
	}
}

// spoiled is the reference with one fault.
type spoiled struct {
	*ref.Backend
	fault func(c kernels.Call, a kernels.Args, run kernels.Launch) kernels.Launch
}

func (s spoiled) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	run, err := s.Backend.Bind(c, a)
	if err != nil {
		return nil, err
	}
	return s.fault(c, a, run), nil
}

// after runs f behind every launch that succeeds.
func after(f func(a kernels.Args)) func(kernels.Call, kernels.Args, kernels.Launch) kernels.Launch {
	return func(_ kernels.Call, a kernels.Args, run kernels.Launch) kernels.Launch {
		return func() error {
			err := run()
			if err == nil && a.Out[0].Len() > 0 {
				f(a)
			}
			return err
		}
	}
}

var sink []byte

// TestFaultsAreFound gives the suite backends that break one rule each, and wants it to say which.
func TestFaultsAreFound(t *testing.T) {
	launches := 0
	faults := []struct {
		name, kernel, says string
		fault              func(c kernels.Call, a kernels.Args, run kernels.Launch) kernels.Launch
	}{
		{"wrong by 1e-5", "matmul", "off by", after(func(a kernels.Args) { a.Out[0].F32()[0] += 1e-5 })},
		{"one element not written", "addbias", "the reference has", after(func(a kernels.Args) {
			a.Out[0].F32()[a.Out[0].Len()-1] = float32(math.NaN())
		})},
		{"writes past the end", "scale", "outside its outputs", after(func(a kernels.Args) { beyond(a.Out[0]) })},
		{"changes an input", "gated", "of input 1", after(func(a kernels.Args) { a.In[1].F32()[0]++ })},
		{"depends on earlier launches", "sumrows", "two launches", after(func(a kernels.Args) {
			launches++
			a.Out[0].F32()[0] *= 1 + 0x1p-22*float32(launches%2)
		})},
		{"allocates", "rmsnorm", "allocations", after(func(kernels.Args) { sink = make([]byte, 100) })},
		{"hides a NaN", "softcap", "hides", after(func(a kernels.Args) {
			for i, y := range a.Out[0].F32() {
				if y != y {
					a.Out[0].F32()[i] = 0
				}
			}
		})},
		{"wrong statistic", "attention", "statistic 0", after(func(a kernels.Args) {
			if len(a.Aux) > 0 {
				a.Aux[0].F32()[0] += 1e-3
			}
		})},
		{"ignores the saved statistic's meaning", "rmsnorm.grad", "saved statistics given", after(func(a kernels.Args) {
			if len(a.Saved) > 0 {
				a.Out[0].F32()[0] += 1
			}
		})},
		{"another loss beside the gradient", "linear_cross_entropy.grad", "bits", after(func(a kernels.Args) {
			if len(a.Out) == 3 {
				loss := a.Out[2].F32()
				loss[0] = math.Nextafter32(loss[0], 100)
			}
		})},
		{"looks at the alignment of the first input alone", "add", "view 2 of", after(func(a kernels.Args) {
			if atBoundary(a.In[0]) && !atBoundary(a.In[1]) {
				a.Out[0].F32()[0]++
			}
		})},
		{"looks at the alignment of inputs alone", "layernorm.grad", "view 7 of", after(func(a kernels.Args) {
			if atBoundary(a.In[0]) && !atBoundary(a.Out[0]) && len(a.Saved) > 0 {
				a.Out[0].F32()[0]++
			}
		})},
		{"no check of tokens", "embed", "succeeded", func(_ kernels.Call, _ kernels.Args, run kernels.Launch) kernels.Launch {
			return func() error { _ = run(); return nil }
		}},
		{"an error that says nothing", "rope", "does not say", func(_ kernels.Call, _ kernels.Args, run kernels.Launch) kernels.Launch {
			return func() error {
				if run() != nil {
					return errors.New("bad position")
				}
				return nil
			}
		}},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			wants(t, checkKernel(spoiled{ref.New(), f.fault}, nil, f.kernel, kernels.F32), f.says)
		})
	}
}

// wants wants one of the errors to hold some words.
func wants(t *testing.T, errs []error, words string) {
	t.Helper()
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil && strings.Contains(err.Error(), words) }) {
		t.Errorf("the suite says %v, nothing about %q", errs, words)
	}
}

// TestWorkersAreCompared gives the suite a backend whose results depend on the number of workers.
func TestWorkersAreCompared(t *testing.T) {
	nudge := after(func(a kernels.Args) { a.Out[0].F32()[0] *= 1 + 0x1p-23 })
	workers := []kernels.Backend{ref.New(), spoiled{ref.New(), nudge}}
	wants(t, checkKernel(ref.New(), workers, "sumrows", kernels.F32), "2 workers")
}

// lenient is the reference with a Bind that looks at nothing.
type lenient struct{ *ref.Backend }

func (l lenient) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	if run, err := l.Backend.Bind(c, a); err == nil {
		return run, nil
	}
	return func() error { return nil }, nil
}

// TestLenientBindIsFound gives the suite a backend that binds anything.
func TestLenientBindIsFound(t *testing.T) {
	for _, kernel := range []string{"matmul", "attention", "fill", "clip_factor"} {
		wants(t, checkKernel(lenient{ref.New()}, nil, kernel, kernels.F32), "Bind accepts")
	}
	wants(t, []error{checkUnknown(lenient{ref.New()})}, "unknown call")
}

// TestUnknownKernelIsAFailure wants a kernel without cases to fail.
func TestUnknownKernelIsAFailure(t *testing.T) {
	wants(t, checkKernel(ref.New(), nil, "no such kernel", kernels.F32), "no cases")
}

func typeName(c kernels.Call) string { return reflect.TypeOf(c).String() }

// atBoundary says whether a view of host memory starts where vectors do.
func atBoundary(v kernels.View) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(v.Host)))%64 == 0
}

// beyond sets the byte behind a view of host memory.
func beyond(v kernels.View) {
	end := unsafe.Add(unsafe.Pointer(unsafe.SliceData(v.Host)), v.Bytes())
	*(*byte)(end) = 1
}
