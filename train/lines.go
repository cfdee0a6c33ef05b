package train

import (
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

// openLines finds or measures the lines of reference that losses are told by. They change nothing of the training.
func (l *loop) openLines() error {
	dir := filepath.Dir(l.data.Val.Name())
	lines, kept, err := baseline.Open(dir, fingerprints(l.data.Stats).Prints(), l.data.Train, l.data.Val, l.data.Tokenizer.Vocab())
	if kept != nil {
		fmt.Fprintf(l.Out, "the next start has to measure the reference lines again: %v\n", kept)
	}
	l.lines = lines
	return err
}

// introduceLines prints the lines, per token and per byte of validation text.
func (l *loop) introduceLines() {
	perByte := func(nats float64) float64 { return nats / math.Ln2 / l.data.Stats.Val.BytesPerToken() }
	s := l.lines
	fmt.Fprintf(l.Out, "lines   ln V %.3f, unigram %.3f, bigram %.3f nats a token; %.3f, %.3f, %.3f bits a byte\n",
		s.Uniform, s.Unigram, s.Bigram, perByte(s.Uniform), perByte(s.Unigram), perByte(s.Bigram))
}

// recordLines writes the lines once into the run's measurements.
func (l *loop) recordLines() error {
	if _, ok := l.metrics.Last(metrics.KindLines); ok {
		return nil
	}
	return l.metrics.Write(metrics.Lines{Step: l.state.Step, Uniform: metrics.Float(l.lines.Uniform), Unigram: metrics.Float(l.lines.Unigram), Bigram: metrics.Float(l.lines.Bigram)})
}
