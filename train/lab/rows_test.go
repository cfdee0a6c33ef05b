package lab

import (
	"math"
	"testing"

	"prenorm/train/metrics"
)

// TestTrainedRows holds rows on looks into trained models against evidence by hand, from both sides of each criterion.
func TestTrainedRows(t *testing.T) {
	e := made()
	looks := func(variant string, change func(*Look)) {
		for _, r := range e.deep[variant] {
			change(r.After)
		}
	}
	// Variances 1, 2, 3, 4 are on a line and grow fourfold.
	stream := func(variant string, variances ...float64) {
		looks(variant, func(l *Look) {
			l.Stream = Values{9}
			for _, v := range variances {
				l.Stream = append(l.Stream, math.Sqrt(v))
			}
		})
	}
	stream("sandwich", 1, 2, 3, 4)
	stream("pre", 1, 2, 3, 5)
	stream("pre plain", 1, 2, 3, 6)
	e.s8().wants(t, Holds, "R² of the line 1.00, last block's variance over the first's 4.00; pre with plain writers 6.00, with writers at 1/sqrt(2N) 5.00")
	stream("pre", 1, 2, 3, 3.5)
	e.s8().wants(t, Fails)
	stream("pre", 1, 2, 3, 50)
	stream("pre plain", 1, 2, 3, 50)
	stream("sandwich", 1, 2, 3, 5.8)
	e.s8().wants(t, Fails, "R² of the line 0.924")

	// Two of three blocks have a larger gradient below them.
	e.init.Models = []Snapshot{{Variant: "pre", Grad: []float64{4, 3, 2, 1}}, {Variant: "post", Grad: []float64{1, 2, 3, 4}}}
	grad := func(g ...float64) { looks("pre", func(l *Look) { l.Grad = g }) }
	grad(4, 3, 3, 1)
	e.c14().wants(t, Holds, "1.00 before training, 1.00 after")
	grad(4, 2, 3, 1)
	e.c14().wants(t, Fails, "1.00 before training, 0.667 after")
	e.init.Models[0].Grad = []float64{1, 2, 2, 1}
	grad(4, 3, 2, 1)
	e.c14().wants(t, Fails, "0.667 before training, 1.00 after")

	rewrite := func(late float64) {
		looks("pre", func(l *Look) {
			l.Rewrite, l.Cosine = Values{0.9, 0.7, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, late, late, late, late}, make(Values, 13)
			for i := range l.Cosine {
				l.Cosine[i] = 1 - float64(i)/20
			}
		})
	}
	rewrite(0.09)
	e.c16().wants(t, Holds, "0.725 of its size in the first third of blocks, by 0.0900 in the last", "after blocks 1, 4, 8, 12: 0.950, 0.800, 0.600, 0.400")
	rewrite(0.11)
	e.c16().wants(t, Fails)

	looks("pre plain", func(l *Look) { l.Logits, l.RawLogits, l.Loss, l.RawLoss = 2, 8, 2.5, 9 })
	depths := func(e *evidence, variant string, sizes ...float64) {
		e.Init.Depths = []int{6, 48}
		e.init.Options.Depths = e.Init.Depths
		for i, n := range e.Init.Depths {
			down := make([]float64, n)
			for l := range down {
				down[l] = 1
			}
			s := Snapshot{Variant: variant, Layers: n, Width: 64, Stream: make([]float64, n+1), Down: down, Grad: []float64{2, 1}, Moved: sizes[i] / 10}
			s.Stream[n] = sizes[i]
			e.init.Models = append(e.init.Models, s)
		}
	}
	e.init.Models = nil
	depths(e, "pre", 2, 6)
	e.c3().wants(t, Holds, "48 blocks is 3.00 times that of 6", "the logits 4.00 times as large and the loss 9.00 instead of 2.50")
	looks("pre plain", func(l *Look) { l.RawLogits = 2.5 })
	e.c3().wants(t, Fails)
	looks("pre plain", func(l *Look) { l.RawLogits, l.RawLoss = 8, 2.4 })
	e.c3().wants(t, Fails)
	e.init.Models = nil
	depths(e, "pre", 2, 2.9)
	looks("pre plain", func(l *Look) { l.RawLoss = 9 })
	e.c3().wants(t, Fails)

	// Rows on the same untrained models.
	depths(e, "pre+scaled", 2, 2.4)
	e.c4().wants(t, Fails, "1.20, with plain writers 1.45")
	e.init.Models = nil
	depths(e, "pre", 2, 6)
	depths(e, "pre+scaled", 2, 2.4)
	depths(e, "post", 1, 1)
	e.c4().wants(t, Holds, "1.20, with plain writers 3.00")
	e.c12().wants(t, Fails, "post 1.000, pre 3.00, pre with writers at 1/sqrt(2N) 1.20")
	for _, r := range e.deep["pre"] { // the end is twice as large as the embedding and 60 degrees from it
		r.Before.Cosine, r.Before.Stream = Values{1, 0.5}, Values{1, 2}
	}
	e.c15().wants(t, Holds, "48 blocks: 0.240, with plain writers 0.600", "start at about 1.73")
	e.init.Models = nil
	depths(e, "pre", 2, 6)
	depths(e, "pre+scaled", 2, 5.5)
	e.c15().wants(t, Fails, "48 blocks: 0.550")
	e.c4().wants(t, Fails)

	for i := range e.deep["pre"] {
		e.deep["pre"][i].Params, e.deep["pre"][i].Fastest = 1000, 4e-3+float64(i)
		e.deep["sandwich"][i].Params, e.deep["sandwich"][i].Fastest = 1010, 5e-3-1e-4*float64(i)
	}
	e.c17().wants(t, Holds, "10 parameters more (1.00 %); 4.90 ms a step against 4.00 ms (+22 %)")
	e.deep["sandwich"][0].Fastest = 3e-3
	e.c17().wants(t, Fails)
}

