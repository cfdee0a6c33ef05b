package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// benchmark runs one call on the backend with 1 and 2 workers and on its naive twin, the reference.
func benchmark(b *testing.B, call kernels.Call, in []kernels.View) {
	for _, k := range []struct {
		name string
		be   kernels.Backend
	}{{"1worker", New(1)}, {"2workers", New(2)}, {"naive", ref.New()}} {
		b.Run(k.name, func(b *testing.B) {
			defer func() { _ = k.be.Close() }()
			a, err := args(k.be, call, in)
			if err != nil {
				b.Fatal(err)
			}
			run, err := k.be.Bind(call, a)
			if err != nil {
				b.Fatal(err)
			}
			bytes := 0
			for _, v := range append(a.In, a.Out...) {
				bytes += v.Bytes()
			}
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			if n := kernels.FLOPs(call, a); n > 0 {
				b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			}
		})
	}
}

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func BenchmarkMatMul(b *testing.B) {
	r := source()
	for _, s := range []struct {
		call    kernels.MatMul
		m, n, k int
	}{
		{kernels.MatMul{TransB: true}, 2048, 128, 128},
		{kernels.MatMul{TransB: true}, 2048, 352, 128},
		{kernels.MatMul{}, 2048, 128, 352},
		{kernels.MatMul{TransA: true}, 128, 352, 2048},
		{kernels.MatMul{TransB: true}, 768, 512, 128},
		{kernels.MatMul{}, 768, 128, 512},
		{kernels.MatMul{TransA: true}, 512, 128, 768},
		{kernels.MatMul{TransB: true}, 2048, 768, 768},
		{kernels.MatMul{TransB: true}, 1, 1024, 128}, // decoding
		{kernels.MatMul{TransB: true}, 1, 32000, 288},
	} {
		x, w := floats(r, s.m, s.k), floats(r, s.k, s.n)
		if s.call.TransA {
			x = floats(r, s.k, s.m)
		}
		if s.call.TransB {
			w = floats(r, s.n, s.k)
		}
		form := map[kernels.MatMul]string{{TransB: true}: "NT", {}: "NN", {TransA: true}: "TN"}[s.call]
		b.Run(fmt.Sprintf("%dx%dx%d%s", s.m, s.n, s.k, form), func(b *testing.B) { benchmark(b, s.call, []kernels.View{x, w}) })
	}
}

// The shape of a small model: 16 sequences of 128 rows, 4 heads of 32.
func BenchmarkAttention(b *testing.B) {
	r := source()
	c := kernels.Attention{Heads: 4, KVHeads: 4, HeadDim: 32, T: 128, Scale: 0.18}
	q, k, v := floats(r, 2048, 128), floats(r, 2048, 128), floats(r, 2048, 128)
	b.Run("forward", func(b *testing.B) { benchmark(b, c, []kernels.View{q, k, v}) })
	out, err := launch(New(1), c, []kernels.View{q, k, v})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("backward", func(b *testing.B) {
		benchmark(b, kernels.AttentionGrad(c), []kernels.View{q, k, v, out[0], floats(r, 2048, 128)})
	})
}

func BenchmarkHead(b *testing.B) {
	r := source()
	in := []kernels.View{floats(r, 2048, 128), floats(r, 512, 128), ids(r, 2048, 512), one(2048)}
	b.Run("forward", func(b *testing.B) { benchmark(b, kernels.LinearCrossEntropy{}, in) })
	b.Run("backward", func(b *testing.B) {
		benchmark(b, kernels.LinearCrossEntropyGrad{}, append(in[:4:4], scalar(1)))
	})
}

func BenchmarkRows(b *testing.B) {
	r := source()
	x, dy, gain := floats(r, 2048, 128), floats(r, 2048, 128), floats(r, 128)
	for _, k := range []struct {
		call kernels.Call
		in   []kernels.View
	}{
		{kernels.RMSNorm{Eps: 1e-5}, []kernels.View{x, gain}},
		{kernels.RMSNormGrad{Eps: 1e-5}, []kernels.View{x, gain, dy}},
		{kernels.LayerNorm{Eps: 1e-5}, []kernels.View{x, gain, gain}},
		{kernels.LayerNormGrad{Eps: 1e-5}, []kernels.View{x, gain, gain, dy}},
		{kernels.SumRows{}, []kernels.View{x}},
		{kernels.EmbedGrad{Vocab: 512}, []kernels.View{ids(r, 2048, 512), dy}},
		{kernels.Rope{}, []kernels.View{x, ids(r, 2048, 128), floats(r, 128, 32)}},
	} {
		b.Run(k.call.Kernel(), func(b *testing.B) { benchmark(b, k.call, k.in) })
	}
}

func BenchmarkElements(b *testing.B) {
	r := source()
	x, y, z := floats(r, 2048, 352), floats(r, 2048, 352), floats(r, 2048, 352)
	for _, k := range []struct {
		call kernels.Call
		in   []kernels.View
	}{
		{kernels.Add{}, []kernels.View{x, y}},
		{kernels.Activation{Kind: "gelu_tanh"}, []kernels.View{x}},
		{kernels.GatedActivation{Kind: "silu"}, []kernels.View{x, y}},
		{kernels.GatedActivationGrad{Kind: "silu"}, []kernels.View{x, y, z}},
		{kernels.Dropout{Rate: 0.1}, []kernels.View{x, ids(r, 4, 9)}},
		{kernels.GlobalNorm{}, []kernels.View{x}},
		{kernels.AdamW{Beta1: .9, Beta2: .95, Eps: 1e-8}, []kernels.View{x, y, square(floats(r, 2048, 352)), z, kernels.HostView([]float32{0, 1, 1, 1}, 4)}},
	} {
		b.Run(k.call.Kernel(), func(b *testing.B) { benchmark(b, k.call, k.in) })
	}
}

