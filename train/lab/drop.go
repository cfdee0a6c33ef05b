package lab

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/stat"

	"prenorm/data/batch"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/lab/report"
)

// dropLosses are the validation losses of a model: whole, then without block 1, 2, … up to blocks.
func dropLosses(ctx context.Context, w *model.Weights, text batch.Tokens, size, windows, blocks int) ([]float64, error) {
	losses := make([]float64, 0, blocks+1)
	for without := range blocks + 1 {
		loss, err := lossWithout(ctx, w, text, size, windows, without)
		if err != nil {
			return nil, err
		}
		losses = append(losses, loss)
	}
	return losses, nil
}

func lossWithout(ctx context.Context, w *model.Weights, text batch.Tokens, size, windows, without int) (loss float64, err error) {
	building.Lock()
	e, err := train.NewEvaluatorWithout(w, size, without)
	building.Unlock()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Free()) }()
	result, err := e.Run(ctx, text, windows)
	return result.Loss, err
}

// DropResult is the loss of a trained model without each of its blocks.
type DropResult struct {
	Name      string
	Placement string
	Whole     float64
	Without   []float64 // block l+1
}

// Drop measures the validation loss of a trained model without each of its blocks.
func Drop(ctx context.Context, name string, w *model.Weights, text batch.Tokens, size, windows int) (DropResult, error) {
	r := DropResult{Name: name, Placement: w.Config.Norm.Placement}
	losses, err := dropLosses(ctx, w, text, size, windows, w.Config.Layers)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	r.Whole, r.Without = losses[0], losses[1:]
	return r, nil
}

// Damage is what the loss rises by without each block.
func (r DropResult) Damage() []float64 {
	out := make([]float64, len(r.Without))
	for i, v := range r.Without {
		out[i] = v - r.Whole
	}
	return out
}

// Trend is the correlation of damage with the block's number: below 0 where late blocks matter less. The first block is left out, because it alone
// reads the bare embedding and matters everywhere.
func Trend(damage []float64) float64 {
	if len(damage) < 3 {
		return 0
	}
	x := make([]float64, len(damage)-1)
	for i := range x {
		x[i] = float64(i)
	}
	return stat.Correlation(x, damage[1:], nil)
}

// DropReport turns the losses into a page.
func DropReport(results []DropResult) report.Report {
	f := report.Figure{Name: "drop", Title: "What the loss rises by without a block", X: "block that is left out", Y: "nats a token", Bars: true,
		Note: "Nothing is trained anew: the block's input is handed on as its output."}
	t := report.Table{Name: "drop", Caption: "Validation loss without each block", Columns: []string{"run", "placement", "without", "loss", "rise"},
		Note: "Blocks are counted from 1: the first is layers.0 in names of tensors and in the inspect command. Loss: validation, nats a token; rise: above that with all blocks."}
	lead := ""
	for _, r := range results {
		s := report.Series{Name: r.Placement}
		if len(results) > 1 {
			s.Name = r.Placement + " " + r.Name
		}
		t.Row(r.Name, r.Placement, "none", fmt.Sprintf("%.4f", r.Whole), "")
		for i, d := range r.Damage() {
			t.Row(r.Name, r.Placement, fmt.Sprintf("block %d (layers.%d)", i+1, i), fmt.Sprintf("%.4f", r.Without[i]), fmt.Sprintf("%+.4f", d))
			s.Y = append(s.Y, d)
			if len(f.Labels) < i+1 {
				f.Labels = append(f.Labels, fmt.Sprint(i+1))
			}
		}
		f.Series = append(f.Series, s)
		lead += fmt.Sprintf("%s (%s): loss %.4f with all blocks; the correlation of damage with the block's number, the first block apart, is %+.2f.\n\n", r.Name, r.Placement, r.Whole, Trend(r.Damage()))
	}
	return report.Report{Title: "The loss without each block", Lead: lead, Sections: []report.Section{{Title: "Damage", Figures: []report.Figure{f}, Tables: []report.Table{t}}}}
}
