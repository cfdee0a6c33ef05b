package lab

import (
	"errors"
	"fmt"
	"sync"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/train/metrics"
)

// building is held while a graph is built.
var building sync.Mutex

// look runs the session's weights over a batch of validation windows.
func (s *session) look() (look *Look, err error) {
	building.Lock()
	p, err := NewProbe(s.be, s.Model, ProbeOptions{B: s.Train.Batch, T: s.Model.Context, DType: kernels.F32})
	building.Unlock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	index := make(map[string]int, len(s.weights.Table))
	for i, row := range s.weights.Table {
		index[row.Name] = i
	}
	err = p.Load(func(name string) ([]float32, []int, bool, error) {
		i, ok := index[name]
		if !ok {
			return nil, nil, false, nil
		}
		x, err := s.weights.Values(i)
		return x, s.weights.Table[i].Shape, true, err
	})
	if err != nil {
		return nil, err
	}
	reader, err := batch.Eval(s.text.Val, s.Train.Batch, s.Model.Context, s.Train.Batch)
	if err != nil {
		return nil, err
	}
	var b batch.Batch
	if err := errors.Join(reader.Next(&b), p.SetBatch(b.Inputs, b.Targets)); err != nil {
		return nil, err
	}
	return p.look()
}

// look runs a pass and describes its streams.
func (p *Probe) look() (*Look, error) {
	out := &Look{}
	loss, err := p.Run()
	if err != nil {
		return nil, err
	}
	out.Loss = metrics.Float(loss)
	var first, before []float64
	for l := range p.Config.Layers + 1 {
		x, err := p.Value(stream(l))
		if err != nil {
			return nil, err
		}
		g, err := p.Value("grad." + stream(l))
		if err != nil {
			return nil, err
		}
		if l == 0 {
			first = x
		} else {
			added := distance(x, before)
			out.Added, out.Rewrite = append(out.Added, added*rms(x)/norm(x)), append(out.Rewrite, added/norm(before))
			if dual, missing := p.Value(fmt.Sprintf("layers.%d.dual", l-1)); missing == nil {
				out.Dual = append(out.Dual, rms(dual))
			}
		}
		before = x
		out.Stream, out.Grad, out.Cosine = append(out.Stream, rms(x)), append(out.Grad, norm(g)), append(out.Cosine, cosine(x, first, p.Config.Width))
	}
	return out, nil
}
