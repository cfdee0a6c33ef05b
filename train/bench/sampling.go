package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/sample"
)

// MeasureSample times reading a prompt and writing after it, with the weights stored in each of the ways that the backend has for them.
func (r *Report) MeasureSample(ctx context.Context, be kernels.Backend, o Options) error {
	for _, stored := range model.Packings {
		s, err := r.measureSample(ctx, be, o, stored)
		var cannot *model.CannotPack
		if errors.As(err, &cannot) {
			continue
		}
		if err != nil {
			return err
		}
		r.Sample = append(r.Sample, *s)
	}
	return nil
}

// measureSample measures with weights stored in one way.
func (r *Report) measureSample(ctx context.Context, be kernels.Backend, o Options, stored string) (s *Sample, err error) {
	w, err := model.NewWeights(be, o.Model)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Free()) }()
	if err := errors.Join(w.Initialise(o.Seed), w.PackAs(stored)); err != nil {
		return nil, err
	}
	g, err := sample.New(w, sample.GeneratorOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Free()) }()
	s = &Sample{Weights: stored, Prompt: max(o.Model.Context/2, 1)}
	t, err := trafficOf(w)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(uint64(o.Seed), 2))
	prompt := make([]int32, s.Prompt)
	for i := range prompt {
		prompt[i] = random.Int32N(int32(o.Model.Vocab))
	}
	if s.Prefill, err = prefill(ctx, g, prompt, o.Seconds/2); err != nil {
		return nil, err
	}
	before := reading(be)
	if s.Decode, s.BytesPerToken, err = decode(ctx, g, prompt[:1], t, o); err != nil {
		return nil, err
	}
	s.GBs = float64(s.BytesPerToken) * s.Decode / 1e9
	if s.Reading = max(before, reading(be)); s.Reading == 0 {
		s.Reading = r.Ceilings.Reading()
	}
	s.Share = s.GBs / s.Reading
	return s, nil
}

// reading is the speed of reading from memory at this moment in GB/s, 0 where it is not known: on a machine that others share it may halve from one
// minute to the next, so that a share of what it was when the report began says nothing.
func reading(be kernels.Backend) float64 {
	p, ok := be.(kernels.Prober)
	if !ok {
		return 0
	}
	read, _ := p.Bandwidth()
	return read / 1e9
}

// prefill is the tokens of prompts read in a second. The first prompt is not counted.
func prefill(ctx context.Context, g *sample.Generator, prompt []int32, seconds float64) (float64, error) {
	if _, err := g.Logits(prompt); err != nil {
		return 0, err
	}
	read, began := 0, time.Now()
	for read == 0 || time.Since(began).Seconds() < seconds {
		if _, err := g.Logits(prompt); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		read += len(prompt)
	}
	return float64(read) / time.Since(began).Seconds(), nil
}

// decode is the tokens written in a second, always the likeliest, until the context is full, and again from the start, and the bytes that one of
// them read and wrote on average: of a context of one token, what the first would.
func decode(ctx context.Context, g *sample.Generator, prompt []int32, t traffic, o Options) (rate float64, bytes int64, err error) {
	likeliest, err := sample.NewSampler(sample.Options{})
	if err != nil {
		return 0, 0, err
	}
	written, moved := 0, int64(0)
	var spent time.Duration
	for written == 0 || spent.Seconds() < o.Seconds/2 {
		n, took, err := writeOnce(ctx, g, prompt, o.Model.Context, likeliest, o.Seconds/2)
		if err != nil {
			return 0, 0, err
		}
		written, spent = written+n, spent+took
		for i := range n {
			moved += t.bytes(len(prompt) + i + 1)
		}
		if o.Model.Context == 1 {
			return 0, t.bytes(1), nil
		}
	}
	return float64(written) / max(spent.Seconds(), 1e-9), moved / int64(written), nil
}

// writeOnce writes up to so many tokens, or for so many seconds, and says how many came after the first and how long they took: the prompt is
// read before the first.
func writeOnce(ctx context.Context, g *sample.Generator, prompt []int32, most int, s *sample.Sampler, seconds float64) (written int, took time.Duration, err error) {
	written = -1
	began := time.Now()
	err = g.Generate(ctx, prompt, most, s, 0, func(int32) (bool, error) {
		if written++; written == 0 {
			began = time.Now()
			return false, nil
		}
		return time.Since(began).Seconds() >= seconds, nil
	})
	return max(written, 0), time.Since(began), err
}
