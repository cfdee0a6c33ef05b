package train

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"prenorm/data/baseline"
	"prenorm/train/metrics"
)

// Prints are the fingerprints by which lines of reference are kept beside the tokens that they are of.
func (f Fingerprints) Prints() baseline.Prints {
	return baseline.Prints{Tokenizer: f.Tokenizer, Train: f.Train, Val: f.Val}
}

// openLines finds or measures the lines of reference that losses are told by: of several sources the means by their weights, as the loss is one,
// each source having counts of its own. They change nothing of the training.
func (l *loop) openLines(ctx context.Context) error {
	var all, perByte []baseline.Lines
	var weights []float64
	for i := range l.data.Sources {
		s := &l.data.Sources[i]
		lines, kept, err := baseline.Open(filepath.Dir(s.Val.Name()), fingerprints(s.Stats).Prints(), s.Train, s.Val, l.data.Tokenizer.Vocab(), func() error { return ended(ctx) })
		if kept != nil {
			fmt.Fprintf(l.Out, "the next start has to measure the reference lines again: %v\n", kept)
		}
		if err != nil {
			return l.ofSource(s.Name, err)
		}
		all, weights = append(all, lines), append(weights, l.weightOf(i))
		perByte = append(perByte, lines.Times(1/math.Ln2/s.Stats.Val.BytesPerToken()))
	}
	l.lines, l.linesPerByte = baseline.Mean(all, weights), baseline.Mean(perByte, weights)
	return nil
}

// introduceLines prints the lines, per token and per byte of validation text.
func (l *loop) introduceLines() {
	s, b := l.lines, l.linesPerByte
	fmt.Fprintf(l.Out, "lines   ln V %.3f, unigram %.3f, bigram %.3f nats a token; %.3f, %.3f, %.3f bits a byte\n",
		s.Uniform, s.Unigram, s.Bigram, b.Uniform, b.Unigram, b.Bigram)
}

// recordLines writes the lines once into the run's measurements.
func (l *loop) recordLines() error {
	if _, ok := l.metrics.Last(metrics.KindLines); ok {
		return nil
	}
	return l.metrics.Write(metrics.Lines{Step: l.state.Step, Uniform: metrics.Float(l.lines.Uniform), Unigram: metrics.Float(l.lines.Unigram), Bigram: metrics.Float(l.lines.Bigram)})
}
