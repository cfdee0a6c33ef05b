// Package ref defines every kernel of package kernels in plain loops, for float32 and float64, and for BF16 by way of float32: what a call means is what its function
// here computes. Faster backends are held against it by kernels/kerneltest.
//
// Rules of the package: one op a file with its binding beside it; every intermediate value and every sum is a float64, summed in index
// order, and is rounded once, when it is stored in the view's type; statistics that a backward call may read (rstd, mean, log-sum-exp)
// are rounded to the view's type before anything uses them, so that a backward call gives the same bits whether it reads or recomputes
// them. There are no goroutines, and a launch allocates nothing.
package ref

import (
	"fmt"
	"maps"
	"slices"

	"prenorm/kernels"
)

func init() {
	kernels.Register("ref", func(o kernels.Options) (kernels.Backend, error) {
		b, err := Open(o)
		if err != nil {
			return nil, err
		}
		return b, nil
	})
}

// Backend runs the reference kernels in the calling goroutine, on host memory.
type Backend struct{ precision kernels.Precision }

// New returns the reference backend in float32 and float64. It holds nothing, so closing it is a formality.
func New() *Backend { return &Backend{kernels.PrecisionFP32} }

// Open returns the reference backend in a precision: fp32 or bf16.
func Open(o kernels.Options) (*Backend, error) {
	switch o.Precision {
	case "":
		return New(), nil
	case kernels.PrecisionFP32, kernels.PrecisionBF16:
		return &Backend{o.Precision}, nil
	}
	return nil, fmt.Errorf("ref: precision %s: wants fp32 or bf16", o.Precision)
}

// Precision implements [kernels.Mixed].
func (b *Backend) Precision() kernels.Precision { return b.precision }

// Name implements [kernels.Backend].
func (*Backend) Name() string { return "ref" }

// NewArena implements [kernels.Backend].
func (*Backend) NewArena(bytes int) (kernels.Arena, error) { return kernels.NewHostArena(bytes) }

// Upload implements [kernels.Backend].
func (*Backend) Upload(dst kernels.View, src any) error { return kernels.HostUpload(dst, src) }

// Download implements [kernels.Backend].
func (*Backend) Download(dst any, src kernels.View) error { return kernels.HostDownload(dst, src) }

// Sync implements [kernels.Backend]: a launch has finished when it returns.
func (*Backend) Sync() error { return nil }

// Close implements [kernels.Backend].
func (*Backend) Close() error { return nil }

// Kernels lists the names of the calls that are defined here, in alphabetical order.
func Kernels() []string { return slices.Sorted(maps.Keys(table)) }

// Workspace implements [kernels.Backend]. Only calls that need a row of float64 beside their views want any.
func (*Backend) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	k, err := lookup(c, a)
	if err != nil {
		return 0, err
	}
	return k.workspace(c, a), nil
}

// Bind implements [kernels.Backend].
func (*Backend) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	k, err := lookup(c, a)
	if err != nil {
		return nil, err
	}
	if err := memory(c, a, k.workspace(c, a)); err != nil {
		return nil, err
	}
	if err := kernels.CheckAliasing(c, a); err != nil {
		return nil, err
	}
	if kernels.Narrow(a) {
		return k.bindNarrow(c, a)
	}
	return k.bind(c, a)
}

// lookup finds the kernel of a call and checks the shapes and types of its views.
func lookup(c kernels.Call, a kernels.Args) (kernel, error) {
	k, ok := table[c.Kernel()]
	if !ok {
		return kernel{}, fmt.Errorf("ref has no kernel for %q", c.Kernel())
	}
	if err := kernels.Check(c, a); err != nil {
		return kernel{}, err
	}
	if kernels.Narrow(a) {
		return k, k.check(c, kernels.Widened(a))
	}
	return k, k.check(c, a)
}

// memory wants every view that has elements to have memory, and the workspace to be large enough.
func memory(c kernels.Call, a kernels.Args, workspace int) error {
	for _, group := range [][]kernels.View{a.Out, a.Aux, a.In, a.Saved} {
		for _, v := range group {
			if len(v.Host) < v.Bytes() {
				return fmt.Errorf("%s: view %v has %d bytes of host memory, needs %d", c.Kernel(), v, len(v.Host), v.Bytes())
			}
		}
	}
	if len(a.Work.Host) < workspace {
		return fmt.Errorf("%s: the workspace has %d bytes, needs %d (ask Workspace)", c.Kernel(), len(a.Work.Host), workspace)
	}
	if workspace > 0 && a.Work.Address()%8 != 0 {
		return fmt.Errorf("%s: the workspace must be aligned to 8 bytes", c.Kernel())
	}
	return nil
}
