package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The rows on models before training.

// c1 follows the straight path.
func (e *evidence) c1() Row {
	off, all := 0.0, slices.Concat(e.paths, e.deeper)
	for _, p := range all {
		if p.Variant == "pre" {
			off = max(off, p.TopError)
		}
	}
	var pre, post []string
	rescaled := true
	for _, part := range []struct {
		of     []Path
		blocks int // at the top
	}{{e.paths, 1}, {e.paths, e.Paths.Layers}, {e.deeper, e.Through}} {
		through := func(p Path) float64 { return p.StraightRatio()[p.Layers-part.blocks] }
		s := ofPaths(part.of, "post", through)
		pre, post = append(pre, ofPaths(part.of, "pre", through).String()), append(post, s.String())
		rescaled = rescaled && (s.Low > 1.02 || s.High < 0.98)
	}
	return Row{ID: "C1", Claim: "pre: the straight path's gradient is unchanged through any number of blocks; post: each norm rescales it", Source: "Xiong et al. 2020 (arXiv 2002.04745); He et al. 2016 (arXiv 1603.05027)",
		Measured: fmt.Sprintf("with all branches cut, 1, %d and %d blocks hand down of the gradient in pre %s (at the embedding the vectors differ from those at the top by %.0e), in post %s",
			e.Paths.Layers, e.Through, strings.Join(pre, ", "), off, strings.Join(post, ", ")),
		Verdict: when(off < 1e-12 && rescaled), Note: "in float64, before training; holds means: pre within 1e-12, and post at every place more than 2 % off 1 for every seed"}
}

// c2 takes the residual connections away.
func (e *evidence) c2() Row {
	var words []string
	var depths, logs []float64
	last := map[string]float64{}
	for _, name := range []string{"noskip", "pre"} {
		var parts []string
		for _, n := range e.Bare.Depths {
			s := e.bare.ofModels(name, n, func(m Snapshot) float64 { return m.Grad[0] / m.Grad[n] })
			parts = append(parts, report3(s.Mean))
			last[name] = s.Mean
			if name == "noskip" {
				depths, logs = append(depths, float64(n)), append(logs, math.Log(s.Mean))
			}
		}
		words = append(words, fmt.Sprintf("%s %s", name, strings.Join(parts, ", ")))
	}
	_, b, r2 := Line(depths, logs)
	gone := last["noskip"] < 1e-3 || last["noskip"] > 1e3
	kept := last["pre"] > 1e-2 && last["pre"] < 1e2
	return Row{ID: "C2", Claim: "without residuals the gradient is a product over layers and fades or explodes with depth", Source: "He et al. 2016 (arXiv 1512.03385); Dong et al. 2021 (arXiv 2103.03404)",
		Measured: fmt.Sprintf("gradient at the embedding over that after the last block, %s blocks: %s; without residuals a factor of %.3f a block (R² of the fit %.2f)", list(e.Bare.Depths), strings.Join(words, "; "), math.Exp(b), r2),
		Verdict:  when(gone && kept), Note: "fades or explodes means: by more than a thousand at the largest depth, where pre stays within a hundred"}
}

// report3 is a number with three digits.
func report3(v float64) string { return Spread{Mean: v}.String() }

// c4 is the third law in other words.
func (e *evidence) c4() Row {
	scaled, plain := growth(e.init.Depths("pre+scaled", 0)), growth(e.init.Depths("pre", 0))
	return Row{ID: "C4", Claim: "writers of the stream at 1/sqrt(2N) keep its size independent of depth", Source: "Radford et al. 2019, GPT-2",
		Measured: fmt.Sprintf("size of the stream at %d over that at %d blocks: %.2f, with plain writers %.2f", e.Init.Depths[len(e.Init.Depths)-1], e.Init.Depths[0], scaled, plain),
		Verdict:  when(scaled > 0.8 && scaled < 1.25 && plain > 1.5), Note: "before training; independent means: within 0.8 and 1.25"}
}

