package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The rows on looks into trained models.

func sortedCopy(x []float64) []float64 {
	y := slices.Clone(x)
	slices.Sort(y)
	return y
}

// s8 fits the variance of the stream over depth after training.
func (e *evidence) s8() Row {
	variance := func(l *Look) (blocks, v []float64) {
		for i, s := range l.Stream[1:] {
			blocks, v = append(blocks, float64(i+1)), append(v, s*s)
		}
		return blocks, v
	}
	fit := func(variant string) Spread {
		return ofRuns(e.deep[variant], after(func(l *Look) float64 { _, _, r2 := Line(variance(l)); return r2 }))
	}
	growth := func(variant string) Spread {
		return ofRuns(e.deep[variant], after(func(l *Look) float64 { _, v := variance(l); return v[len(v)-1] / v[0] }))
	}
	r2, sandwich, pre, scaled := fit("sandwich"), growth("sandwich"), growth("pre plain"), growth("pre")
	return Row{ID: "S8", Claim: "sandwich: the stream's variance is linear in depth after training; pre grows faster", Source: "Kim et al. 2025, Peri-LN (arXiv 2502.02732)",
		Measured: fmt.Sprintf("sandwich: R² of the line %s, last block's variance over the first's %s; pre with plain writers %s, with writers at 1/sqrt(2N) %s", r2, sandwich, pre, scaled),
		Verdict:  when(r2.Mean >= 0.95 && sandwich.Mean < min(pre.Mean, scaled.Mean)), Note: "holds means: R² of 0.95 and more, and less growth than pre of either kind, by means over seeds; " + e.howDeep()}
}

// howDeep says what was looked into.
func (e *evidence) howDeep() string {
	return fmt.Sprintf("%d blocks after %d steps at rate %g", e.Deep, e.Train.Steps, e.Rate)
}

