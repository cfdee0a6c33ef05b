package cpu

import (
	"fmt"
	"testing"

	"prenorm/kernels"
)

// BenchmarkMemory times calls on views of 100 MB, which no cache holds, with two workers, and beside each the share of the floor: as much as is
// written at the speed of a copy that goes along, the rest at that of reading (see bandwidth). Both probes run before and after, as memory's
// speed changes from one second to the next on shared machines.
func BenchmarkMemory(b *testing.B) {
	const rows, width = 32768, 768
	be := New(2)
	defer func() { _ = be.Close() }()
	view := func() kernels.View { return noise(source(), rows, width) }
	x, y, z, gain := view(), view(), view(), noise(source(), width)
	v := func(in ...kernels.View) []kernels.View { return in }
	hyper := kernels.HostView([]float32{1e-3, .1, .1, 1}, 4)
	for _, k := range []struct {
		call kernels.Call
		in   []kernels.View
	}{
		{kernels.Add{}, v(x, y)}, {kernels.Scale{Factor: 1.5}, v(x)}, {kernels.AddBias{}, v(x, gain)},
		{kernels.RMSNorm{Eps: 1e-5}, v(x, gain)}, {kernels.RMSNormGrad{Eps: 1e-5}, v(x, gain, y)},
		{kernels.AddRMSNorm{Eps: 1e-5}, v(x, y, gain)}, {kernels.AddRMSNormGrad{Eps: 1e-5}, v(x, gain, y, z)},
		{kernels.LayerNorm{Eps: 1e-5}, v(x, gain, gain)}, {kernels.LayerNormGrad{Eps: 1e-5}, v(x, gain, gain, y)},
		{kernels.AddLayerNorm{Eps: 1e-5}, v(x, y, gain, gain)}, {kernels.AddLayerNormGrad{Eps: 1e-5}, v(x, gain, gain, y, z)},
		{kernels.DyT{}, v(x, one(1), gain, gain)}, {kernels.DyTGrad{}, v(x, one(1), gain, gain, y)},
		{kernels.Activation{Kind: "gelu_tanh"}, v(x)}, {kernels.ActivationGrad{Kind: "gelu_tanh"}, v(x, y)},
		{kernels.GatedActivation{Kind: "silu"}, v(x, y)}, {kernels.GatedActivationGrad{Kind: "silu"}, v(x, y, z)},
		{kernels.Rope{}, v(x, ids(source(), rows, 256), noise(source(), 256, 64))},
		{kernels.SumRows{}, v(x)}, {kernels.GlobalNorm{}, v(x)}, {kernels.Dropout{Rate: .1}, v(x, ids(source(), 4, 9))},
		{kernels.Embed{}, v(ids(source(), rows, rows), x)}, {kernels.EmbedGrad{Vocab: rows}, v(ids(source(), rows, rows), x)},
		{kernels.AdamW{Beta1: .9, Beta2: .95, Eps: 1e-8}, v(x, y, square(view()), z, hyper)},
	} {
		b.Run(fmt.Sprintf("%T", k.call), func(b *testing.B) {
			a, err := args(be, k.call, k.in)
			if err != nil {
				b.Fatal(err)
			}
			a.Saved = nil
			run, err := be.Bind(k.call, a)
			if err != nil {
				b.Fatal(err)
			}
			var read, written int
			for _, v := range a.In {
				read += v.Bytes()
			}
			for _, v := range a.Out {
				written += v.Bytes()
			}
			r1, c1 := be.bandwidth(probeBytes)
			best := be.leastTime(run)
			r2, c2 := be.bandwidth(probeBytes)
			both := min(read, written)
			floor := 2*float64(both)/max(c1, c2) + float64(read-both)/max(r1, r2)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(best*1e3, "ms")
			b.ReportMetric(floor/best, "of-floor")
			b.ReportMetric(max(r1, r2)/1e9, "read-GB/s")
			b.ReportMetric(max(c1, c2)/1e9, "copy-GB/s")
		})
	}
}

// leastTime is that of several launches in seconds.
func (b *Backend) leastTime(run kernels.Launch) float64 {
	least := timed(func() { _ = run() })
	for range probeRuns - 1 {
		least = min(least, timed(func() { _ = run() }))
	}
	return least.Seconds()
}
