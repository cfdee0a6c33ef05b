package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The rows on training runs of pre and post at several depths, rates and warm-ups.

// s7 holds the gain of a warm-up in post against that in pre, at every depth and rate that has both.
func (e *evidence) s7() Row {
	gain := func(placement string) Spread {
		var values []float64
		for seed := range e.Seeds {
			sum, n := 0.0, 0.0
			for _, depth := range e.Depths {
				for _, rate := range e.Warmed {
					none, some := e.place(depth, placement, rate, 0).Runs[seed], e.place(depth, placement, rate, e.Warmup).Runs[seed]
					sum, n = sum+bounded(none)-bounded(some), n+1
				}
			}
			values = append(values, sum/n)
		}
		return SpreadOf(values...)
	}
	post, pre := gain("post"), gain("pre")
	verdict := when(post.Mean > pre.Mean)
	if post.Low <= pre.High && post.High >= pre.Low {
		verdict = CannotTell
	}
	return Row{ID: "S7", Claim: "post needs a warm-up, pre does not: a warm-up lowers the loss of post by more", Source: "Xiong et al. 2020 (arXiv 2002.04745)",
		Measured: fmt.Sprintf("validation loss without less with a warm-up of %d steps: post %s, pre %s nats", e.Warmup, post, pre), Verdict: verdict,
		Note: fmt.Sprintf("mean over %s blocks and rates %s; a warm-up also costs steps at the full rate, so the gain of pre is below 0", list(e.Depths), list(e.Warmed))}
}

// bounded is a run's validation loss, and that of its start where it got worse or diverged.
func bounded(r CellResult) float64 { return Place{Runs: []CellResult{r}}.bounded() }

// s9 compares the sensitivity to the rate at every depth.
func (e *evidence) s9() Row {
	var words []string
	more, less := 0, 0
	for _, depth := range e.Depths {
		var values [2]Spread
		for i, placement := range []string{"post", "pre"} {
			var seeds []float64
			for seed := range e.Seeds {
				var places []Place
				for _, p := range Of(e.grids[depth], placement, 0) {
					places = append(places, Place{Rate: p.Rate, Runs: p.Runs[seed : seed+1]})
				}
				seeds = append(seeds, Sensitivity(places))
			}
			values[i] = SpreadOf(seeds...)
		}
		switch {
		case values[0].Low > values[1].High:
			more++
		case values[0].High < values[1].Low:
			less++
		}
		words = append(words, fmt.Sprintf("%d blocks: post %s, pre %s", depth, values[0], values[1]))
	}
	verdict := when(more > less && more*2 >= len(e.Depths))
	if more == less {
		verdict = CannotTell
	}
	return Row{ID: "S9", Claim: "post is more sensitive to the learning rate than pre", Source: "Wortsman et al. 2023 (arXiv 2309.14322), the measure; Xiong et al. 2020 (arXiv 2002.04745)",
		Measured: strings.Join(words, "; "), Verdict: verdict, Note: fmt.Sprintf("holds means: at half of the depths at least post is above pre with no overlap of seeds, and at more than it is below. Mean over rates %s of the loss above the best rate's, in nats, without warm-up; a placement that fails at every rate is not sensitive to it", list(e.Rates))}
}

// c5 looks for a rate at which pre trains and post of the same depth does not.
func (e *evidence) c5() Row {
	fails, cured, smaller := false, false, false
	var words []string
	for _, depth := range e.Depths {
		if depth < 4 {
			continue
		}
		var parts []string
		broken := false
		for _, rate := range e.Rates {
			pre, post := e.place(depth, "pre", rate, 0), e.place(depth, "post", rate, 0)
			part := fmt.Sprintf("%g %s", rate, post.Outcome())
			if broke := post.Failed()*2 > len(post.Runs) && pre.Failed() == 0; broke {
				fails, broken = true, true
				if warm := e.place(depth, "post", rate, e.Warmup); len(warm.Runs) > 0 {
					part += fmt.Sprintf(" (with warm-up %s)", warm.Outcome())
					cured = cured || warm.Failed()*2 < len(warm.Runs)
				}
			}
			parts = append(parts, part)
		}
		smaller = smaller || broken && LargestStable(Of(e.grids[depth], "post", 0)) > 0
		words = append(words, fmt.Sprintf("post of %d blocks: %s", depth, strings.Join(parts, ", ")))
	}
	return Row{ID: "C5", Claim: "a deep post model fails at a learning rate at which pre trains well; warm-up or a smaller rate helps", Source: "Xiong et al. 2020 (arXiv 2002.04745); Liu et al. 2020 (arXiv 2004.08249)",
		Measured: strings.Join(words, "; "), Verdict: when(fails && (cured || smaller)),
		Note: "outcomes without warm-up by rate; unigram means that the loss sits at the entropy of the text's letters; pre failed nowhere that is called a failure of post. A loss that jumps tenfold would be called jumped"}
}

