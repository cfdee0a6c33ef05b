package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// everyBackend runs fn on every tier with 1, 2 and 5 workers, the last with views taken to be beyond caches, as a subtest for each tier.
func everyBackend(t *testing.T, fn func(t *testing.T, b *Backend)) {
	for _, level := range tiers() {
		t.Run(level.name, func(t *testing.T) {
			for _, workers := range []int{1, 2, 5} {
				b := newBackend(workers, level)
				if workers == 5 {
					b.farBytes = 0
				}
				fn(t, b)
				_ = b.Close()
			}
		})
	}
}

// must launches a call on views in fresh workspace full of NaN.
func must(t *testing.T, b *Backend, c kernels.Call, a kernels.Args) {
	t.Helper()
	n, err := b.Workspace(c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = kernels.View{Shape: []int{n}, DType: kernels.I8, Host: garbage(n)}
	run, err := b.Bind(c, a)
	if err == nil {
		err = run()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fresh is a view like v, full of NaN.
func fresh(v kernels.View) kernels.View {
	return kernels.View{Shape: v.Shape, DType: v.DType, Host: garbage(v.Bytes())}
}

func clone(v kernels.View) kernels.View {
	w := fresh(v)
	copy(w.Host, v.Host)
	return w
}

// result is the first output of a call that updates nothing.
func result(t *testing.T, b *Backend, c kernels.Call, in ...kernels.View) kernels.View {
	t.Helper()
	out, err := launch(b, c, in)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// TestFusedProducts wants the bits of a product and of the sums after it as calls of their own: below and above a block of K, with the rows of
// decoding, with tiles that are cut, and with nothing to multiply.
func TestFusedProducts(t *testing.T) {
	shapes := [][3]int{{1, 70, 40}, {4, 129, 500}, {3, 5, 0}, {12, 32, 16}, {7, 17, 0}, {13, 33, 9}, {50, 75, 384}, {61, 40, 385}, {70, 130, 800}, {200, 270, 64}}
	everyBackend(t, func(t *testing.T, b *Backend) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, s := range shapes {
			for form := range 16 {
				c := kernels.MatMul{TransA: form&1 != 0, TransB: form&2 != 0}
				c.Bias = form&4 != 0 || form&8 == 0
				c.Residual = form&8 != 0
				c.Accumulate = form&12 == 4
				testFusedProduct(t, b, r, c, s[0], s[1], s[2])
			}
		}
	})
}

func testFusedProduct(t *testing.T, b *Backend, r *rand.Rand, c kernels.MatMul, m, n, k int) {
	t.Helper()
	x, w, bias, residual := noise(r, m, k), noise(r, k, n), noise(r, n), noise(r, m, n)
	if c.TransA {
		x.Shape = []int{k, m}
	}
	if c.TransB {
		w.Shape = []int{n, k}
	}
	want := result(t, b, kernels.MatMul{TransA: c.TransA, TransB: c.TransB}, x, w)
	a := kernels.Args{In: []kernels.View{x, w}, Out: []kernels.View{fresh(residual)}}
	if c.Bias {
		a.In = append(a.In, bias)
		want = result(t, b, kernels.AddBias{}, want, bias)
	}
	if c.Residual || c.Accumulate {
		want = result(t, b, kernels.Add{}, want, residual)
	}
	if c.Residual {
		a.In = append(a.In, residual)
	}
	if c.Accumulate {
		a.Out[0] = clone(residual)
	}
	must(t, b, c, a)
	if !bytes.Equal(a.Out[0].Host, want.Host) {
		t.Errorf("%+v, %d x %d x %d with %d workers: not the bits of the separate calls", c, m, n, k, b.workers())
	}
}

// noise is [random] in a view.
func noise(r *rand.Rand, shape ...int) kernels.View {
	return kernels.HostView(random(r, kernels.Shaped(kernels.F32, shape...).Len()), shape...)
}

// TestFusedNorms wants the bits of a sum and its norm as two calls, with the sum in memory of its own and in that of x, and the same of
// gradients.
func TestFusedNorms(t *testing.T) {
	everyBackend(t, func(t *testing.T, b *Backend) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, s := range []struct{ rows, width, d int }{{1, 1, 1}, {5, 7, 7}, {700, 48, 16}, {300, 65, 65}} {
			x, past, dy := noise(r, s.rows, s.width), noise(r, s.rows, s.width), noise(r, s.rows, s.width)
			gain, bias := noise(r, s.d), noise(r, s.d)
			rms, layer := kernels.RMSNorm{Eps: 1e-5}, kernels.LayerNorm{Eps: 1e-5, UnitOffset: true}
			testFusedNorm(t, b, kernels.AddRMSNorm(rms), rms, x, past, gain)
			testFusedNorm(t, b, kernels.AddLayerNorm(layer), layer, x, past, gain, bias)
			testFusedNormGrad(t, b, kernels.AddRMSNormGrad(rms), kernels.RMSNormGrad(rms), past, x, gain, dy)
			testFusedNormGrad(t, b, kernels.AddLayerNormGrad(layer), kernels.LayerNormGrad(layer), past, x, gain, bias, dy)
		}
	})
}

func testFusedNorm(t *testing.T, b *Backend, fused, plain kernels.Call, x, r kernels.View, params ...kernels.View) {
	t.Helper()
	z := result(t, b, kernels.Add{}, x, r)
	wants, err := launch(b, plain, append([]kernels.View{z}, params...)) // y and the statistics
	if err != nil {
		t.Fatal(err)
	}
	for _, inPlace := range []bool{false, true} {
		x := clone(x)
		a := kernels.Args{Out: []kernels.View{fresh(x), fresh(x)}, In: append([]kernels.View{x, r}, params...)}
		if inPlace {
			a.Out[1] = x
		}
		for _, v := range wants[1:] {
			a.Aux = append(a.Aux, fresh(v))
		}
		must(t, b, fused, a)
		got := append([]kernels.View{a.Out[0]}, a.Aux...)
		for i, want := range wants {
			if !bytes.Equal(got[i].Host, want.Host) || !bytes.Equal(a.Out[1].Host, z.Host) {
				t.Errorf("%s of %v, z in the memory of x %v, %d workers: view %d or z has not the bits of the separate calls", fused.Kernel(), a.In, inPlace, b.workers(), i)
			}
		}
	}
}

func testFusedNormGrad(t *testing.T, b *Backend, fused, plain kernels.Call, past kernels.View, in ...kernels.View) {
	t.Helper()
	wants, err := launch(b, plain, in)
	if err != nil {
		t.Fatal(err)
	}
	wants[0] = result(t, b, kernels.Add{}, wants[0], past)
	for _, inPlace := range []bool{false, true} {
		past := clone(past)
		a := kernels.Args{In: append(append([]kernels.View{}, in...), past)}
		for _, v := range wants {
			a.Out = append(a.Out, fresh(v))
		}
		if inPlace {
			a.Out[0] = past
		}
		must(t, b, fused, a)
		for i, want := range wants {
			if !bytes.Equal(a.Out[i].Host, want.Host) {
				t.Errorf("%s of %v, dx in the memory of r %v, %d workers: output %d has not the bits of the separate calls", fused.Kernel(), a.In, inPlace, b.workers(), i)
			}
		}
	}
}
