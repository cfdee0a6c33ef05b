// Package cpu is the fast host backend: every call of package kernels in float32, over a pool of workers.
//
// Results do not depend on the number of workers. Work is cut into tasks by shapes alone (rows of dot products by the workers too, as
// each is a sum of its own), each element is written by one task, and sums over rows run in fixed blocks whose partial sums are added in a
// fixed order. Nor do they depend on where the arena lies.
//
// Inner loops exist on several tiers: assembly with AVX-512 or AVX2 and FMA (amd64; written by the generator in gen) and portable Go. The best
// one that the machine has is taken, unless the environment variable PRENORM_CPU names another: avx512, avx2 or go. Products have the same
// bits on both vector tiers; the portable tier works in the same order, but rounds each product before adding it where the compiler does not
// fuse the two.
//
// One file holds one family of calls; its init function enters a plan and a binder for each call into a table. The plan reads shapes and
// says what workspace is wanted, the binder takes that workspace and prepares the loops, and a launch only runs them: it allocates nothing.
//
// The backend computes in float32 only, and knows bfloat16 to convert it and to read keys and values; the ref backend serves float64.
package cpu

import (
	"fmt"
	"runtime"

	"prenorm/kernels"
)

func init() {
	kernels.Register("cpu", func(o kernels.Options) (kernels.Backend, error) {
		if o.Workers < 0 {
			return nil, fmt.Errorf("cpu: %d workers: the number must not be negative (0 takes GOMAXPROCS)", o.Workers)
		}
		if p := o.Precision; p != "" && p != kernels.PrecisionFP32 {
			return nil, fmt.Errorf("cpu: precision %s: the CPU computes in fp32 alone (take precision fp32, or device cuda)", p)
		}
		if _, err := startTier(); err != nil {
			return nil, err
		}
		return New(o.Workers), nil
	})
}

// Backend implements [kernels.Backend] on the host. Several programs may launch at the same time.
type Backend struct {
	pool     *pool
	tier     *tier
	farBytes int // see the constant
}

// New starts a backend with the given number of workers, the caller of a launch being one of them; 0 takes GOMAXPROCS. A tier in the
// environment that this machine lacks counts as none; [kernels.Open] reports it.
func New(workers int) *Backend {
	t, err := startTier()
	if err != nil {
		t = tiers()[0]
	}
	return newBackend(workers, t)
}

func newBackend(workers int, t *tier) *Backend {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return &Backend{pool: newPool(workers), tier: t, farBytes: farBytes}
}

// Name implements [kernels.Backend].
func (b *Backend) Name() string { return "cpu" }

// NewArena implements [kernels.Backend].
func (b *Backend) NewArena(bytes int) (kernels.Arena, error) {
	a, err := kernels.NewHostArena(bytes)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Upload implements [kernels.Backend].
func (b *Backend) Upload(dst kernels.View, src any) error { return kernels.HostUpload(dst, src) }

// Download implements [kernels.Backend].
func (b *Backend) Download(dst any, src kernels.View) error { return kernels.HostDownload(dst, src) }

// Sync implements [kernels.Backend]: a launch has finished when it returns.
func (b *Backend) Sync() error { return nil }

// Close stops the workers. It must not be called during a launch.
func (b *Backend) Close() error {
	b.pool.close()
	return nil
}

// Workspace implements [kernels.Backend]. The size depends on shapes alone, not on the number of workers.
func (b *Backend) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	e, err := lookup(c, a)
	if err != nil {
		return 0, err
	}
	s := &scratch{tier: b.tier, workers: b.workers()}
	if _, err := e.plan(c, a, s); err != nil {
		return 0, fmt.Errorf("cpu: %w", err)
	}
	return s.bytes(), nil
}

// Bind implements [kernels.Backend].
func (b *Backend) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	e, p, err := b.prepare(c, a)
	if err != nil {
		return nil, err
	}
	return e.bind(b, c, a, p), nil
}

// prepare checks a call and its memory and plans it in its workspace.
func (b *Backend) prepare(c kernels.Call, a kernels.Args) (e entry, plan any, err error) {
	if e, err = lookup(c, a); err != nil {
		return e, nil, err
	}
	if err := checkMemory(c, a); err != nil {
		return e, nil, err
	}
	need, err := b.Workspace(c, a)
	if err != nil {
		return e, nil, err
	}
	if len(a.Work.Host) < need {
		return e, nil, fmt.Errorf("cpu: %s: workspace of %d bytes, wants %d (ask Workspace)", c.Kernel(), len(a.Work.Host), need)
	}
	if plan, err = e.plan(c, a, &scratch{tier: b.tier, workers: b.workers(), mem: a.Work.Host}); err != nil {
		return e, nil, fmt.Errorf("cpu: %w", err)
	}
	return e, plan, nil
}