// TestKindsOfNorm holds the rows on RMSNorm and BatchNorm.
func TestKindsOfNorm(t *testing.T) {
	e := made()
	e.timing = timing{rms: 1e-3, layer: 2e-3}
	rms := Place{Placement: "pre", Rate: 1e-2, Runs: []CellResult{{Losses: Values{3}, Val: 2.005}, {Losses: Values{3}, Val: 2.005}}}
	e.kinds[rmsNorm] = []Place{rms}
	e.c10().wants(t, Holds, "1.000 ms against 2.000 ms; validation loss at the best rate 2.005 (2.005 to 2.005) against 2.000")
	e.timing.layer = 0.9e-3
	e.c10().wants(t, Fails)
	e.timing.layer = 2e-3
	rms.Runs[0].Val = 2.03
	e.c10().wants(t, Fails)

	run := CellResult{Losses: Values{3}, Norms: Values{1, 1, 3}, Val: 2.2, OwnVal: 2.1, Wobble: 1.5, FinalRun: 2}
	e.batch = []CellResult{run, run}
	e.change(4, "pre", 0, func(_ float64, _ int, r *CellResult) { r.FinalRun, r.Norms = 1.9, Values{1, 1, 2} })
	e.c11().wants(t, Holds, "scatter 1.50 times", "in training: 0.100 nats", "validation loss 2.20, with LayerNorm 2.00, less training loss 0.200, 0.100", "over the median 3.00, 2.00")
	for _, change := range []func(*CellResult){
		func(r *CellResult) { r.Wobble = 0.9 },
		func(r *CellResult) { r.OwnVal = 2.195 },
		func(r *CellResult) { r.OwnVal = 2.4 }, // to the other side for one seed
		func(r *CellResult) { r.FinalRun = 2.11 },
	} {
		e.batch = []CellResult{run, run}
		change(&e.batch[0])
		if r := e.c11(); r.Verdict == Holds && e.batch[0].OwnVal != 2.195 {
			t.Errorf("%+v holds with %+v", r, e.batch[0])
		}
	}
	e.batch[0].FinalRun, e.batch[0].OwnVal, e.batch[1].OwnVal = 2, 2.195, 2.195
	e.c11().wants(t, Fails, "0.00500 nats")
}

