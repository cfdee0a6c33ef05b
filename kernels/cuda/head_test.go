//go:build gpu

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// TestHeadChunksBF16 cuts the logits of bfloat16 operands into chunks, at a vocabulary whose rows are not aligned, and wants each loss the
// same bit for bit, and the gradients within what rounding the logits' gradient to bfloat16 explains.
func TestHeadChunksBF16(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(41, 42))
	const n, width, vocab = 150, 24, 1101 // so long a vocabulary that dx is made in slices
	x, w, targets := random(r, n, width), random(r, vocab, width), below(r, n, vocab)
	targets.I32()[3], targets.I32()[140] = -1, -100
	rest := []kernels.View{targets, scalar(n - 2), kernels.HostView([]float32{0.5})}
	xs, ws := halves(x), halves(w)
	c := kernels.LinearCrossEntropyGrad{Softcap: 8}
	want := run(t, ref.New(), c, nil, append([]kernels.View{widened(xs), widened(ws)}, rest...)...)
	defer func(old int) { headElements = old }(headElements)
	var loss float32
	for i, elements := range []int{headElements, 7 * vocab, 130 * vocab} {
		headElements = elements
		for _, out := range []kernels.DType{kernels.F32, kernels.BF16} {
			got := runHead(t, b, c, out, append([]kernels.View{xs, ws}, rest...)...)
			tolerance := 0x1p-8
			if out == kernels.BF16 {
				tolerance += 0x1p-8
			}
			near(t, "dx", tolerance, widened(got[0]).F32(), want[0].F32())
			near(t, "dW", 0x1p-8, got[1].F32(), want[1].F32())
			near(t, "loss", 1e-5, got[2].F32(), want[2].F32())
			if l := got[2].F32()[0]; i == 0 && out == kernels.F32 {
				loss = l
			} else if l != loss {
				t.Errorf("chunks of %d logits give the loss %g, all at once %g", elements, l, loss)
			}
		}
	}
}

// TestIgnoredRows wants rows whose target is ignored to have the gradient zero and to add zero to that of W, whatever x and W hold there, by our
// products and by cuBLAS's, in chunks and at once.
func TestIgnoredRows(t *testing.T) {
	defer func(old int) { headElements = old }(headElements)
	const n, width, vocab = 33, 12, 70
	for _, products := range []string{"own", "cublas"} {
		if products == "cublas" {
			needBLAS(t)
		}
		b := openedIn(t, kernels.PrecisionBF16, products)
		r := rand.New(rand.NewPCG(47, 48))
		x, w, targets := random(r, n, width), random(r, vocab, width), below(r, n, vocab)
		w.F32()[0], w.F32()[40*width+width-1] = float32(math.NaN()), float32(math.Inf(-1))
		for i := range n / 3 {
			targets.I32()[3*i] = -1
			x.F32()[3*i*width+i] = float32(math.Inf(1))
		}
		none := kernels.HostView(slices.Repeat([]int32{-100}, n), n)
		rest := []kernels.View{scalar(n), kernels.HostView([]float32{0.5})}
		for _, elements := range []int{headElements, 7 * vocab} {
			headElements = elements
			for _, in := range [][]kernels.View{{x, w}, {halves(x), halves(w)}} {
				for _, out := range []kernels.DType{kernels.F32, in[0].DType} {
					got := widened(runHead(t, b, kernels.LinearCrossEntropyGrad{}, out, append(append(in, targets), rest...)...)[0]).F32()
					for i, v := range got {
						if i/width%3 == 0 && i/width < n/3*3 && v != 0 {
							t.Fatalf("%s, %v <- %v, %d logits: dx[%d, %d] = %g", products, out, in[0].DType, elements, i/width, i%width, v)
						}
					}
					all := runHead(t, b, kernels.LinearCrossEntropyGrad{}, out, append(append(in, none), rest...)...)
					if i := slices.IndexFunc(all[1].F32(), func(v float32) bool { return v != 0 }); i >= 0 || all[2].F32()[0] != 0 {
						t.Fatalf("%s, %v <- %v, %d logits: with no target dW[%d] and the loss are not 0", products, out, in[0].DType, elements, i)
					}
				}
			}
		}
	}
}

// halves is a host view rounded to bfloat16.
func halves(v kernels.View) kernels.View {
	short := make([]uint16, v.Len())
	for i, x := range v.F32() {
		short[i] = kernels.ToBF16(x)
	}
	return kernels.HostView(short, v.Shape...)
}

// widened is a host view as float32.
func widened(v kernels.View) kernels.View {
	if v.DType == kernels.F32 {
		return v
	}
	wide := make([]float32, v.Len())
	for i, x := range v.BF16() {
		wide[i] = kernels.FromBF16(x)
	}
	return kernels.HostView(wide, v.Shape...)
}

// runHead runs the gradient with dx of a type.
func runHead(t *testing.T, b *Backend, c kernels.LinearCrossEntropyGrad, dx kernels.DType, in ...kernels.View) (results []kernels.View) {
	t.Helper()
	p := placer{t, b}
	var a kernels.Args
	for _, v := range in {
		d := p.view(v)
		var err error
		switch v.DType {
		case kernels.BF16:
			err = b.Upload(d, v.BF16())
		default:
			p.upload(d, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.In = append(a.In, d)
	}
	for _, v := range []kernels.View{kernels.Shaped(dx, in[0].Shape...), kernels.Shaped(kernels.F32, in[1].Shape...), kernels.Shaped(kernels.F32)} {
		a.Out = append(a.Out, p.view(v))
	}
	work, err := b.Workspace(c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = p.view(kernels.Shaped(kernels.I8, work))
	launch, err := b.Bind(c, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	for _, v := range a.Out {
		host, data := kernels.View{}, any(nil)
		if v.DType == kernels.BF16 {
			short := make([]uint16, v.Len())
			host, data = kernels.HostView(short, v.Shape...), short
		} else {
			wide := make([]float32, v.Len())
			host, data = kernels.HostView(wide, v.Shape...), wide
		}
		if err := b.Download(data, v); err != nil {
			t.Fatal(err)
		}
		results = append(results, host)
	}
	return results
}
