package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/data/baseline"
	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/train"
	"prenorm/train/metrics"
)

type evalFlags struct {
	runFlags
	windows int
	asJSON  bool
	textFlags
	weightsFlags
}

func newEval() *cobra.Command {
	f := &evalFlags{}
	cmd := &cobra.Command{
		Use:   "eval RUN|CHECKPOINT [TEXT...]",
		Short: "measure the loss of a trained model on a text",
		Long: `Measure a trained model's loss on texts: files, globs, folders, or - for standard input, of every format that training reads.
Without a text it is the run's own validation text, and the figures are those that training printed: its tokens lie in the run's folder, and
neither the text nor the folder's place is needed. Every token but the first is predicted once, from what comes before it in its window of
context tokens; rows are made as the run's data.packing and data.cross_documents say. Of a run with several sources each is measured, and
the total is their mean by their weights (data.sources).

With --weights bf16 or int8 the loss is that of the rounded matrices; that sampling then keeps keys and values in bfloat16 as well, on a
CPU, is not in it.

Perplexities of models with different tokenizers cannot be compared; bits a byte can.`,
		Example: `  prenorm eval runs/quickstart
  prenorm eval runs/quickstart book.txt 'more/*.txt' --json
  prenorm eval runs/quickstart/checkpoints/step-00000300 - < book.txt`,
		Args:              arguments(1, -1, "the folder of a run or of a checkpoint, and texts"),
		ValidArgsFunction: completeRunAndTexts,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	cmd.Flags().IntVar(&f.windows, "windows", 0, "read only so many windows, evenly spread over the text, 0 = all (without a text: as in training)")
	f.addText(cmd, "", "; default as the run did")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	f.weightsFlag(cmd)
	f.deviceFlags(cmd)
	return cmd
}

// evalText is a text to evaluate.
type evalText struct {
	name   string // of the source, "" for the only text
	weight float64
	text   batch.Text
	split  dataset.Split
	size   int            // sequences of one pass
	lines  baseline.Lines // zero where they are not known: of a text that is not the run's own
	close  []io.Closer
}

func closeTexts(texts []evalText) error {
	var errs []error
	for _, t := range texts {
		for _, c := range t.close {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// evalRecord are the figures.
type evalRecord struct {
	Checkpoint  string        `json:"checkpoint"`
	Step        int64         `json:"step"`
	Weights     string        `json:"weights"` // how the matrices are stored
	Loss        metrics.Float `json:"loss"`    // nats a token
	Perplexity  metrics.Float `json:"perplexity"`
	BitsPerByte metrics.Float `json:"bits_per_byte"`
	Predicted   int64         `json:"predicted"`           // tokens that the loss is the mean over
	Tokens      int64         `json:"tokens"`              // of the text
	Bytes       int64         `json:"bytes"`               // of the text
	Sources     []evalSource  `json:"sources,omitempty"`   // of a run with several; the figures above are the means by their weights
	Documents   int           `json:"documents,omitempty"` // 0 where it is not known: the run's own text from standard input, of a tokenizer without separator

	Lines baseline.Lines `json:"lines,omitzero"` // of reference, for the run's own text
}

// evalSource are the figures of one of several sources.
type evalSource struct {
	metrics.EvalSource
	Bytes int64 `json:"bytes"` // of the text
}

func (f *evalFlags) run(cmd *cobra.Command, path string, texts []string) (err error) {
	if f.windows < 0 {
		return wrongUsage(cmd, "--windows %d: wants 0 or more", f.windows)
	}
	if err := f.checkText(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("invalid-utf8") && len(texts) == 0 {
		return wrongUsage(cmd, "--invalid-utf8 is for texts that are named; the run's own validation text was read in training")
	}
	if f.field != "" && len(texts) == 0 {
		return wrongUsage(cmd, "--field is for texts that are named; the run's own validation text was read in training")
	}
	if err := f.checkWeights(cmd); err != nil {
		return err
	}
	t, err := f.open(cmd, path)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.pack(f.weights); err != nil {
		return err
	}
	windows := f.windows
	var list []evalText
	if len(texts) > 0 {
		f.read(&t.run.Data)
		list, err = t.encode(cmd, texts, windows)
	} else {
		if !cmd.Flags().Changed("windows") {
			windows = t.run.Train.Eval.Windows
		}
		list, err = t.validation()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTexts(list)) }()
	record := evalRecord{Checkpoint: t.dir, Step: t.step, Weights: f.weights}
	evaluator, err := train.NewEvaluatorBy(t.weights, list[0].size, dataset.RuleOf(t.run.Data))
	if err != nil {
		return err
	}
	defer evaluator.Free()
	var all []train.Weighed
	for _, text := range list {
		e, err := evaluator.RunText(cmd.Context(), text.text, windows)
		if err != nil {
			return err
		}
		w := train.Weighed{Evaluation: e, Name: text.name, Weight: text.weight, BitsPerByte: e.BitsPerByte(text.split.BytesPerToken())}
		all = append(all, w)
		record.add(text, w)
	}
	total, bits := train.Total(all)
	record.Lines = linesOf(list)
	record.Loss, record.Perplexity, record.BitsPerByte = metrics.Float(total.Loss), metrics.Float(total.Perplexity()), metrics.Float(bits)
	if err := f.print(cmd, record); err != nil {
		return err
	}
	if math.IsNaN(total.Loss) || math.IsInf(total.Loss, 0) {
		return fmt.Errorf("checkpoint %s: the loss is %v: its weights, or what they compute, are not finite: take an older checkpoint", t.dir, total.Loss)
	}
	return nil
}

// linesOf are the lines of reference of all texts, by their weights.
func linesOf(list []evalText) baseline.Lines {
	var lines []baseline.Lines
	var weights []float64
	for _, text := range list {
		lines, weights = append(lines, text.lines), append(weights, text.weight)
	}
	return baseline.Mean(lines, weights)
}

// add counts a text.
func (r *evalRecord) add(text evalText, w train.Weighed) {
	r.Predicted += w.Targets
	r.Tokens, r.Bytes, r.Documents = r.Tokens+text.split.Tokens, r.Bytes+text.split.Bytes, r.Documents+text.split.Documents
	if text.name != "" {
		r.Sources = append(r.Sources, evalSource{metrics.EvalSource{Name: w.Name, Weight: metrics.Float(w.Weight), Loss: metrics.Float(w.Loss),
			BitsPerByte: metrics.Float(w.BitsPerByte), Tokens: w.Targets}, text.split.Bytes})
	}
}

// encode reads texts that the command line names.
func (t *trained) encode(cmd *cobra.Command, texts []string, windows int) ([]evalText, error) {
	if slices.Contains(texts, "-") {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	text, err := dataset.EncodeFiles(t.tokenizer, texts, t.run.Data, cmd.InOrStdin())
	if err != nil {
		return nil, usageError{ofTrained(err)}
	}
	noteTexts(cmd, text.Note)
	split := dataset.Split{Documents: text.Documents, Bytes: text.Bytes, Tokens: text.IDs.Len()}
	rows := (split.Tokens-2)/int64(t.run.Model.Context) + 1
	if windows > 0 {
		rows = min(rows, int64(windows))
	}
	size := int(max(1, min(rows, int64(t.run.Train.Batch)))) // no larger than the text fills
	return []evalText{{weight: 1, text: batch.Text{Tokens: text.IDs, Starts: text.Starts, Separated: t.tokenizer.Separator() >= 0}, split: split, size: size}}, nil
}

func (f *evalFlags) print(cmd *cobra.Command, r evalRecord) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return writeJSON(out, r)
	}
	t := newTable()
	t.row("loss", fmt.Sprintf("%.4f nats a token", r.Loss))
	t.row("perplexity", fmt.Sprintf("%.2f", r.Perplexity))
	t.row("bits a byte", fmt.Sprintf("%.3f", r.BitsPerByte))
	for _, s := range r.Sources {
		t.row("source "+s.Name, fmt.Sprintf("loss %.4f, %.3f bits a byte, weight %g", s.Loss, s.BitsPerByte, s.Weight))
	}
	if l := r.Lines; l != (baseline.Lines{}) {
		t.row("stands", l.Stand(float64(r.Loss)))
		t.row("lines", fmt.Sprintf("ln V %.3f, unigram %.3f, bigram %.3f nats a token", l.Uniform, l.Unigram, l.Bigram))
	}
	t.row("text", fmt.Sprintf("%s tokens predicted of %s, %s", grouped(r.Predicted), grouped(r.Tokens), metrics.Bytes(r.Bytes)))
	t.row("model", fmt.Sprintf("%s, step %d, matrices in %s", r.Checkpoint, r.Step, r.Weights))
	t.write(out, "")
	return nil
}