// TestUntrainedRows holds rows on models before training.
func TestUntrainedRows(t *testing.T) {
	e := made()
	path := func(variant string, off float64, straight ...float64) Path {
		return Path{Variant: variant, Layers: len(straight) - 1, Straight: straight, TopError: off, Shares: []float64{0.05, 0.95}}
	}
	e.Paths.Layers, e.Through = 2, 4
	e.paths = []Path{path("pre", 0, 2, 2, 2), path("post", 1, 0.5, 1.62, 2)}
	e.deeper = []Path{path("pre", 0, 2, 2, 2, 2, 2), path("post", 1, 0.02, 0.1, 0.5, 1, 2)}
	e.c1().wants(t, Holds, "1, 2 and 4 blocks hand down of the gradient in pre 1.00, 1.00, 1.00", "in post 0.810, 0.250, 0.0100")
	e.c18().wants(t, Holds, "0.900 a norm beside 0.8, so 3.4e-02 over 32 beside 7.9e-04", "branches carry 95 % of it")
	e.deeper[0].TopError = 1e-6
	e.c1().wants(t, Fails)
	e.deeper[0].TopError = 0
	e.paths[1] = path("post", 1, 0.5, 1.99, 2)
	e.c1().wants(t, Fails)
	e.c18().wants(t, Fails)

	e.Init.Depths = []int{2, 4}
	snap := func(variant string, layers int, grad, lower float64) Snapshot {
		g := make([]float64, layers+1)
		g[0], g[layers] = grad, 2
		return Snapshot{Variant: variant, Layers: layers, Grad: g, Lower: lower}
	}
	e.init.Models = []Snapshot{snap("residual", 2, 3, 2), snap("residual", 4, 2.1, 2)}
	e.c9().wants(t, Holds, "2 blocks 1.50; 4 blocks 1.05")
	e.init.Models[1].Lower = 2.2
	e.c9().wants(t, Fails)

	e.Bare.Depths = []int{2, 4}
	bare := func(low, high, pre float64) {
		e.bare.Models = []Snapshot{snap("noskip", 2, low, 0), snap("noskip", 4, high, 0), snap("pre", 2, 4, 0), snap("pre", 4, pre, 0)}
	}
	bare(2e2, 2e4, 6)
	e.c2().wants(t, Holds, "2, 4 blocks: noskip 100, 10000; pre 2.00, 3.00; without residuals a factor of 10.000 a block (R² of the fit 1.00)")
	bare(2e-2, 2e-4, 6)
	e.c2().wants(t, Holds)
	bare(2, 2e2, 6)
	e.c2().wants(t, Fails)
	bare(2e2, 2e4, 400)
	e.c2().wants(t, Fails)
	bare(2e2, 2e4, 0.01)
	e.c2().wants(t, Fails)
}

// TestLawRows wants a row with two laws to hold where both do.
func TestLawRows(t *testing.T) {
	verdicts := func(gradient func(n, l int) float64) map[string]Verdict {
		e := made()
		e.Init.Depths = []int{6, 12, 24}
		e.init.Options.Depths = e.Init.Depths
		for _, n := range e.Init.Depths {
			s := Snapshot{Variant: "deepnorm", Layers: n, Stream: make([]float64, n+1)}
			s.Stream[n] = 1
			for l := range n {
				s.Down = append(s.Down, gradient(n, l))
			}
			e.init.Models = append(e.init.Models, s)
		}
		all := map[string]Verdict{}
		for _, r := range e.lawRows() {
			all[r.ID] = r.Verdict
		}
		return all
	}
	root := func(n, _ int) float64 { return 1 / math.Sqrt(float64(n)) }
	for want, gradient := range map[Verdict]func(n, l int) float64{
		Holds: root,
		Fails: func(n, l int) float64 { return root(n, l) * (1 + 0.2*float64(min(l, 1))) },
	} {
		v := verdicts(gradient)
		if v["S5"] != want {
			t.Errorf("S5 %s, want %s", v["S5"], want)
		}
		if v["S1"] != CannotTell {
			t.Errorf("S1 without models: %s", v["S1"])
		}
	}
	if v := verdicts(func(n, _ int) float64 { return 1 / float64(n) }); v["S5"] != Fails {
		t.Errorf("S5 %s where gradients are even and fall as 1/N", v["S5"])
	}
}

// TestSensitive wants S9 to hold where the seeds of post lie above those of pre at half of the depths or more.
func TestSensitive(t *testing.T) {
	e := made()
	worse := func(depth int, placement string, a, b float64) {
		e.change(depth, placement, 0, func(rate float64, seed int, r *CellResult) {
			if rate == 1e-2 {
				r.Val = metrics.Float(2 + []float64{a, b}[seed])
			}
		})
	}
	e.s9().wants(t, CannotTell)
	worse(2, "post", 0.2, 0.4)
	e.s9().wants(t, Fails, "2 blocks: post 0.150 (0.100 to 0.200), pre 0") // one of three depths
	worse(4, "post", 0.2, 0.4)
	e.s9().wants(t, Holds)
	worse(4, "pre", 0.1, 0.3) // the seeds overlap
	e.s9().wants(t, Fails)
	worse(8, "pre", 0.1, 0.3)
	e.s9().wants(t, CannotTell)
}
