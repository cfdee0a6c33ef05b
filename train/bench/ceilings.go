package bench

import (
	"errors"
	"fmt"
	"slices"

	"prenorm/kernels"
)

// Problems grow until one launch takes longEnough, or they are as large as any device needs.
const (
	longEnough  = 10e-3
	largestCopy = 1 << 28 // elements: 1 GiB read and 1 GiB written
	largestSide = 8192
)

// ceilings measures them, each size of problem for the budget of seconds, and takes the best times.
func ceilings(be kernels.Backend, budget float64) (Ceilings, error) {
	var c Ceilings
	err := c.measureCopy(be, budget)
	if err == nil {
		err = c.measureMatMul(be, budget)
	}
	if err != nil {
		return c, fmt.Errorf("measure the ceilings: %w", err)
	}
	if p, ok := be.(kernels.Prober); ok {
		read, copied := p.Bandwidth()
		c.Peak, c.Read, c.Copy = p.PeakFLOPs()/1e9, read/1e9, max(c.Copy, copied/1e9)
	}
	return c, nil
}

// measureCopy takes the largest copy, as smaller ones may stay in caches.
func (c *Ceilings) measureCopy(be kernels.Backend, budget float64) error {
	for n, seconds := 1<<16, 0.0; n <= largestCopy && seconds < longEnough; n *= 4 {
		v := kernels.Shaped(kernels.F32, n)
		bytes := int64(2 * v.Bytes())
		var err error
		seconds, err = measure(be, kernels.Scale{Factor: 1}, kernels.Args{Out: []kernels.View{v}, In: []kernels.View{v}}, budget, slices.Min[[]float64])
		var full *kernels.OutOfMemory
		if errors.As(err, &full) && c.Copy > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		c.Copy = rate(bytes, seconds)
	}
	return nil
}

// measureMatMul takes the best square product.
func (c *Ceilings) measureMatMul(be kernels.Backend, budget float64) error {
	dtype := kernels.F32
	if kernels.PrecisionOf(be) == kernels.PrecisionBF16 {
		dtype = kernels.BF16
	}
	for n, seconds := 256, 0.0; n <= largestSide && seconds < longEnough; n *= 2 {
		v := kernels.Shaped(dtype, n, n)
		call, a := kernels.MatMul{TransB: true}, kernels.Args{Out: []kernels.View{v}, In: []kernels.View{v, v}}
		var err error
		seconds, err = measure(be, call, a, budget, slices.Min[[]float64])
		var full *kernels.OutOfMemory
		if errors.As(err, &full) && c.MatMul > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if r := rate(call.FLOPs(a), seconds); r > c.MatMul {
			c.MatMul, c.Square = r, n
		}
	}
	return nil
}

// measure times one call in memory of its own.
func measure(be kernels.Backend, c kernels.Call, a kernels.Args, budget float64, choose func([]float64) float64) (seconds float64, err error) {
	placed, arena, err := place(be, c, a)
	if arena != nil {
		defer func() { err = errors.Join(err, arena.Free()) }()
	}
	if err != nil {
		return 0, err
	}
	launch, err := be.Bind(c, placed)
	if err != nil {
		return 0, err
	}
	return timed(be, launch, budget, choose)
}
