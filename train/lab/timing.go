package lab

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"prenorm/kernels"
)

// timing is what a norm and its gradient take, in seconds of one worker: the fastest of several tries, which other work on the machine disturbs
// least.
type timing struct{ rms, layer float64 }

// timeRows and timeWidth are the rows that are normed: as many as a small model has, and wide enough that memory counts.
const timeRows, timeWidth, timeTries = 2048, 512, 40

func (e *evidence) time(b Backends) error {
	be, err := b.Fast()
	if err != nil {
		return err
	}
	defer be.Close()
	if e.timing.rms, err = timeNorm(be, kernels.RMSNorm{Eps: 1e-5}, kernels.RMSNormGrad{Eps: 1e-5}); err != nil {
		return err
	}
	e.timing.layer, err = timeNorm(be, kernels.LayerNorm{Eps: 1e-5}, kernels.LayerNormGrad{Eps: 1e-5})
	return err
}

// timeNorm times a norm's call and its gradient's, one after the other. Whatever operands the norm has besides rows are gain and bias.
func timeNorm(be kernels.Backend, forward, backward kernels.Call) (float64, error) {
	rows, vector := kernels.Shaped(kernels.F32, timeRows, timeWidth), kernels.Shaped(kernels.F32, timeWidth)
	in := []kernels.View{rows, vector}
	if _, _, err := forward.Infer(in); err != nil {
		in = append(in, vector)
	}
	m := &memory{be: be}
	a, err := m.args(forward, in, nil)
	if err != nil {
		return 0, err
	}
	defer m.free()
	x := make([]float32, rows.Len())
	for i := range x {
		x[i] = float32(i%97) - 48
	}
	if err := be.Upload(a.In[0], x); err != nil {
		return 0, err
	}
	g, err := m.args(backward, append(slices.Clone(a.In), rows), a.Aux)
	if err != nil {
		return 0, err
	}
	first, err := be.Bind(forward, a)
	if err != nil {
		return 0, err
	}
	second, err := be.Bind(backward, g)
	if err != nil {
		return 0, err
	}
	fastest := time.Duration(1<<63 - 1)
	for range timeTries {
		began := time.Now()
		if err := errors.Join(first(), second(), be.Sync()); err != nil {
			return 0, err
		}
		fastest = min(fastest, time.Since(began))
	}
	return fastest.Seconds(), nil
}

// memory gives calls views with memory behind them.
type memory struct {
	be     kernels.Backend
	arenas []kernels.Arena
	err    error
}

func (m *memory) view(v kernels.View) kernels.View {
	if v.Host != nil || v.Dev != 0 || m.err != nil {
		return v
	}
	arena, err := m.be.NewArena(max(v.Bytes(), 1))
	if err != nil {
		m.err = err
		return v
	}
	m.arenas = append(m.arenas, arena)
	return arena.View(0, v.DType, v.Shape...)
}

func (m *memory) views(list []kernels.View) []kernels.View {
	out := make([]kernels.View, len(list))
	for i, v := range list {
		out[i] = m.view(v)
	}
	return out
}

// args are the views of one call. saved are the statistics of the forward call.
func (m *memory) args(c kernels.Call, in, saved []kernels.View) (kernels.Args, error) {
	out, aux, err := c.Infer(in)
	if err != nil {
		return kernels.Args{}, fmt.Errorf("time of %s: %w", c.Kernel(), err)
	}
	a := kernels.Args{Out: m.views(out), Aux: m.views(aux), In: m.views(in), Saved: saved}
	n, err := m.be.Workspace(c, a)
	if err != nil {
		return a, err
	}
	if n > 0 {
		a.Work = m.view(kernels.Shaped(kernels.I8, n))
	}
	return a, m.err
}

func (m *memory) free() {
	for _, a := range m.arenas {
		_ = a.Free()
	}
}
