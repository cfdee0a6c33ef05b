package train

import (
	"context"
	"errors"
	"fmt"

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

// openLoaders makes the batches of every source, at their start, and the readers of its validation text, and adds what is too short for a block
// or has nothing to predict.
func (l *loop) openLoaders(r *Refused) {
	rule := dataset.RuleOf(l.Data)
	valKey := "data.val.fraction"
	if len(l.Data.Val.Files) > 0 {
		valKey = "data.val.files"
	}
	for i := range l.data.Sources {
		s := &l.data.Sources[i]
		if loader, err := openLoader(rule, s.Text(corpus.Train), l.Train.Batch, l.Model.Context, l.Seed); err != nil {
			r.addOf(s.Name, "data.train", err)
		} else {
			if p := loader.Packing(); p != nil {
				l.packed = append(l.packed, *p)
			}
			l.loaders = append(l.loaders, loader)
		}
		if reader, err := openReader(rule, s.Text(corpus.Val), l.Train.Batch, l.Model.Context, l.Train.Eval.Windows); err != nil {
			r.addOf(s.Name, valKey, err)
		} else {
			l.validation = append(l.validation, reader)
		}
	}
}

// openLoader makes the batches of a training text, at their start.
func openLoader(rule batch.Rule, text batch.Text, size, context int, seed int64) (*batch.Loader, error) {
	loader, err := rule.Loader(text, size, context, seed)
	if err != nil {
		return nil, err
	}
	start := loader.Cursor()
	if err := predicts(rule, loader.Next, batchesOf(loader.Windows(), size)); err != nil {
		return nil, err
	}
	return loader, loader.Seek(start)
}

// openReader makes the reader of a validation text, at its start.
func openReader(rule batch.Rule, text batch.Text, size, context, windows int) (*batch.Evaluation, error) {
	if n := text.Len(); n <= int64(context) {
		return nil, fmt.Errorf("the validation text has %d tokens, one block needs context+1 = %d: use a longer text, a larger data.val.fraction or a smaller model.context", n, context+1)
	}
	reader, err := rule.Eval(text, size, context, windows)
	if err != nil {
		return nil, err
	}
	if err := predicts(rule, reader.Next, batchesOf(reader.Windows(), size)); err != nil {
		if windows > 0 {
			err = fmt.Errorf("in the windows that are read (train.eval.windows: %d), %w", windows, err)
		}
		return nil, err
	}
	reader.Reset()
	return reader, nil
}

// batchesOf is how many batches of a size so many windows fill.
func batchesOf(windows int64, size int) int64 { return (windows + int64(size) - 1) / int64(size) }

// predicts wants one of the next n batches to have a token to predict. Where attention crosses documents, every batch has one.
func predicts(rule batch.Rule, next func(*batch.Batch) error, n int64) error {
	if !rule.Closed {
		return nil
	}
	var b batch.Batch
	for range n {
		if err := next(&b); err != nil {
			return err
		}
		if countTargets(&b) > 0 {
			return nil
		}
	}
	return errors.New("no token can be predicted from another one of its document: use longer documents, or set data.cross_documents to true")
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
	defer l.showValidation()()
	for i := range l.data.Sources {
		s := &l.data.Sources[i]
		e, err := l.evaluator.read(ctx, l.validation[i], l.validation[i].Windows())
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
