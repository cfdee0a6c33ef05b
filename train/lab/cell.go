package lab

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/metrics"
	"prenorm/train/schedule"
)

// Cell is one training run of a comparison: everything that its result depends on besides the text.
type Cell struct {
	Label string       `json:"-"` // for people
	Model model.Config `json:"model"`
	Train train.Config `json:"train"`
	Seed  int64        `json:"seed"` // of initial values and of the order of the data: runs of one seed read the same batches
	// Blocks asks for the gradient norm of every block in every step, Probe for a look into the streams before and after training, Drop for the
	// loss without each block.
	Blocks bool `json:"blocks,omitempty"`
	Probe  bool `json:"probe,omitempty"`
	Drop   bool `json:"drop,omitempty"`
	// Early asks for the validation loss, and with Probe for a look, after so many steps on the way; 0 = no. Statistics asks for those of batch norms.
	Early      int  `json:"early,omitempty"`
	Statistics bool `json:"statistics,omitempty"`
}

// evalWindows is how many windows of the validation text a cell's loss is the mean over.
const evalWindows = 256

// format is a part of every key: it changes when a result would.
const format = 3

// key names the cell's result. Steps of the same settings on the same text have the same key.
func (c Cell) key(t *Text, device string) (string, error) {
	text, err := json.Marshal(struct {
		Format       int
		Cell         Cell
		Text, Device string
	}{format, c, t.Print, device})
	if err != nil {
		return "", fmt.Errorf("the settings of %s cannot be written: %w", c.Label, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:20], nil
}

// Look is a look into a model's streams with a batch of the validation text.
type Look struct {
	Loss    metrics.Float `json:"loss"`
	Stream  Values        `json:"stream"` // RMS after block l; 0 is the embedding
	Dual    Values        `json:"dual,omitempty"`
	Grad    Values        `json:"grad"`    // norm of the loss's gradient by the stream
	Cosine  Values        `json:"cosine"`  // mean cosine of the stream to the embedding
	Rewrite Values        `json:"rewrite"` // RMS of what block l+1 changes, over that of the stream it reads
	Added   Values        `json:"added"`   // RMS of what block l+1 changes
	// RMS of the logits, of those from the stream without a final norm, and the loss that the latter give.
	Logits    metrics.Float `json:"logits"`
	RawLogits metrics.Float `json:"raw_logits"`
	RawLoss   metrics.Float `json:"raw_loss"`
}

// CellResult is what a cell gave.
type CellResult struct {
	Label    string        `json:"label"`
	Losses   Values        `json:"losses"`    // of every step, up to the first that is not finite
	Norms    Values        `json:"norms"`     // global gradient norms before clipping
	Val      metrics.Float `json:"val"`       // validation loss at the end; NaN after divergence
	EarlyVal metrics.Float `json:"early_val"` // after Cell.Early steps; NaN where it was not asked for or not reached
	OwnVal   metrics.Float `json:"own_val"`   // as Val, with the statistics of each batch of windows in place of running ones; NaN without batch norm
	Wobble   metrics.Float `json:"wobble"`    // see [wobble]; NaN without batch norm
	Outcome  Outcome       `json:"outcome"`
	Params   int64         `json:"params"`
	Seconds  float64       `json:"seconds"` // of updates
	Fastest  float64       `json:"fastest"` // seconds of the quickest update, which other work on the machine disturbs least
	Blocks   []Values      `json:"blocks,omitempty"`
	Before   *Look         `json:"before,omitempty"`
	Early    *Look         `json:"early,omitempty"` // after Cell.Early steps
	After    *Look         `json:"after,omitempty"`
	Dropped  Values        `json:"dropped,omitempty"` // validation loss without block l+1
	Reached  int           `json:"reached"`           // steps done
	FinalRun metrics.Float `json:"final"`
}

// Final is the mean training loss at the end, NaN after divergence.
func (r CellResult) Final() float64 { return float64(r.FinalRun) }

// runCell trains one cell.
func runCell(ctx context.Context, be kernels.Backend, t *Text, c Cell) (r CellResult, err error) {
	s, err := newSession(be, t, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.free()) }()
	none := metrics.Float(math.NaN())
	r = CellResult{Label: c.Label, Val: none, EarlyVal: none, OwnVal: none, Wobble: none, Params: s.weights.Count()}
	if c.Probe {
		if r.Before, err = s.look(); err != nil {
			return r, err
		}
	}
	if err := s.train(ctx, &r); err != nil {
		return r, err
	}
	r.Outcome, r.FinalRun, r.Reached = OutcomeOf(r.Losses, c.Train.Steps, t), metrics.Float(Final(r.Losses)), len(r.Losses)
	if len(r.Losses) < c.Train.Steps {
		r.FinalRun = metrics.Float(math.NaN())
		return r, nil
	}
	return r, s.after(ctx, &r)
}

