package lab

import (
	"fmt"
	"slices"

	"prenorm/train/lab/report"
)

// Card is the scorecard as a figure.
func (c *Scorecard) Card() report.Figure {
	f := report.Figure{Name: "scorecard", Title: c.Count()}
	colours := map[Verdict]string{Holds: "holds", Fails: "fails", CannotTell: "unsure"}
	for _, r := range c.Rows {
		f.Card = append(f.Card, report.CardRow{ID: r.ID, Text: r.Claim, Word: string(r.Verdict), Mark: colours[r.Verdict]})
	}
	return f
}

// figures are the plots behind the rows.
func (e *evidence) figures() []report.Figure {
	own := e.init
	width := own.widths()[0]
	all := []report.Figure{e.depthSweep(), e.deepCurves(), e.spikes()}
	all = append(all,
		e.byLook("stream-after", "The stream after training", "variance", func(l *Look) []float64 { return squared(l.Stream) }, "pre", "pre plain", "sandwich", "lns", "residual", "post"),
		e.byLook("gradient-after", "The gradient by the stream after training", "norm", func(l *Look) []float64 { return l.Grad }, "pre", "pre plain", "sandwich", "lns", "deepnorm", "post"),
		e.byLook("cosine-after", "Cosine of the stream to the embedding after training", "cosine", func(l *Look) []float64 { return l.Cosine }, "pre", "pre plain", "sandwich", "lns", "deepnorm"),
		e.dropped(),
		own.byDepth(width, "gradient-by-depth", "Before training: gradient of the last block", "Frobenius norm", func(d Depth) Spread { return d.Last }),
		own.byDepth(width, "stream-by-depth", "Before training: size of the stream", "RMS", func(d Depth) Spread { return d.Stream }))
	paths := PathsReport(e.Paths, e.paths)
	return append(all, paths.Sections[0].Figures[0], paths.Sections[1].Figures[0])
}

func squared(x []float64) []float64 {
	y := slices.Clone(x)
	for i := range y {
		y[i] *= y[i]
	}
	return y
}

// depthSweep is the loss by rate for post and pre of every depth.
func (e *evidence) depthSweep() report.Figure {
	f := report.Figure{Name: "depths", Title: "Validation loss by learning rate and depth, no warm-up", X: "learning rate", Y: "nats a token", LogX: true, Ticks: e.Rates,
		Lines: []report.Line{{Name: "unigram entropy", Y: e.text.Unigram}}, Note: "Means over seeds. A loss on the dotted line has learned how often each letter comes, and nothing else."}
	for _, placement := range []string{"post", "pre"} {
		for _, depth := range e.Depths {
			s := report.Series{Name: fmt.Sprintf("%s %d blocks", placement, depth)}
			for _, p := range Of(e.grids[depth], placement, 0) {
				s.X, s.Y = append(s.X, p.Rate), append(s.Y, p.Loss().Mean)
			}
			f.Series = append(f.Series, s)
		}
	}
	return f
}

// deepCurves are the training losses of the models that are looked into.
func (e *evidence) deepCurves() report.Figure {
	f := report.Figure{Name: "curves", Title: fmt.Sprintf("Training loss of %d blocks at rate %g", e.Deep, e.Rate), X: "step", Y: "nats a token",
		Lines: []report.Line{{Name: "unigram entropy", Y: e.text.Unigram}}, Note: "Sliding means over a fiftieth of the run; bands over seeds. One rate is not the best of each."}
	for _, name := range sortedKeys(e.deep) {
		f.Series = append(f.Series, curve(name, e.deep[name], func(r CellResult) []float64 { return r.Losses }))
	}
	return f
}

// spikes are the largest block gradients in every step.
func (e *evidence) spikes() report.Figure {
	f := report.Figure{Name: "spikes", Title: "Largest and smallest block gradient in each step", X: "step", Y: "norm before clipping", LogY: true, Note: "One seed, no smoothing. The upper line of a colour is the largest of all blocks, the lower one the smallest."}
	for _, name := range []string{"post", "pre", "deepnorm"} {
		run := e.deep[name][0]
		high, low := report.Series{Name: name}, report.Series{Name: name + " smallest"}
		for i, blocks := range run.Blocks {
			high.X, high.Y = append(high.X, float64(i+1)), append(high.Y, slices.Max(blocks))
			low.X, low.Y = append(low.X, float64(i+1)), append(low.Y, slices.Min(blocks))
		}
		f.Series = append(f.Series, high, low)
	}
	return f
}

// byLook is a figure of looks after training, by block, as means over seeds.
func (e *evidence) byLook(name, title, y string, of func(*Look) []float64, variants ...string) report.Figure {
	f := report.Figure{Name: name, Title: title, X: "block (0 is the embedding)", Y: y, LogY: y != "cosine", Note: e.howDeep() + "; bands over seeds."}
	for _, v := range variants {
		s := report.Series{Name: v}
		for l := range e.Deep + 1 {
			spread := ofRuns(e.deep[v], after(func(look *Look) float64 { return of(look)[l] }))
			if spread.N > 0 {
				s.X, s.Y, s.Low, s.High = append(s.X, float64(l)), append(s.Y, spread.Mean), append(s.Low, spread.Low), append(s.High, spread.High)
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// dropped is the damage by block.
func (e *evidence) dropped() report.Figure {
	f := report.Figure{Name: "dropped", Title: "What the validation loss rises by without a block", X: "block that is left out", Y: "nats a token", LogY: true, Note: "Means over seeds; " + e.howDeep() + ". A block without which the loss does not rise has no point, and the line goes on to the next."}
	for _, v := range []string{"pre", "pre plain", "sandwich", "lns", "deepnorm"} {
		s := report.Series{Name: v}
		for l, d := range e.damage(v) {
			s.X, s.Y = append(s.X, float64(l+1)), append(s.Y, d)
		}
		f.Series = append(f.Series, s)
	}
	return f
}