// c6 compares shallow models at their best rates.
func (e *evidence) c6() Row {
	var words []string
	mean, all, any := true, true, false
	for _, depth := range []int{e.Shallow, 4} {
		pre, _ := Best(e.grids[depth], "pre")
		post, _ := Best(e.grids[depth], "post")
		a, b := post.Loss(), pre.Loss()
		overlap := a.Low <= b.High
		mean, all, any = mean && a.Mean <= b.Mean, all && overlap, any || overlap
		words = append(words, fmt.Sprintf("%d blocks: post %s at %g, pre %s at %g", depth, digits(a), post.Rate, digits(b), pre.Rate))
	}
	verdict, note := strictest(
		reading{"post's mean is no higher than pre's, at both depths", when(mean)},
		reading{"the ranges over seeds overlap, at both depths", when(all)},
		reading{"they overlap at one of the two depths", when(any)})
	return Row{ID: "C6", Claim: "in shallow small models post can match or beat pre", Source: "Wang et al. 2019 (arXiv 1906.01787); Takase et al. 2022 (arXiv 2206.00330)",
		Measured: "validation loss at the best rate and warm-up, " + strings.Join(words, "; "), Verdict: verdict, Note: note}
}

// digits is a loss with three places.
func digits(s Spread) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", s.Mean, s.Low, s.High)
}

// c10 compares the two kinds of norm in cost and loss.
func (e *evidence) c10() Row {
	best := func(places []Place) Spread {
		p, _ := Best(places, "pre")
		return p.Loss()
	}
	rms, layer := best(e.kinds[rmsNorm]), best(e.layerNormed())
	quicker := e.timing.rms < e.timing.layer
	asWell := rms.Mean <= layer.Mean+withinNoise
	return Row{ID: "C10", Claim: "RMSNorm costs less than LayerNorm and trains as well", Source: "Zhang & Sennrich 2019 (arXiv 1910.07467)",
		Measured: fmt.Sprintf("forward and backward of %d rows of %d: %.3f ms against %.3f ms; validation loss at the best rate %s against %s", timeRows, timeWidth, 1e3*e.timing.rms, 1e3*e.timing.layer, digits(rms), digits(layer)),
		Verdict:  when(quicker && asWell), Note: fmt.Sprintf("quicker means: by however little, the fastest of %d tries; pre of %d blocks; as well means: a mean no more than %g nats above that of LayerNorm", timeTries, e.Depths[1], withinNoise)}
}

// c11 looks at the statistics of batch norm.
func (e *evidence) c11() Row {
	layer := e.place(e.Depths[1], "pre", e.Rate, 0).Runs
	wobbles := ofRuns(e.batch, func(r CellResult) float64 { return float64(r.Wobble) })
	own := ofRuns(e.batch, func(r CellResult) float64 { return float64(r.Val - r.OwnVal) })
	gap := func(r CellResult) float64 { return float64(r.Val) - r.Final() }
	loss := func(r CellResult) float64 { return float64(r.Val) }
	peak := func(r CellResult) float64 { return spikiness(r.Norms) }
	a, b := ofRuns(e.batch, gap), ofRuns(layer, gap)
	verdict, note := strictest(
		reading{"means of batches scatter farther than those of independent rows would, for every seed", when(wobbles.Low > 1)},
		reading{fmt.Sprintf("the loss of the same windows differs by more than %g nats between the two kinds of statistics, to the same side for every seed", withinNoise), when(math.Abs(own.Mean) > withinNoise && own.Low*own.High > 0)},
		reading{"validation loss less training loss is larger than with LayerNorm, for every seed", when(a.Low > b.High)})
	return Row{ID: "C11", Claim: "BatchNorm's statistics wobble on text, and its sampling differs from its training", Source: "Shen et al. 2020, PowerNorm (arXiv 2003.07845)", Verdict: verdict,
		Measured: fmt.Sprintf("means of a batch scatter %s times as far as those of independent rows would; loss of the same windows with running statistics, as in sampling, less that with each batch's own, as in training: %s nats; "+
			"validation loss %s, with LayerNorm %s, less training loss %s, %s; largest gradient norm over the median %s, %s", wobbles, own, ofRuns(e.batch, loss), ofRuns(layer, loss), a, b, ofRuns(e.batch, peak), ofRuns(layer, peak)),
		Note: note + fmt.Sprintf("; %d batches of %d windows, in each of which every position is as often, which independent rows would not have; pre of %d blocks at rate %g", evalWindows/e.Train.Batch, e.Train.Batch, e.Depths[1], e.Rate)}
}