// session is a cell at work.
type session struct {
	Cell
	text    *Text
	be      kernels.Backend
	weights *model.Weights
	stepper *train.Stepper
	loader  *batch.Loader
	rate    schedule.Schedule
	micros  []*batch.Batch
}

func newSession(be kernels.Backend, t *Text, c Cell) (*session, error) {
	c.Train = c.Train.Resolved()
	s := &session{Cell: c, text: t, be: be}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.free())
	}
	return s, nil
}

// open builds the model and everything around it. Graphs are built one at a time: Gorgonia keeps pools of its own.
func (s *session) open() error {
	building.Lock()
	defer building.Unlock()
	c := s.Train
	var err error
	if s.loader, err = batch.NewLoader(s.text.Train, c.Batch, s.Model.Context, s.Seed); err != nil {
		return err
	}
	if s.rate, err = schedule.New(c.Schedule.Kind, schedule.Config{Warmup: c.Schedule.Warmup, Steps: c.Steps, Min: c.Schedule.Min, Decay: c.Schedule.Decay}); err != nil {
		return err
	}
	if s.weights, err = model.NewWeights(s.be, s.Model); err != nil {
		return err
	}
	if err := s.weights.Initialise(s.Seed); err != nil {
		return err
	}
	for range max(c.Accumulate, 1) {
		s.micros = append(s.micros, &batch.Batch{})
	}
	s.stepper, err = train.NewStepper(s.weights, train.StepOptions{Batch: c.Batch, Context: s.Model.Context, Accumulate: c.Accumulate, Optimizer: c.Optimizer, Clip: c.Clip, Seed: s.Seed})
	return err
}

// train does the cell's steps, up to one whose loss is not finite.
func (s *session) train(ctx context.Context, r *CellResult) error {
	began := time.Now()
	r.Fastest = math.MaxFloat64
	for step := int64(1); step <= int64(s.Train.Steps); step++ {
		for _, m := range s.micros {
			if err := s.loader.Next(m); err != nil {
				return err
			}
		}
		start := time.Now()
		result, err := s.stepper.Step(ctx, step, s.rate(step)*s.Train.Optimizer.LR, s.micros)
		if err != nil {
			return err
		}
		r.Fastest = min(r.Fastest, time.Since(start).Seconds())
		if !result.Finite() {
			break
		}
		r.Losses, r.Norms = append(r.Losses, result.Loss), append(r.Norms, result.GradNorm)
		if s.Blocks {
			norms, err := s.blockNorms()
			if err != nil {
				return err
			}
			r.Blocks = append(r.Blocks, norms)
		}
		if step == int64(s.Early) {
			if err := s.early(ctx, r); err != nil {
				return err
			}
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return nil
}

// blockNorms are the norms of the last step's gradients, one a block.
func (s *session) blockNorms() ([]float64, error) {
	squares := make([]float64, s.Model.Layers)
	for i, row := range s.weights.Table {
		var l int
		if _, err := fmt.Sscanf(row.Name, "layers.%d.", &l); err != nil {
			continue
		}
		x := make([]float32, row.Len())
		if err := s.be.Download(x, s.stepper.Grads().View(i)); err != nil {
			return nil, err
		}
		for _, v := range x {
			squares[l] += float64(v) * float64(v)
		}
	}
	for l := range squares {
		squares[l] = math.Sqrt(squares[l])
	}
	return squares, nil
}

// after measures the trained model.
func (s *session) after(ctx context.Context, r *CellResult) error {
	blocks := 0
	if s.Drop {
		blocks = s.Model.Layers
	}
	losses, err := dropLosses(ctx, s.weights, s.text.Val, s.Train.Batch, evalWindows, blocks)
	if err != nil {
		return err
	}
	r.Val = metrics.Float(losses[0])
	if s.Drop {
		r.Dropped = losses[1:]
	}
	if s.Statistics {
		if err := s.statistics(r); err != nil {
			return err
		}
	}
	if s.Probe {
		r.After, err = s.look()
	}
	return err
}

// early measures the model on the way.
func (s *session) early(ctx context.Context, r *CellResult) error {
	losses, err := dropLosses(ctx, s.weights, s.text.Val, s.Train.Batch, evalWindows, 0)
	if err != nil {
		return err
	}
	r.EarlyVal = metrics.Float(losses[0])
	if s.Probe {
		r.Early, err = s.look()
	}
	return err
}

func (s *session) free() error {
	var err error
	if s.stepper != nil {
		err = s.stepper.Free()
	}
	if s.weights != nil {
		err = errors.Join(err, s.weights.Free())
	}
	return err
}
