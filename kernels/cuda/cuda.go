//go:build gpu

package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"prenorm/kernels"
)

func init() {
	kernels.Register("cuda", func(o kernels.Options) (kernels.Backend, error) {
		b, err := New(o)
		if err != nil {
			return nil, err
		}
		return b, nil
	})
}

// Backend implements [kernels.Backend] on one GPU.
type Backend struct {
	device    *device
	precision kernels.Precision
	allocated atomic.Int64
}

// New opens the first GPU. The error says what is missing where there is none. Of the options it reads MatMul and Precision.
func New(o kernels.Options) (*Backend, error) {
	precision, err := checkPrecision(o.Precision)
	if err != nil {
		return nil, err
	}
	d, err := open(o)
	if err != nil {
		return nil, err
	}
	return &Backend{device: d, precision: precision}, nil
}

// checkPrecision fills in and refuses a precision.
func checkPrecision(p kernels.Precision) (kernels.Precision, error) {
	p = cmp.Or(p, kernels.PrecisionFP32)
	if !slices.Contains(kernels.Precisions(), p) {
		return "", fmt.Errorf("cuda: precision %s: wants one of %v", p, kernels.Precisions())
	}
	return p, nil
}

// Precision implements [kernels.Mixed].
func (b *Backend) Precision() kernels.Precision { return b.precision }

// Name implements [kernels.Backend].
func (b *Backend) Name() string { return "cuda" }

// Device is the name of the GPU.
func (b *Backend) Device() string { return b.device.name }

// Allocated is the number of bytes that arenas hold at this time. The backend itself holds 8 KiB
// more for every 1024 kinds of range checks, and cuBLAS what it takes.
func (b *Backend) Allocated() int { return int(b.allocated.Load()) }

// Sync implements [kernels.Backend].
func (b *Backend) Sync() error { return b.device.do(b.device.sync) }

// Close implements [kernels.Backend]. It frees all arenas; closing twice is closing once.
func (b *Backend) Close() error { return b.device.close() }

// Time runs f and returns the seconds that the device takes from the launches before it to the end of those that f makes. It waits for them.
func (b *Backend) Time(f func() error) (seconds float64, err error) { return b.device.time(f) }

// Workspace implements [kernels.Backend].
func (b *Backend) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	e, err := lookup(c, a)
	if err != nil {
		return 0, err
	}
	s := newScratch(0)
	if _, err := e.plan(c, a, s); err != nil {
		return 0, fmt.Errorf("cuda: %w", err)
	}
	return s.bytes(), nil
}

// Bind implements [kernels.Backend].
func (b *Backend) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	need, err := b.Workspace(c, a)
	if err != nil {
		return nil, err
	}
	if err := checkMemory(c, a); err != nil {
		return nil, err
	}
	if have := a.Work.Bytes(); need > 0 && (have < need || a.Work.Dev == 0) {
		return nil, fmt.Errorf("cuda: %s: workspace of %d bytes, wants %d (ask Workspace)", c.Kernel(), have, need)
	}
	e := table[c.Kernel()]
	plan, err := e.plan(c, a, newScratch(a.Work.Dev))
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	p := &program{call: c, args: a}
	build := &builder{device: b.device, precision: b.precision, program: p}
	e.bind(build, c, a, plan)
	if build.err != nil {
		return nil, build.err
	}
	if len(p.launches) == 0 {
		return func() error { return nil }, nil
	}
	d := b.device
	return func() error {
		if d.closed.Load() {
			return errClosed
		}
		d.jobs <- job{program: p}
		return nil
	}, nil
}