// spikiness is the largest value over the median, the first tenth left out.
func spikiness(x []float64) float64 {
	x = x[len(x)/10:]
	if len(x) == 0 {
		return math.NaN()
	}
	sorted := sortedCopy(x)
	return sorted[len(sorted)-1] / sorted[len(sorted)/2]
}

// c13 counts steps in which a block's gradient stands out.
func (e *evidence) c13() Row {
	spikes := func(variant string) Spread {
		return ofRuns(e.deep[variant], func(r CellResult) float64 {
			sum := 0.0
			for l := range r.Blocks[0] {
				sum += spikeShare(column(r.Blocks, l)) / float64(len(r.Blocks[0]))
			}
			return 100 * sum
		})
	}
	fall := func(variant string) Spread {
		return ofRuns(e.deep[variant], func(r CellResult) float64 {
			last := r.Blocks[len(r.Blocks)-1]
			return slices.Min(last) / slices.Max(last)
		})
	}
	peaks := func(variant string) Spread {
		return ofRuns(e.deep[variant], func(r CellResult) float64 {
			sum := 0.0
			for l := range r.Blocks[0] {
				sum += spikiness(column(r.Blocks, l)) / float64(len(r.Blocks[0]))
			}
			return sum
		})
	}
	apart := func(post, pre Spread) Verdict {
		verdict := when(post.Low > pre.High)
		if post.Mean > pre.Mean && verdict == Fails {
			return CannotTell
		}
		return verdict
	}
	post, pre, postPeak, prePeak := spikes("post"), spikes("pre"), peaks("post"), peaks("pre")
	verdict, note := strictest(
		reading{"a block's largest gradient stands out of its median more in post than in pre, for every seed", apart(postPeak, prePeak)},
		reading{"more steps and blocks of post spike, for every seed", apart(post, pre)})
	return Row{ID: "C13", Claim: "block gradient norms in training: post spikes, pre is smooth", Source: "a widely repeated account of post and pre",
		Measured: fmt.Sprintf("share of steps and blocks that spike: post %s %%, pre %s %%; largest gradient of a block over its median in time, mean over blocks: post %s, pre %s; smallest over largest block gradient in the last step: post %s, pre %s", post, pre, postPeak, prePeak, fall("post"), fall("pre")), Verdict: verdict,
		Note: note + fmt.Sprintf("; a spike is above %d times the median of the %d steps before it; %d blocks at rate %g without warm-up, before clipping; post at this rate: %s", spikeTimes, spikeWindow, e.Deep, e.Rate, Place{Runs: e.deep["post"]}.Outcome())}
}

// A spike is a value above spikeTimes the median of the spikeWindow values before it.
const spikeTimes, spikeWindow = 3, 20

// spikeShare is the share of values that are spikes.
func spikeShare(x []float64) float64 {
	n := 0.0
	for i := spikeWindow; i < len(x); i++ {
		if x[i] > spikeTimes*sortedCopy(x[i-spikeWindow : i])[spikeWindow/2] {
			n++
		}
	}
	return n / float64(max(1, len(x)-spikeWindow))
}

// column takes entry l of every row.
func column[R ~[]float64](rows []R, l int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r[l]
	}
	return out
}