// step is one call of a sequence, on views that have their memory.
type step struct {
	call    kernels.Call
	out, in []kernels.View
}

// benchmarkSteps runs calls one after the other with 1 and 2 workers.
func benchmarkSteps(b *testing.B, name string, steps ...step) {
	for workers := 1; workers <= 2; workers++ {
		b.Run(fmt.Sprintf("%s/%dworkers", name, workers), func(b *testing.B) {
			be := New(workers)
			defer func() { _ = be.Close() }()
			var all []kernels.Launch
			for _, s := range steps {
				a := kernels.Args{Out: s.out, In: s.in}
				n, err := be.Workspace(s.call, a)
				if err != nil {
					b.Fatal(err)
				}
				a.Work = kernels.View{Shape: []int{n}, DType: kernels.I8, Host: garbage(n)}
				run, err := be.Bind(s.call, a)
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, run)
			}
			for b.Loop() {
				for _, run := range all {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkFusedProduct times linear layers with a bias and a residual against the three calls that a layer would take otherwise.
func BenchmarkFusedProduct(b *testing.B) {
	r := source()
	for _, s := range [][3]int{{2048, 128, 128}, {2048, 128, 352}, {2048, 768, 768}, {1, 1024, 128}} {
		m, n, k := s[0], s[1], s[2]
		x, w, bias, residual := floats(r, m, k), floats(r, n, k), floats(r, n), floats(r, m, n)
		y, z := floats(r, m, n), floats(r, m, n)
		v := func(views ...kernels.View) []kernels.View { return views }
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			benchmarkSteps(b, "fused", step{kernels.MatMul{TransB: true, Bias: true, Residual: true}, v(y), v(x, w, bias, residual)})
			benchmarkSteps(b, "accumulated", step{kernels.MatMul{TransB: true, Bias: true, Accumulate: true}, v(residual), v(x, w, bias)})
			benchmarkSteps(b, "separate", step{kernels.MatMul{TransB: true}, v(y), v(x, w)}, step{kernels.AddBias{}, v(z), v(y, bias)}, step{kernels.Add{}, v(y), v(z, residual)})
		})
	}
}

// BenchmarkFusedNorm times norms of sums, and gradients added to others, against the two calls.
func BenchmarkFusedNorm(b *testing.B) {
	r := source()
	v := func(views ...kernels.View) []kernels.View { return views }
	rms, layer := kernels.RMSNorm{Eps: 1e-5}, kernels.LayerNorm{Eps: 1e-5}
	for _, width := range []int{128, 768} {
		m := func() kernels.View { return floats(r, 2048, width) }
		x, past, y, z, dy, gain, bias, dgain, dbias := m(), m(), m(), m(), m(), floats(r, width), floats(r, width), floats(r, width), floats(r, width)
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			benchmarkSteps(b, "rms/fused", step{kernels.AddRMSNorm(rms), v(y, z), v(x, past, gain)})
			benchmarkSteps(b, "rms/separate", step{kernels.Add{}, v(z), v(x, past)}, step{rms, v(y), v(z, gain)})
			benchmarkSteps(b, "rmsGrad/fused", step{kernels.AddRMSNormGrad(rms), v(y, dgain), v(x, gain, dy, past)})
			benchmarkSteps(b, "rmsGrad/separate", step{kernels.RMSNormGrad(rms), v(y, dgain), v(x, gain, dy)}, step{kernels.Add{}, v(y), v(y, past)})
			benchmarkSteps(b, "layer/fused", step{kernels.AddLayerNorm(layer), v(y, z), v(x, past, gain, bias)})
			benchmarkSteps(b, "layer/separate", step{kernels.Add{}, v(z), v(x, past)}, step{layer, v(y), v(z, gain, bias)})
			benchmarkSteps(b, "layerGrad/fused", step{kernels.AddLayerNormGrad(layer), v(y, dgain, dbias), v(x, gain, bias, dy, past)})
			benchmarkSteps(b, "layerGrad/separate", step{kernels.LayerNormGrad(layer), v(y, dgain, dbias), v(x, gain, bias, dy)}, step{kernels.Add{}, v(y), v(y, past)})
		})
	}
}

// BenchmarkConvert times both directions.
func BenchmarkConvert(b *testing.B) {
	const n = 1 << 20
	wide, narrow := floats(source(), n), kernels.HostView(make([]uint16, n), n)
	benchmarkSteps(b, "narrow", step{kernels.Convert{}, []kernels.View{narrow}, []kernels.View{wide}})
	benchmarkSteps(b, "widen", step{kernels.Convert{}, []kernels.View{wide}, []kernels.View{narrow}})
}

// BenchmarkTile times each tier's largest tile on operands in the first cache: the most that a product can reach.
func BenchmarkTile(b *testing.B) {
	r := source()
	for _, level := range tiers() {
		for form, tiles := range map[string][]tileFunc{"rows": level.inRows, "columns": level.inColumns} {
			b.Run(level.name+"/"+form, func(b *testing.B) {
				const k = 128
				x, w, c := floats(r, level.rows*k).F32(), floats(r, level.cols*k).F32(), make([]float32, level.rows*level.cols)
				lda := k
				if form == "columns" {
					lda = level.rows
				}
				for b.Loop() {
					for range 100 {
						tiles[level.rows](k, &x[0], lda, &w[0], level.cols, &c[0], level.cols, level.cols, nil, nil, nil, 0, nil, 0, 0)
					}
				}
				b.ReportMetric(float64(100*2*level.rows*level.cols*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}
