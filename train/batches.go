package train

import (
	"context"
	"fmt"
	"io"

	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/train/metrics"
)

// SourceState tells what text a source was, of a run with several.
type SourceState struct {
	Name  string `json:"name"`
	Train string `json:"train"` // fingerprint
	Val   string `json:"val"`   // fingerprint
}

// sourceStates are those of a run's sources, nil for a run with one text.
func sourceStates(names int, sources []dataset.Source) []SourceState {
	if names == 0 {
		return nil
	}
	var list []SourceState
	for _, s := range sources {
		list = append(list, SourceState{s.Name, s.Stats.Train.Source, s.Stats.Val.Source})
	}
	return list
}

// openLoaders makes the batches of every source, at their start, and adds what is too short for a block.
func (l *loop) openLoaders(r *Refused) {
	rule := dataset.RuleOf(l.Data)
	for i := range l.data.Sources {
		s := &l.data.Sources[i]
		loader, err := rule.Loader(s.Text(corpus.Train), l.Train.Batch, l.Model.Context, l.Seed)
		r.addOf(s.Name, "data.train", err)
		if n := s.Val.Len(); n <= int64(l.Model.Context) {
			key := "data.val.fraction"
			if len(l.Data.Val.Files) > 0 {
				key = "data.val.files"
			}
			r.addOf(s.Name, key, fmt.Errorf("the validation text has %d tokens, one block needs context+1 = %d: use a longer text, a larger data.val.fraction or a smaller model.context", n, l.Model.Context+1))
		}
		for side, key := range [...]string{corpus.Train: "data.train", corpus.Val: "data.val.files"} {
			if err == nil && s.Val.Len() > int64(l.Model.Context) {
				r.addOf(s.Name, key, predicts(rule, s.Text(corpus.Side(side)), l.Model.Context))
			}
		}
		if err != nil {
			continue
		}
		if p := loader.Packing(); p != nil {
			l.packed = append(l.packed, *p)
		}
		l.loaders = append(l.loaders, loader)
	}
}

// predicts wants a row with a token to predict. Where attention crosses documents, every row has one.
func predicts(rule batch.Rule, text batch.Text, context int) error {
	if !rule.Closed {
		return nil
	}
	reader, err := rule.Eval(text, 1, context, 0)
	if err != nil {
		return err
	}
	var row batch.Batch
	for {
		if err := reader.Next(&row); err == io.EOF {
			return fmt.Errorf("no token can be predicted from another one of its document: use longer documents, or set data.cross_documents to true")
		} else if err != nil {
			return err
		}
		for _, target := range row.Targets {
			if target >= 0 {
				return nil
			}
		}
	}
}

// feed is the batches of all sources, at their start.
func (l *loop) feed() (batch.Feed, error) {
	if len(l.Data.Sources) == 0 {
		return l.loaders[0], nil
	}
	stages := []batch.Stage{{From: 1, Weights: l.Data.Weights()}}
	for _, s := range l.Data.Stages {
		stages = append(stages, batch.Stage{From: int64(s.From), Weights: s.Weights})
	}
	return batch.NewMixture(l.loaders, stages, l.Train.Batch*max(l.Train.Accumulate, 1), l.Seed)
}

// ofSource says which source an error is of, where there are several.
func (l *loop) ofSource(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("data.sources, %s: %w", name, err)
}

// sourceLines say what the text consists of and what packing it wastes.
func (l *loop) sourceLines() (lines []string) {
	for i, s := range l.data.Sources {
		line := ""
		if s.Name != "" {
			line = fmt.Sprintf("source %s: weight %g, %s training tokens (%s), %s validation tokens", s.Name, l.Data.Sources[i].Weight,
				metrics.Count(float64(s.Stats.Train.Tokens)), metrics.Bytes(s.Stats.Train.Bytes), metrics.Count(float64(s.Stats.Val.Tokens)))
		}
		if i < len(l.packed) {
			if line != "" {
				line += "; "
			}
			p := l.packed[i]
			line += fmt.Sprintf("%d documents packed whole into %d rows of %d tokens: %.2f%% of the places are padding", s.Stats.Train.Documents, p.Rows, p.T, 100*p.Waste())
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// noteSources prints what the text consists of, and records it at a run's start.
func (l *loop) noteSources(resumed bool) error {
	for _, line := range l.sourceLines() {
		fmt.Fprintln(l.Out, "        "+line)
		if !resumed {
			if err := l.metrics.Write(metrics.Note{Text: line}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Weighed is the evaluation of one of several texts, and its weight in the whole.
type Weighed struct {
	Evaluation
	Name        string
	Weight      float64
	BitsPerByte float64
}

// Total is the mean of evaluations by their weights, which need not add up to 1. A source of weight 0 is measured and does not count.
func Total(sources []Weighed) (total Evaluation, bitsPerByte float64) {
	sum := 0.0
	for _, s := range sources {
		sum += s.Weight
	}
	for _, s := range sources {
		total.Loss += s.Weight / sum * s.Loss
		bitsPerByte += s.Weight / sum * s.BitsPerByte
		total.Targets += s.Targets
	}
	return total, bitsPerByte
}

// weightOf is the weight of source i in the validation loss.
func (l *loop) weightOf(i int) float64 {
	if len(l.Data.Sources) == 0 {
		return 1
	}
	return l.Data.Sources[i].Weight
}

// evaluateSources measures the loss over the validation text of each source.
func (l *loop) evaluateSources(ctx context.Context) ([]Weighed, error) {
	var all []Weighed
	for i := range l.data.Sources {
		s := &l.data.Sources[i]
		e, err := l.evaluator.RunText(ctx, s.Text(corpus.Val), l.Train.Eval.Windows)
		if err != nil {
			return nil, l.ofSource(s.Name, err)
		}
		all = append(all, Weighed{e, s.Name, l.weightOf(i), e.BitsPerByte(s.Stats.Val.BytesPerToken())})
	}
	return all, nil
}

// evalRecord is the record of an evaluation, with that of each source where there are several.
func (l *loop) evalRecord(step int64, all []Weighed) metrics.Eval {
	if len(l.Data.Sources) == 0 {
		e := all[0]
		return metrics.Eval{Step: step, Loss: metrics.Float(e.Loss), Perplexity: metrics.Float(e.Perplexity()), BitsPerByte: metrics.Float(e.BitsPerByte), Tokens: e.Targets}
	}
	total, bits := Total(all)
	r := metrics.Eval{Step: step, Loss: metrics.Float(total.Loss), Perplexity: metrics.Float(total.Perplexity()), BitsPerByte: metrics.Float(bits), Tokens: total.Targets}
	for _, e := range all {
		r.Sources = append(r.Sources, metrics.EvalSource{Name: e.Name, Weight: metrics.Float(e.Weight), Loss: metrics.Float(e.Loss),
			BitsPerByte: metrics.Float(e.BitsPerByte), Tokens: e.Targets})
	}
	return r
}
