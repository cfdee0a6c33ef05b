package lab

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// made is evidence of two seeds by hand: twelve blocks, of which every look is one that has nothing remarkable.
func made() *evidence {
	e := &evidence{Scale: Scale{Deep: 12, Depths: []int{2, 4, 8}, Shallow: 2, Rates: []float64{1e-3, 1e-2}, Warmed: []float64{1e-2}, Warmup: 5, Seeds: []int64{1, 2}},
		text: &Text{Vocab: 20, Unigram: 2.5}, grids: map[int][]Place{}, deep: map[string][]CellResult{}, kinds: map[string][]Place{}}
	e.Train.Steps, e.Train.Batch, e.Rate = 60, 4, 1e-3
	for _, name := range []string{"pre", "post", "pre plain", "sandwich", "lns", "deepnorm"} {
		for range e.Seeds {
			look := &Look{Added: Values{1, 1.2}, Grad: Values{3, 2, 1}}
			r := CellResult{Before: &Look{Added: Values{1, 1}}, After: look}
			for range e.Deep {
				r.Dropped = append(r.Dropped, 0.5)
			}
			for range 60 {
				r.Losses, r.Blocks = append(r.Losses, 2), append(r.Blocks, Values{1, 1})
			}
			e.deep[name] = append(e.deep[name], r)
		}
	}
	for _, depth := range e.Depths {
		for _, placement := range []string{"pre", "post"} {
			for _, warmup := range []int{0, 5} {
				for _, rate := range e.Rates {
					p := Place{Placement: placement, Rate: rate, Warmup: warmup}
					for range e.Seeds {
						p.Runs = append(p.Runs, CellResult{Losses: Values{3}, Val: 2, Outcome: Trains})
					}
					e.grids[depth] = append(e.grids[depth], p)
				}
			}
		}
	}
	return e
}

// change changes the runs of a placement in the grid of a depth: those without warm-up, or those with one.
func (e *evidence) change(depth int, placement string, warmup int, change func(rate float64, seed int, r *CellResult)) {
	for _, p := range e.grids[depth] {
		for seed := range p.Runs {
			if p.Placement == placement && p.Warmup == warmup {
				change(p.Rate, seed, &p.Runs[seed])
			}
		}
	}
}

func (r Row) wants(t *testing.T, verdict Verdict, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.Measured+"|"+r.Note, w) {
			t.Errorf("%s does not say %q: %s | %s", r.ID, w, r.Measured, r.Note)
		}
	}
	if r.Verdict != verdict {
		t.Errorf("%s: %s, want %s: %s | %s", r.ID, r.Verdict, verdict, r.Measured, r.Note)
	}
}

// TestSeveralReadings wants rows that can be read in several ways to name the verdict of each, and to have the least favourable.
func TestSeveralReadings(t *testing.T) {
	e := made()
	e.c6().wants(t, Holds, "no higher than pre's, at both depths: holds")
	vals := func(depth int, placement string, a, b float64) {
		for _, warmup := range []int{0, 5} {
			e.change(depth, placement, warmup, func(_ float64, seed int, r *CellResult) { r.Val = metrics.Float([]float64{a, b}[seed]) })
		}
	}
	vals(2, "pre", 2.0, 2.2)
	vals(2, "post", 2.1, 2.3)
	e.c6().wants(t, Fails, "no higher than pre's, at both depths: does not hold", "overlap, at both depths: holds", "at one of the two depths: holds")
	vals(4, "post", 2.1, 2.3)
	e.c6().wants(t, Fails, "overlap, at both depths: does not hold", "at one of the two depths: holds")
	vals(2, "post", 2.5, 2.6)
	e.c6().wants(t, Fails, "at one of the two depths: does not hold")

	e = made()
	adds := func(variant string, most float64) {
		for _, r := range e.deep[variant] {
			r.After.Added[1] = most
		}
	}
	adds("pre plain", 2.8)
	adds("sandwich", 1.9)
	e.c8().wants(t, Holds)
	adds("sandwich", 2.5)
	e.c8().wants(t, Fails, "for every seed: holds", "less than 2, which is what two rows of size 1 can come to: does not hold", "less than 3, which leaves room for gains that grow: holds")
	adds("sandwich", 2.9)
	e.c8().wants(t, Fails, "for every seed: does not hold", "less than 3, which leaves room for gains that grow: holds")
	adds("sandwich", 3.1)
	e.c8().wants(t, Fails, "less than 3, which leaves room for gains that grow: does not hold")
}

// TestSpikes wants spikes and peaks to be told apart: one spike a block makes a peak, many make a share.
func TestSpikes(t *testing.T) {
	e := made()
	e.c13().wants(t, Fails)
	for _, r := range e.deep["post"] {
		r.Blocks[40] = Values{9, 5}
	}
	e.c13().wants(t, Holds, "share of steps and blocks that spike: post 2.50 %, pre 0 %", "mean over blocks: post 7.00, pre 1.00")
	for _, r := range e.deep["pre"] {
		r.Blocks[41] = Values{20, 20}
	}
	e.c13().wants(t, Fails, "its median more in post than in pre, for every seed: does not hold", "blocks of post spike, for every seed: does not hold")
	for _, r := range e.deep["post"] {
		r.Blocks[50] = Values{9, 5}
	}
	e.c13().wants(t, Fails, "its median more in post than in pre, for every seed: does not hold", "blocks of post spike, for every seed: holds")
	if s := spikeShare([]float64{1, 1, 1}); s != 0 {
		t.Errorf("%g of a run that is shorter than the window", s)
	}
}

