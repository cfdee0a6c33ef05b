package lab

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train/metrics"
)

// building is held while a graph is built.
var building sync.Mutex

// look runs the session's weights over a batch of validation windows.
func (s *session) look() (look *Look, err error) {
	p, err := s.probe(s.Model)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	reader, err := batch.Eval(s.text.Val, s.Train.Batch, s.Model.Context, s.Train.Batch)
	if err != nil {
		return nil, err
	}
	var b batch.Batch
	if err := errors.Join(reader.Next(&b), p.SetBatch(b.Inputs, b.Targets)); err != nil {
		return nil, err
	}
	look, err = p.look()
	if err != nil {
		return nil, err
	}
	return look, s.heads(p, look, b.Targets)
}

// probe is a probe of the session's weights in a configuration that has the same.
func (s *session) probe(c model.Config) (*Probe, error) {
	building.Lock()
	p, err := NewProbe(s.be, c, ProbeOptions{B: s.Train.Batch, T: s.Model.Context, DType: kernels.F32})
	building.Unlock()
	if err != nil {
		return nil, err
	}
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
		return nil, errors.Join(err, p.Free())
	}
	return p, nil
}

// heads compares what the head makes of what it reads with what it would make of the bare stream.
func (s *session) heads(p *Probe, look *Look, targets []int32) error {
	name := "lm_head.weight"
	if p.Config.Tied {
		name = "embed_tokens.weight"
	}
	head, err := p.read(p.weights.View(p.index[name]))
	if err != nil {
		return err
	}
	read, err := p.Value("final")
	if err != nil {
		return err
	}
	bare, err := p.Value(stream(p.Config.Layers))
	if err != nil {
		return err
	}
	size, _ := logits(read, head, targets, p.Config.Width)
	rawSize, loss := logits(bare, head, targets, p.Config.Width)
	look.Logits, look.RawLogits, look.RawLoss = metrics.Float(size), metrics.Float(rawSize), metrics.Float(loss)
	return nil
}

// logits is the RMS of x[N,C] W[V,C]', and the mean loss over the targets that are not ignored.
func logits(x, w []float64, targets []int32, width int) (size, loss float64) {
	z := make([]float64, len(w)/width)
	squares, n := 0.0, 0
	for r, target := range targets {
		if target < 0 {
			continue
		}
		top, sum := math.Inf(-1), 0.0
		for v := range z {
			z[v] = dot(x[r*width:(r+1)*width], w[v*width:(v+1)*width])
			squares += z[v] * z[v]
			top = max(top, z[v])
		}
		for _, v := range z {
			sum += math.Exp(v - top)
		}
		loss += top + math.Log(sum) - z[target]
		n++
	}
	return math.Sqrt(squares / float64(max(1, n*len(z)))), loss / float64(max(1, n))
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
