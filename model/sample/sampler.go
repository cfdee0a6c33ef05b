package sample

import (
	"errors"
	"fmt"
	"math"

	"prenorm/kernels"
)

// Sampler chooses the next id. What it chooses follows from the options, the logits, the ids seen, and the numbers of the sequence and of
// the position; it remembers nothing but its buffers. It is not safe for concurrent use.
type Sampler struct {
	options Options
	z       []float64 // logits after the penalty
	best    candidate // the first of the ranking
	weights []float64 // probabilities after the filters, up to a common factor
	rank    ranking
}

// NewSampler returns a sampler, or an error with every rule that the options break.
func NewSampler(o Options) (*Sampler, error) {
	if err := o.Problems().Err(); err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	return &Sampler{options: o}, nil
}

// Next returns the id that follows, in [0, V). logits are those of all V ids and are not changed; seen are the ids under the repetition
// penalty, in any order. sequence and position number the sample and the place of the new id in it: one pair always draws the same random
// number, whatever was drawn before. A logit that is not finite is an error. Nothing is allocated after the first call of a size.
func (s *Sampler) Next(logits []float32, seen []int32, sequence, position int) (int32, error) {
	if s.greedy() {
		id, err := likeliest(logits)
		return id, placed(err, sequence, position)
	}
	if err := s.load(logits, seen); err != nil {
		return 0, placed(err, sequence, position)
	}
	if s.options.Temperature == 0 {
		return s.best.id, nil
	}
	return s.draw(s.weigh(), kernels.SampleUniform(s.options.Seed, sequence, position)), nil
}

// placed is an error with the place of the id that it hinders, nil for none.
func placed(err error, sequence, position int) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sample: sequence %d, id at position %d: %w", sequence, position, err)
}

// likeliest is the id of the largest logit, the first of several.
func likeliest(logits []float32) (best int32, err error) {
	if len(logits) == 0 {
		return 0, errNoLogits
	}
	const exponent = 0xff << 23 // all ones in NaN and in infinities
	top := logits[0]
	for id, x := range logits {
		if math.Float32bits(x)&exponent == exponent {
			return 0, notFinite(id, x)
		}
		if x > top {
			best, top = int32(id), x
		}
	}
	return best, nil
}

var errNoLogits = errors.New("there are no logits to choose from")

func notFinite(id int, logit float32) error {
	return fmt.Errorf("the logit of id %d is %v: the model's weights or activations are not finite "+
		"(take an earlier checkpoint, or train with a lower learning rate or with clipping)", id, logit)
}

// load copies the logits, applies the penalty and finds the best candidate.
func (s *Sampler) load(logits []float32, seen []int32) error {
	if len(logits) == 0 {
		return errNoLogits
	}
	if cap(s.z) < len(logits) {
		s.z, s.weights = make([]float64, len(logits)), make([]float64, len(logits))
	}
	s.z, s.weights = s.z[:len(logits)], s.weights[:len(logits)]
	for id, x := range logits {
		if x-x != 0 { // NaN and infinities
			return notFinite(id, x)
		}
		s.z[id] = float64(x)
	}
	if err := s.penalise(logits, seen); err != nil {
		return err
	}
	s.best = candidate{s.z[0], 0}
	for id, z := range s.z {
		if z > s.best.z {
			s.best = candidate{z, int32(id)}
		}
	}
	return nil
}

// greedy says whether the id is that of the largest logit as it came.
func (s *Sampler) greedy() bool { return s.options.Temperature == 0 && !s.penalises() }

func (s *Sampler) penalises() bool {
	return s.options.RepetitionPenalty != 0 && s.options.RepetitionPenalty != 1
}

// penalise works from the logits as they came, so that an id seen twice is penalised once.
func (s *Sampler) penalise(logits []float32, seen []int32) error {
	if !s.penalises() {
		return nil
	}
	penalty := s.options.RepetitionPenalty
	for i, id := range seen {
		if id < 0 || int(id) >= len(logits) {
			return fmt.Errorf("id %d, number %d of those seen, is outside [0, %d), the ids that have logits", id, i, len(logits))
		}
		if z := float64(logits[id]); z > 0 {
			s.z[id] = z / penalty
		} else {
			s.z[id] = z * penalty
		}
	}
	return nil
}

// weight is the probability of a logit relative to that of the best.
func (s *Sampler) weight(z float64) float64 { return math.Exp((z - s.best.z) / s.options.Temperature) }

// weigh fills in the weights, zero for ids that a filter drops, and returns their sum.
func (s *Sampler) weigh() (total float64) {
	last := s.last()
	for id, z := range s.z {
		s.weights[id] = 0
		if !last.before(candidate{z, int32(id)}) {
			s.weights[id] = s.weight(z)
			total += s.weights[id]
		}
	}
	return total
}

// last is the end of the part of the ranking that passes every filter.
func (s *Sampler) last() candidate {
	last := candidate{math.Inf(-1), math.MaxInt32}
	if k := s.options.TopK; k > 0 && k < len(s.z) || s.nucleus() {
		last = s.lastByRank()
	}
	if p := s.options.MinP; p > 0 { // exp((z-best)/temperature) >= p
		if floor := (candidate{s.best.z + s.options.Temperature*math.Log(p), math.MaxInt32}); floor.before(last) {
			last = floor
		}
	}
	return last
}

func (s *Sampler) nucleus() bool { return s.options.TopP > 0 && s.options.TopP < 1 }

// lastByRank applies top-k and top-p, which need the ranking itself.
func (s *Sampler) lastByRank() candidate {
	kept := len(s.z)
	if s.options.TopK > 0 {
		kept = min(kept, s.options.TopK)
	}
	s.rank.reset(s.z, kept)
	if !s.nucleus() {
		return s.rank.at(kept - 1)
	}
	total := 0.0
	if kept == len(s.z) {
		for _, z := range s.z { // needs no ranking
			total += s.weight(z)
		}
	} else {
		for i := range kept {
			total += s.weight(s.rank.at(i).z)
		}
	}
	sum := 0.0
	for i := range kept {
		c := s.rank.at(i)
		if sum += s.weight(c.z); sum >= s.options.TopP*total {
			return c
		}
	}
	return s.rank.at(kept - 1)
}

// draw returns the id whose share of [0, total) holds u·total, with the shares laid out by id.
func (s *Sampler) draw(total, u float64) int32 {
	sum, drawn := 0.0, s.best.id
	for id, w := range s.weights {
		if w == 0 {
			continue
		}
		drawn = int32(id)
		if sum += w; sum > u*total {
			break
		}
	}
	return drawn
}
