// Package ref defines every kernel of package kernels in plain loops, for float32 and float64: what a call means is what its function
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
	"unsafe"

	"prenorm/kernels"
)

func init() {
	kernels.Register("ref", func(kernels.Options) (kernels.Backend, error) { return New(), nil })
}

// Backend runs the reference kernels in the calling goroutine, on host memory.
type Backend struct{}

// New returns the reference backend. It holds nothing, so closing it is a formality.
func New() *Backend { return &Backend{} }

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
	if err := aliasing(c, a); err != nil {
		return nil, err
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
	if workspace > 0 && start(a.Work)%8 != 0 {
		return fmt.Errorf("%s: the workspace must be aligned to 8 bytes", c.Kernel())
	}
	return nil
}

// aliasing wants no written view to share memory with any other view, except a whole output with the very input that the call may
// update in place.
func aliasing(c kernels.Call, a kernels.Args) error {
	written := slices.Concat(a.Out, a.Aux, []kernels.View{a.Work})
	for i, w := range written {
		for j, in := range slices.Concat(a.In, a.Saved) {
			if overlap(w, in) && !(i < len(a.Out) && start(w) == start(in) && mayShare(c, i, j)) {
				return fmt.Errorf("%s: written view %d %v shares memory with input %d %v, which this call does not allow", c.Kernel(), i, w, j, in)
			}
		}
		for j, other := range written[:i] {
			if overlap(w, other) {
				return fmt.Errorf("%s: written views %d %v and %d %v share memory", c.Kernel(), j, other, i, w)
			}
		}
	}
	return nil
}

// mayShare says whether output i of a call may be the memory of input j.
func mayShare(c kernels.Call, i, j int) bool {
	switch c := c.(type) {
	case kernels.InPlacer:
		return i == 0 && slices.Contains(c.InPlace(), j)
	case kernels.AdamW, kernels.SGD, kernels.Fill:
		return i == j
	}
	return false
}

func start(v kernels.View) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(v.Host))) }

// overlap says whether two views have a byte in common.
func overlap(v, w kernels.View) bool {
	return len(v.Host) > 0 && len(w.Host) > 0 && v.Len() > 0 && w.Len() > 0 &&
		start(v) < start(w)+uintptr(w.Bytes()) && start(w) < start(v)+uintptr(v.Bytes())
}
