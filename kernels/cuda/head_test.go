//go:build gpu

package cuda

import (
	"math/rand/v2"
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
