package batch

import (
	"fmt"
	"slices"
)

// Stage gives the weights of a mixture from a step on.
type Stage struct {
	From    int64     // first step, from 1
	Weights []float64 // of each source; a source of weight 0 is not drawn from
}

// MixtureCursor is a place in a [Mixture].
type MixtureCursor struct {
	Step    int64    `json:"step"` // that the next row belongs to, from 1
	Row     int64    `json:"row"`  // of the step's rows
	Sources []Cursor `json:"sources"`
}

// Mixture hands out batches whose rows come from several sources, each with its own epochs. Which source a row comes from is a function of
// the seed, the step and the row's number in the step only, drawn in proportion to the weights of the step; so a run that goes on with
// another batch size draws the same from its first step on. A Mixture is for one goroutine at a time.
type Mixture struct {
	loaders []*Loader
	stages  []Stage
	rows    int64 // of a step
	seed    int64
	step    int64
	row     int64
	starts  []Cursor // of the loaders, before a batch
	epochs  []epoch
}

// NewMixture returns a mixture at its start. The loaders, which it owns from then on, have one shape; rows is the number of rows of a step,
// a multiple of that of a batch. The stages are in the order of their steps, the first from step 1.
func NewMixture(loaders []*Loader, stages []Stage, rows int, seed int64) (*Mixture, error) {
	if len(loaders) == 0 || len(stages) == 0 || stages[0].From > 1 || rows < 1 || rows%loaders[0].b != 0 {
		return nil, fmt.Errorf("a mixture of %d sources in %d stages with %d rows a step cannot be made", len(loaders), len(stages), rows)
	}
	for i, s := range stages {
		if sum := sumOf(s.Weights); len(s.Weights) != len(loaders) || !(sum > 0) || slices.Min(s.Weights) < 0 || i > 0 && s.From <= stages[i-1].From {
			return nil, fmt.Errorf("stage %d from step %d: weights %v for %d sources cannot be drawn from", i+1, s.From, s.Weights, len(loaders))
		}
	}
	return &Mixture{loaders: loaders, stages: stages, rows: int64(rows), seed: seed, step: 1,
		starts: make([]Cursor, len(loaders)), epochs: make([]epoch, len(loaders))}, nil
}

func sumOf(weights []float64) float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	return sum
}

// Next implements [Feed].
func (m *Mixture) Next(dst *Batch) error {
	first := m.loaders[0]
	dst.resize(first.b, first.t, first.rule.Closed)
	step, row := m.step, m.row
	for i, l := range m.loaders {
		m.starts[i], m.epochs[i] = l.cursor, l.epoch
	}
	for b := range first.b {
		if err := m.loaders[m.draw(m.step, m.row)].row(dst, b); err != nil {
			for i, l := range m.loaders {
				l.cursor, l.epoch = m.starts[i], m.epochs[i]
			}
			m.step, m.row = step, row
			return err
		}
		if m.row++; m.row == m.rows {
			m.step, m.row = m.step+1, 0
		}
	}
	return nil
}

// draw is the source of a row.
func (m *Mixture) draw(step, row int64) int {
	weights := m.stages[0].Weights
	for _, s := range m.stages[1:] {
		if s.From <= step {
			weights = s.Weights
		}
	}
	bits := mix(mix(mix(uint64(m.seed)-golden)^uint64(step)) + uint64(row)*golden)
	at := float64(bits>>11) / (1 << 53) * sumOf(weights)
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if at -= w; at < 0 {
			break
		}
	}
	return last // the last of any weight where rounding leaves a rest
}

// Cursor implements [Feed].
func (m *Mixture) Cursor() Cursor {
	c := &MixtureCursor{Step: m.step, Row: m.row}
	for _, l := range m.loaders {
		c.Sources = append(c.Sources, l.Cursor())
	}
	return Cursor{Mixture: c}
}

// Seek implements [Feed], for a mixture of the same sources with the same seed and context. After an error it stands where it stood.
func (m *Mixture) Seek(c Cursor) error {
	to := c.Mixture
	if to == nil || len(to.Sources) != len(m.loaders) || to.Step < 1 || to.Row < 0 || to.Row >= m.rows {
		return fmt.Errorf("cannot continue a mixture of %d sources at this place: the cursor is of other data.sources, or of one text", len(m.loaders))
	}
	before := m.Cursor().Mixture
	for i, l := range m.loaders {
		if err := l.Seek(to.Sources[i]); err != nil {
			for k, back := range m.loaders[:i] {
				if failed := back.Seek(before.Sources[k]); failed != nil {
					return failed
				}
			}
			return fmt.Errorf("source %d: %w", i+1, err)
		}
	}
	m.step, m.row = to.Step, to.Row
	return nil
}