// damage is the mean rise of the loss without each block, over seeds; nil where that was not measured.
func (e *evidence) damage(variant string) []float64 {
	out := make([]float64, e.Deep)
	n := 0.0
	for _, r := range e.deep[variant] {
		if len(r.Dropped) == e.Deep {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	for _, r := range e.deep[variant] {
		for l, v := range r.Dropped {
			out[l] += (v - float64(r.Val)) / n
		}
	}
	return out
}

// lateShare is the damage of the last third of blocks over that of the first third, the very first block left out.
func lateShare(damage []float64) float64 {
	first, last := thirds(damage[1:])
	return last / first
}

// s12 compares the damage by late and by early blocks.
func (e *evidence) s12() Row {
	share := func(variant string) float64 { return lateShare(e.damage(variant)) }
	pre, lns, sandwich := share("pre"), share("lns"), share("sandwich")
	trend := Trend(e.damage("pre"))
	falls, steps := falling(e.damage("pre"))
	flatter := when(lns > pre && sandwich > pre)
	verdict, note := strictest(
		reading{fmt.Sprintf("damage falls from every block of pre to the next (it does in %d of %d)", falls, steps), when(falls == steps)},
		reading{"late blocks of pre matter less than early ones, with a correlation of damage and depth below -0.3, the first block left out", when(pre < 1 && trend < -0.3)},
		reading{"lns and sandwich are flatter than pre", flatter})
	note += "; means over seeds of the validation loss without a block; " + e.howDeep()
	return Row{ID: "S12", Claim: "curse of depth: removing a late block hurts pre less than an early one, and lns and sandwich are flatter", Source: "Sun et al. 2025, LayerNorm Scaling (arXiv 2502.05795)",
		Measured: fmt.Sprintf("damage of the last third of blocks over that of the first third: pre %s, lns %s, sandwich %s; correlation of damage with depth in pre %+.2f", Spread{Mean: pre}, Spread{Mean: lns}, Spread{Mean: sandwich}, trend),
		Verdict:  verdict, Note: note}
}

// falling is the number of blocks whose damage is below that of the block before, out of all that have one before them.
func falling(damage []float64) (falls, steps int) {
	for l := range damage[1:] {
		if damage[l+1] < damage[l] {
			falls++
		}
	}
	return falls, len(damage) - 1
}

// c3 takes the final norm away.
func (e *evidence) c3() Row {
	d := e.init.Depths("pre", 0)
	size := ofRuns(e.deep["pre plain"], after(func(l *Look) float64 { return float64(l.RawLogits / l.Logits) }))
	loss := ofRuns(e.deep["pre plain"], after(func(l *Look) float64 { return float64(l.Loss) }))
	bare := ofRuns(e.deep["pre plain"], after(func(l *Look) float64 { return float64(l.RawLoss) }))
	grows := growth(d)
	return Row{ID: "C3", Claim: "pre: the stream grows with depth, and the final norm keeps the logits sane", Source: "Xiong et al. 2020 (arXiv 2002.04745); Baevski & Auli 2019 (arXiv 1809.10853)",
		Measured: fmt.Sprintf("before training the stream of %d blocks is %s times that of %d; in a trained model of %d blocks, taking the final norm away makes the logits %s times as large and the loss %s instead of %s",
			d[len(d)-1].Layers, Spread{Mean: grows}, d[0].Layers, e.Deep, size, bare, loss),
		Verdict: when(grows > 1.5 && size.Low > 1.5 && bare.Low > loss.High), Note: "holds means: growth above 1.5, logits more than 1.5 times as large for every seed, and every loss without the norm above all with it; writers not scaled; " + e.howDeep()}
}

// c7 compares the straight path and the evenness of gradients.
func (e *evidence) c7() Row {
	deep, post := e.ofPaths("deepnorm", Path.PerNorm), e.ofPaths("post", Path.PerNorm)
	uneven := func(variant string) Spread {
		return ofRuns(e.deep[variant], func(r CellResult) float64 {
			means := make([]float64, e.Deep)
			for l := range means {
				means[l] = mean(column(r.Blocks, l))
			}
			return ratio(means)
		})
	}
	a, b := uneven("deepnorm"), uneven("post")
	start := unevenness(e.init.Depths("deepnorm", 0))
	return Row{ID: "C7", Claim: "DeepNorm's alpha strengthens the straight path and evens out the layers' gradients", Source: "Wang et al. 2022, DeepNet (arXiv 2203.00555)",
		Measured: fmt.Sprintf("the straight path keeps %s a sub-layer in deepnorm, %s in post; largest over smallest block gradient before training at most %.2f against %.2f, in training %s against %s",
			deep, post, start, unevenness(e.init.Depths("post", 0)), a, b),
		Verdict: when(math.Abs(deep.Mean-1) < math.Abs(post.Mean-1) && start < unevenness(e.init.Depths("post", 0)) && a.Mean < b.Mean), Note: "holds means: the share kept nearer to 1 than in post, and gradients more even both before and in training, by means; " + e.howDeep()}
}

// c8 looks at what blocks add to the stream.
func (e *evidence) c8() Row {
	most := func(l *Look) float64 { return slices.Max(l.Added) }
	grown := func(variant string) Spread {
		return ofRuns(e.deep[variant], func(r CellResult) float64 { return after(most)(r) / before(most)(r) })
	}
	a, b := ofRuns(e.deep["sandwich"], after(most)), ofRuns(e.deep["pre plain"], after(most))
	ga, gb := grown("sandwich"), grown("pre plain")
	// Two sub-layers add rows of RMS 1 each before training, which may line up; what is above 2 is owed to gains that have grown.
	verdict, note := strictest(
		reading{"sandwich adds less than pre with plain writers, for every seed", when(a.High < b.Low)},
		reading{"sandwich adds less than 2, which is what two rows of size 1 can come to", when(a.High < 2)},
		reading{"sandwich adds less than 3, which leaves room for gains that grow", when(a.High < 3)})
	return Row{ID: "C8", Claim: "sandwich bounds what a branch adds to the stream", Source: "Ding et al. 2021, CogView (arXiv 2105.13290); Kim et al. 2025, Peri-LN (arXiv 2502.02732)",
		Measured: fmt.Sprintf("largest RMS that a block adds after training: sandwich %s (%s times that before), pre %s (%s times)", a, ga, b, gb),
		Verdict:  verdict, Note: note + "; that pre has no bound does not say that it exceeds one in so few steps; " + e.howDeep()}
}

// c14 counts blocks below which the gradient is larger.
func (e *evidence) c14() Row {
	share := func(g []float64) float64 {
		n := 0.0
		for l := range len(g) - 1 {
			if g[l] >= g[l+1] {
				n++
			}
		}
		return n / float64(len(g)-1)
	}
	var values []float64
	for _, m := range e.init.Models {
		if m.Variant == "pre" {
			values = append(values, share(m.Grad))
		}
	}
	start := SpreadOf(values...)
	trained := ofRuns(e.deep["pre"], after(func(l *Look) float64 { return share(l.Grad) }))
	return Row{ID: "C14", Claim: "pre: the gradient by the stream does not shrink on its way down: ||dL/dx_l|| >= ||dL/dx_l+1||", Source: "a widely repeated account of pre; no theorem: a branch can work against the straight path",
		Measured: fmt.Sprintf("share of blocks where it holds: %s before training, %s after", start, trained), Verdict: when(start.Low >= 0.95 && trained.Low >= 0.95),
		Note: fmt.Sprintf("holds means: 0.95 and more for every seed, before training and after it; before at L = %s; after: %s", list(e.Init.Depths), e.howDeep())}
}

// c16 looks at how much each block turns the stream.
func (e *evidence) c16() Row {
	early := ofRuns(e.deep["pre"], after(func(l *Look) float64 { f, _ := thirds(l.Rewrite); return f }))
	late := ofRuns(e.deep["pre"], after(func(l *Look) float64 { _, s := thirds(l.Rewrite); return s }))
	var cosines []string
	blocks := []int{1, e.Deep / 3, 2 * e.Deep / 3, e.Deep}
	for _, n := range blocks {
		cosines = append(cosines, ofRuns(e.deep["pre"], after(func(l *Look) float64 { return l.Cosine[n] })).String())
	}
	dropped := ""
	if d := e.damage("pre"); d != nil {
		dropped = fmt.Sprintf("; damage by dropping, last third over first: %s", Spread{Mean: lateShare(d)})
	}
	const hardly = 0.1
	return Row{ID: "C16", Claim: "pre's late blocks hardly rewrite the stream", Source: "Sun et al. 2025 (arXiv 2502.05795); Liu et al. 2020 (arXiv 2004.08249)",
		Measured: fmt.Sprintf("a block changes the stream by %s of its size in the first third of blocks, by %s in the last; cosine of the stream to the embedding after blocks %s: %s%s",
			early, late, list(blocks), strings.Join(cosines, ", "), dropped),
		Verdict: when(late.Mean < hardly), Note: fmt.Sprintf("hardly means: by less than %g; %s", hardly, e.howDeep())}
}

// c17 is the cost of sandwich.
func (e *evidence) c17() Row {
	quickest := func(variant string) float64 {
		low := math.Inf(1)
		for _, r := range e.deep[variant] {
			low = min(low, r.Fastest)
		}
		return 1e3 * low
	}
	pre, sandwich := e.deep["pre"][0], e.deep["sandwich"][0]
	a, b := quickest("sandwich"), quickest("pre")
	more := 100 * (float64(sandwich.Params)/float64(pre.Params) - 1)
	return Row{ID: "C17", Claim: "sandwich costs extra time and parameters", Source: "two more norms a block, by its equation",
		Measured: fmt.Sprintf("%d parameters more (%.2f %%); %.2f ms a step against %.2f ms (%+.0f %%)", sandwich.Params-pre.Params, more, a, b, 100*(a/b-1)),
		Verdict:  when(more > 0 && a > b), Note: fmt.Sprintf("holds means: more of both, by however little; %d blocks of width %d; the quickest step of %d runs on one thread; at larger widths norms are a smaller part", e.Deep, e.Model.Width, len(e.Seeds))}
}
