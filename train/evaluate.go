package train

import (
	"context"
	"errors"
	"math"

	"prenorm/data/batch"
	"prenorm/model"
	"prenorm/model/exec"
)

// Evaluator computes the loss of a model over a text, without dropout.
type Evaluator struct {
	weights   *model.Weights
	program   *exec.Program
	rule      batch.Rule
	batch     batch.Batch
	positions []int32 // where attention stays inside documents
	size      int
	context   int
	after     func() // called after each batch; nil = nobody asks
}

// NewEvaluator compiles the evaluation program for batches of size sequences of the model's context.
func NewEvaluator(w *model.Weights, size int) (*Evaluator, error) {
	return newEvaluator(w, size, 0, batch.Rule{})
}

// NewEvaluatorBy is NewEvaluator for texts whose rows follow a rule.
func NewEvaluatorBy(w *model.Weights, size int, r batch.Rule) (*Evaluator, error) {
	return newEvaluator(w, size, 0, r)
}

// NewEvaluatorWithout is NewEvaluator for the model without one block, counted from 1; 0 leaves none out.
func NewEvaluatorWithout(w *model.Weights, size, block int) (*Evaluator, error) {
	return newEvaluator(w, size, block, batch.Rule{})
}

func newEvaluator(w *model.Weights, size, block int, r batch.Rule) (*Evaluator, error) {
	e := &Evaluator{weights: w, rule: r, size: size, context: w.Config.Context}
	if r.Closed {
		e.positions = make([]int32, size*e.context)
	}
	net, err := model.Build(w.Config, model.Options{Mode: model.Eval, B: size, T: e.context, Documents: r.Closed, Without: block})
	if err != nil {
		return nil, err
	}
	plan, err := net.Plan(w.Backend(), false)
	if err != nil {
		return nil, err
	}
	if e.program, err = plan.Bind(w.Views()); err != nil {
		return nil, err
	}
	return e, nil
}

// Evaluation is the loss over a text.
type Evaluation struct {
	Loss    float64 // mean over the targets, in nats a token
	Targets int64
}

// Perplexity is exp(loss).
func (e Evaluation) Perplexity() float64 { return math.Exp(e.Loss) }

// BitsPerByte is the loss in bits a byte of text, for the given number of bytes a token stands for on average.
func (e Evaluation) BitsPerByte(bytesPerToken float64) float64 {
	return e.Loss / math.Ln2 / bytesPerToken
}

// Run reads windows (0 = all, evenly spread otherwise) of the source, each without what came before it, and averages the loss over every
// target. Sums are kept in float64 in the order of the text, so the figure depends on the batch size only by rounding.
func (e *Evaluator) Run(ctx context.Context, source batch.Tokens, windows int) (Evaluation, error) {
	return e.RunText(ctx, batch.Text{Tokens: source}, windows)
}

// RunText is Run for a text whose documents the evaluator's rule asks for.
func (e *Evaluator) RunText(ctx context.Context, text batch.Text, windows int) (Evaluation, error) {
	reader, err := e.rule.Eval(text, e.size, e.context, windows)
	if err != nil {
		return Evaluation{}, err
	}
	return e.read(ctx, reader, reader.Windows())
}

// read is Run for a reader by the evaluator's rule and sizes, from its start: its first windows, in whole batches. A reader can be read again,
// which saves packing its text anew.
func (e *Evaluator) read(ctx context.Context, reader *batch.Evaluation, windows int64) (Evaluation, error) {
	var total float64
	var targets int64
	reader.Reset()
	for range batchesOf(windows, e.size) {
		if err := ctx.Err(); err != nil {
			return Evaluation{}, err
		}
		if err := reader.Next(&e.batch); err != nil {
			return Evaluation{}, err
		}
		n := countTargets(&e.batch)
		loss, err := e.loss(n)
		if err != nil {
			return Evaluation{}, err
		}
		total += loss * float64(n)
		targets += int64(n)
		if e.after != nil {
			e.after()
		}
	}
	if targets == 0 {
		return Evaluation{}, errNoTarget
	}
	return Evaluation{Loss: total / float64(targets), Targets: targets}, nil
}

var errNoTarget = errors.New("evaluation: the text has no token to predict")

// loss is the mean over the batch's n targets.
func (e *Evaluator) loss(n int) (float64, error) {
	var result [1]float32
	type input struct {
		name string
		data any
	}
	inputs := []input{{model.InTokens, e.batch.Inputs}, {model.InTargets, e.batch.Targets}, {model.InNormaliser, []float32{float32(max(n, 1))}}}
	if e.rule.Closed {
		restart(e.positions, e.batch.Docs, e.context)
		inputs = append(inputs, input{model.InDocuments, e.batch.Docs}, input{model.InPositions, e.positions})
	}
	for _, in := range inputs {
		if err := e.program.Set(in.name, in.data); err != nil {
			return 0, err
		}
	}
	if err := e.program.Run(); err != nil {
		return 0, err
	}
	if err := e.program.Get(model.OutLoss, result[:]); err != nil {
		return 0, err
	}
	return float64(result[0]), nil
}

// Free releases the program's memory.
func (e *Evaluator) Free() error { return e.program.Free() }