// c9 holds ResiDual's gradient against what comes along its second stream alone.
func (e *evidence) c9() Row {
	var words []string
	low := math.Inf(1)
	for _, n := range e.Init.Depths {
		s := e.init.ofModels("residual", n, func(m Snapshot) float64 { return m.Grad[0] / m.Lower })
		low = min(low, s.Low)
		words = append(words, fmt.Sprintf("%d blocks %s", n, s))
	}
	return Row{ID: "C9", Claim: "ResiDual keeps a lower bound on the gradient", Source: "Xie et al. 2023, ResiDual (arXiv 2304.14802)",
		Measured: "gradient at the embedding over what the second stream carries past all blocks: " + strings.Join(words, "; "), Verdict: when(low >= 1),
		Note: "before training; a bound means: at no depth and for no seed less than the second stream's own"}
}

// c12 compares the sizes of streams over depth.
func (e *evidence) c12() Row {
	swing := func(variant string) float64 {
		low, high := math.Inf(1), 0.0
		for _, m := range e.init.Models {
			if m.Variant == variant {
				low, high = min(low, m.Stream[m.Layers]), max(high, m.Stream[m.Layers])
			}
		}
		return high / low
	}
	post, pre, scaled := swing("post"), swing("pre"), swing("pre+scaled")
	return Row{ID: "C12", Claim: "at initialisation the stream's size in deep post models swings by orders of magnitude while pre stays within one", Source: "a widely repeated account of post and pre",
		Measured: fmt.Sprintf("largest over smallest size after the last block, over depths %s and seeds: post %.3f, pre %.2f, pre with writers at 1/sqrt(2N) %.2f", list(e.Init.Depths), post, pre, scaled),
		Verdict:  when(post > 100 && pre < 10), Note: "holds would mean: post by more than 100, pre by less than 10. post ends in a norm, so its size is 1 by construction; it is pre whose size depends on depth, as its square root"}
}

// c15 measures how far the stream moves from the embedding.
func (e *evidence) c15() Row {
	n := e.Init.Depths[len(e.Init.Depths)-1]
	moved := func(variant string) Spread {
		return e.init.ofModels(variant, n, func(m Snapshot) float64 { return m.Moved })
	}
	scaled, plain := moved("pre+scaled"), moved("pre")
	trained := ofRuns(e.deep["pre"], before(func(l *Look) float64 {
		c, s := l.Cosine[len(l.Cosine)-1], l.Stream[len(l.Stream)-1]/l.Stream[0]
		return math.Sqrt(max(0, 1+s*s-2*c*s))
	}))
	return Row{ID: "C15", Claim: "with writers at 1/sqrt(2N) the network starts near the identity: ||x_N - x_0||/||x_0|| is small", Source: "a widely repeated account of GPT-2's initialisation",
		Measured: fmt.Sprintf("%d blocks: %s, with plain writers %s; the models trained here (%d blocks) start at about %s", n, scaled, plain, e.Deep, trained), Verdict: when(scaled.High < 0.5),
		Note: "near means: below 0.5. The branches' sum has the size of one branch, whatever the depth, and embeddings N(0, 1/width) are smaller than that"}
}

// c18 is the factor of one norm on the straight path.
func (e *evidence) c18() Row {
	per := e.ofPaths("post", Path.PerNorm)
	const example, norms = 0.8, 32
	return Row{ID: "C18", Claim: "each post norm multiplies the straight gradient by some factor (0.8 in the example, so 0.8^32 = 0.0008 over 32)", Source: "a widely repeated example; Xiong et al. 2020 (arXiv 2002.04745) for the effect",
		Measured: fmt.Sprintf("%s a norm beside %.1f, so %.1e over %d beside %.1e", per, example, math.Pow(per.Mean, norms), norms, math.Pow(example, norms)),
		Verdict:  when(per.High < 0.95),
		Note:     fmt.Sprintf("holds means: below 0.95 for every seed, whatever the example's own size. Geometric mean over the norms above the first block of %d, before training. The straight path is not the whole gradient: branches carry %.0f %% of it", e.Paths.Layers, 100*(1-e.ofPaths("post", func(p Path) float64 { return p.Shares[0] }).Mean))}
}