// TestDamage wants the curse of depth to be a fall from every block to the next, as well as a trend.
func TestDamage(t *testing.T) {
	e := made()
	for name, fall := range map[string]float64{"pre": 0.04, "lns": 0.01, "sandwich": 0.01} {
		for _, r := range e.deep[name] {
			for l := range r.Dropped {
				r.Dropped[l] = 1 - fall*float64(l)
			}
		}
	}
	e.s12().wants(t, Holds, "falls from every block of pre to the next (it does in 11 of 11): holds")
	for _, r := range e.deep["pre"] {
		r.Dropped[6], r.Dropped[7] = r.Dropped[7], r.Dropped[6]
	}
	e.s12().wants(t, Fails, "(it does in 10 of 11): does not hold", "below -0.3, the first block left out: holds", "flatter than pre: holds")
	for _, r := range e.deep["lns"] {
		r.Dropped[11] = 0
	}
	e.s12().wants(t, Fails, "flatter than pre: does not hold")
}

// TestFailsDeep wants the cure of C5 to be one of the depth that fails.
func TestFailsDeep(t *testing.T) {
	e := made()
	e.c5().wants(t, Fails) // nothing fails
	broken := func(depth, warmup int, from float64) {
		e.change(depth, "post", warmup, func(rate float64, _ int, r *CellResult) {
			if rate >= from {
				r.Outcome = Plateau
			}
		})
	}
	broken(4, 0, 0)
	broken(4, 5, 0)
	e.c5().wants(t, Fails, "post of 4 blocks: 0.001 unigram (with warm-up unigram), 0.01 unigram (with warm-up unigram)", "post of 8 blocks: 0.001 trains, 0.01 trains") // 8 blocks do not cure 4
	e = made()
	broken(4, 0, 0)
	e.c5().wants(t, Holds, "(with warm-up trains)")
	e = made()
	broken(8, 0, 1e-2)
	broken(8, 5, 0)
	e.c5().wants(t, Holds, "post of 8 blocks: 0.001 trains, 0.01 unigram") // a smaller rate helps
	e.change(8, "pre", 0, func(_ float64, _ int, r *CellResult) { r.Outcome = Diverged })
	e.c5().wants(t, Fails)
	e = made()
	broken(2, 0, 1e-2)
	e.c5().wants(t, Fails) // not deep
}

// TestBothLengths wants a claim that holds at one length of training alone not to hold, and the row to say so.
func TestBothLengths(t *testing.T) {
	e := made()
	e.Early = 40
	gain := func(end, early float64) {
		for _, depth := range e.Depths {
			e.change(depth, "post", 0, func(_ float64, _ int, r *CellResult) {
				r.Losses = make(Values, 60)
				r.Losses[0] = 3
				r.Val, r.EarlyVal = metrics.Float(2+end), metrics.Float(2+early)
			})
			for _, c := range []struct {
				placement string
				warmup    int
			}{{"pre", 0}, {"pre", 5}, {"post", 5}} {
				e.change(depth, c.placement, c.warmup, func(_ float64, _ int, r *CellResult) {
					r.Losses = make(Values, 60)
					r.Losses[0], r.EarlyVal = 3, 2
				})
			}
		}
	}
	gain(0.1, 0.1)
	e.atBoth(e.early(), (*evidence).s7).wants(t, Holds, "post 0.100, pre 0", "after 40 steps of the same runs: holds")
	gain(0.1, -0.1)
	e.atBoth(e.early(), (*evidence).s7).wants(t, Fails, "after 40 steps of the same runs: does not hold (validation loss", "post -0.100", "after all 60: holds; the verdict is the less favourable")
	gain(-0.1, 0.1)
	e.atBoth(e.early(), (*evidence).s7).wants(t, Fails, "after 40 steps of the same runs: holds")
	e.Early = 0
	if then := e.early(); then != nil {
		t.Error("there is evidence of the way where none was asked for")
	}
	if r := e.atBoth(nil, (*evidence).s7); strings.Contains(r.Note, "of the same runs") {
		t.Errorf("%+v", r)
	}
}

// TestEarly wants what is measured on the way to be what a run gives that ends there, and the run not to notice.
func TestEarly(t *testing.T) {
	g := littleGrid()
	r, _ := counting(t, "", 1)
	short, long := g.cell("post", 1e-2, 3, 1), g.cell("post", 1e-2, 3, 1)
	short.Train.Steps = 7
	short.Probe, long.Probe, short.Blocks, long.Blocks = true, true, true, true
	plain := long
	long.Early = 7
	results, err := r.Run(context.Background(), []Cell{short, long, plain})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := results[0], results[1], results[2]
	if a.Val != b.EarlyVal || !reflect.DeepEqual(a.After, b.Early) || b.Early == nil || !math.IsNaN(float64(c.EarlyVal)) {
		t.Errorf("on the way %g, at the end of a run of that length %g, unasked %g", b.EarlyVal, a.Val, c.EarlyVal)
	}
	if b.Val != c.Val || !reflect.DeepEqual(b.Losses, c.Losses) || !reflect.DeepEqual(b.After, c.After) {
		t.Error("a look on the way changes the run")
	}
	e := &evidence{Scale: Scale{Early: 7}, text: r.Text, deep: map[string][]CellResult{"post": {b}}}
	cut := e.early().deep["post"][0]
	if cut.Val != a.Val || !reflect.DeepEqual(cut.Losses, a.Losses) || cut.Outcome != a.Outcome || cut.FinalRun != a.FinalRun || cut.Reached != 7 || cut.After != b.Early || !reflect.DeepEqual(cut.Blocks, a.Blocks) || !reflect.DeepEqual(cut.Norms, a.Norms) {
		t.Errorf("cut to\n%+v, a run of that length gives\n%+v", cut, a)
	}
}
