//go:build gpu

package cuda

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// needDevice skips a test where there is no driver; where PRENORM_LIBCUDA names one, a missing device is a failure.
func needDevice(t *testing.T) {
	t.Helper()
	if err := available(); err != nil {
		if os.Getenv("PRENORM_LIBCUDA") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// opened is a backend with our own products that is closed when the test ends.
func opened(t *testing.T) *Backend {
	t.Helper()
	needDevice(t)
	b, err := New(kernels.Options{MatMul: "own"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// random makes a host view of normally distributed numbers.
func random(r *rand.Rand, shape ...int) kernels.View {
	x := make([]float32, kernels.Shaped(kernels.F32, shape...).Len())
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return kernels.HostView(x, shape...)
}

// below makes a host view of n integers of 0 … limit-1.
func below(r *rand.Rand, n, limit int) kernels.View {
	x := make([]int32, n)
	for i := range x {
		x[i] = r.Int32N(int32(limit))
	}
	return kernels.HostView(x, n)
}

func scalar(x float32) kernels.View { return kernels.HostView([]float32{x}, 1) }

// run binds a call on a backend to copies of host views, launches it once, and returns its outputs. alias[i] is the input whose memory output
// i is.
func run(t *testing.T, be kernels.Backend, c kernels.Call, alias []int, in ...kernels.View) []kernels.View {
	t.Helper()
	return runAs(t, be, c, nil, alias, in...)
}

// runAs is run with the types of outputs where they are not those of Infer. It returns outputs of bfloat16 as float32.
func runAs(t *testing.T, be kernels.Backend, c kernels.Call, types []kernels.DType, alias []int, in ...kernels.View) []kernels.View {
	t.Helper()
	out, _, err := c.Infer(kernels.Widened(kernels.Args{In: in}).In)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range types {
		out[i].DType = d
	}
	work, err := be.Workspace(c, kernels.Args{In: in, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	place := placer{t: t, be: be}
	var a kernels.Args
	for _, v := range in {
		d := place.view(v)
		place.upload(d, v)
		a.In = append(a.In, d)
	}
	for i, v := range out {
		if i < len(alias) {
			a.Out = append(a.Out, a.In[alias[i]])
		} else {
			a.Out = append(a.Out, place.view(v))
		}
	}
	a.Work = place.view(kernels.Shaped(kernels.I8, work))
	launch, err := be.Bind(c, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	var results []kernels.View
	for _, v := range a.Out {
		results = append(results, downloaded(t, be, v))
	}
	return results
}

// downloaded is a copy of a view on the host, float32 where it is of bfloat16.
func downloaded(t *testing.T, be kernels.Backend, v kernels.View) kernels.View {
	t.Helper()
	host, narrow, ints := make([]float32, v.Len()), make([]uint16, v.Len()), make([]int32, v.Len())
	var err error
	switch v.DType {
	case kernels.I32:
		err = be.Download(ints, v)
	case kernels.BF16:
		err = be.Download(narrow, v)
		for i, b := range narrow {
			host[i] = kernels.FromBF16(b)
		}
	default:
		err = be.Download(host, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v.DType == kernels.I32 {
		return kernels.HostView(ints, v.Shape...)
	}
	return kernels.HostView(host, v.Shape...)
}

// narrowView is a host view of float32 rounded to bfloat16.
func narrowView(v kernels.View) kernels.View {
	x := make([]uint16, v.Len())
	for i, f := range v.F32() {
		x[i] = kernels.ToBF16(f)
	}
	return kernels.HostView(x, v.Shape...)
}

// placer gives views memory, each an arena of its own.
type placer struct {
	t  *testing.T
	be kernels.Backend
}

func (p placer) view(like kernels.View) kernels.View {
	p.t.Helper()
	arena, err := p.be.NewArena(like.Bytes())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := arena.Free(); err != nil {
			p.t.Error(err)
		}
	})
	return arena.View(0, like.DType, like.Shape...)
}

func (p placer) upload(dst, src kernels.View) {
	p.t.Helper()
	var err error
	switch src.DType {
	case kernels.I32:
		err = p.be.Upload(dst, src.I32())
	case kernels.BF16:
		err = p.be.Upload(dst, src.BF16())
	default:
		err = p.be.Upload(dst, src.F32())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// sameAsReference runs a call on the GPU and on the reference, and compares relative to the largest element of each output.
func sameAsReference(t *testing.T, b *Backend, tolerance float64, c kernels.Call, in ...kernels.View) {
	t.Helper()
	got, want := run(t, b, c, nil, in...), run(t, ref.New(), c, nil, in...)
	for o := range want {
		near(t, c.Kernel(), tolerance, got[o].F32(), want[o].F32())
	}
}

func near(t *testing.T, what string, tolerance float64, got, want []float32) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(float64(w)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance*largest) {
			t.Errorf("%s: element %d is %g, want %g within %g", what, i, got[i], want[i], tolerance*largest)
			return
		}
	}
}

// digest is a hash of the bits of views.
func digest(views []kernels.View) uint64 {
	h := fnv.New64a()
	for _, v := range views {
		_, _ = h.Write(v.Host)
	}
	return h.Sum64()
}

func equalBits(a, b kernels.View) bool { return slices.Equal(a.Host, b.Host) }
