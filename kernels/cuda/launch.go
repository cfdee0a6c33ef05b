//go:build gpu

package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// module is the PTX of one family of kernels.
type module struct{ name, ptx string }

// function finds a kernel, loading its module first.
func (d *device) function(m *module, name string) (cu.Function, error) {
	key := m.name + "." + name
	if f, ok := d.functions[key]; ok {
		return f, nil
	}
	loaded, ok := d.modules[m]
	if !ok {
		var err error
		if loaded, err = cu.LoadData(m.ptx); err != nil {
			return cu.Function{}, fmt.Errorf("cuda: cuModuleLoadData of %s.ptx on %s: %w (the driver must know PTX 7.8, the GPU sm_80)", m.name, d.name, err)
		}
		d.modules[m] = loaded
	}
	f, err := loaded.Function(name)
	if err != nil {
		return cu.Function{}, fmt.Errorf("cuda: cuModuleGetFunction of %s in %s.ptx: %w", name, m.name, err)
	}
	d.functions[key] = f
	return f, nil
}

// kernelLaunch is one launch with its arguments, each in a slot of 64 bits, as cu reads 8 bytes of every argument; or one product of cuBLAS.
type kernelLaunch struct {
	name     string
	product  *request // nil = a kernel of ours
	function cu.Function
	grid     [3]int
	block    int
	shared   int // bytes of dynamic shared memory
	slots    []uint64
	pointers []unsafe.Pointer // to the slots
}

// program is what one bound call launches.
type program struct {
	call     kernels.Call
	args     kernels.Args
	launches []kernelLaunch
	current  int // index of the launch that is being enqueued
}

func (p *program) String() string {
	return fmt.Sprintf("kernel %s of %s %+v %v <- %v", p.launches[p.current].name, p.call.Kernel(), p.call, p.args.Out, p.args.In)
}

// launch enqueues a program. What goes wrong is kept for the next call that reports.
func (d *device) launch(p *program) {
	d.last = p
	for i := range p.launches {
		p.current = i
		l := &p.launches[i]
		err := d.enqueue(l)
		if err == nil && d.wait {
			err = d.compute.Synchronize()
		}
		if err != nil {
			if d.failed == nil {
				d.failed = fmt.Errorf("cuda: %w, at %v", err, p)
			}
			return
		}
	}
}

// enqueue enqueues one launch.
func (d *device) enqueue(l *kernelLaunch) error {
	if l.product != nil {
		return d.blas.gemm(l.product)
	}
	if err := l.function.Launch(l.grid[0], l.grid[1], l.grid[2], l.block, 1, 1, l.shared, d.compute, l.pointers); err != nil {
		return fmt.Errorf("cuLaunchKernel, grid %v, block %d, dynamic shared memory %d: %w", l.grid, l.block, l.shared, err)
	}
	return nil
}

// builder collects the launches of a call while it is bound, and keeps the first error.
type builder struct {
	device    *device
	precision kernels.Precision
	program   *program
	err       error
}

// launch adds a kernel with blocks of the given number of threads. A grid with no block adds nothing. Arguments are views and
// [kernels.View.Dev] addresses for pointers, int for int and long long, uint32, float32, float64 and uint64 for what they are.
func (b *builder) launch(m *module, name string, grid [3]int, block int, args ...any) {
	b.launchShared(m, name, grid, block, 0, args...)
}

// launchShared is launch for a kernel that wants dynamic shared memory.
func (b *builder) launchShared(m *module, name string, grid [3]int, block, shared int, args ...any) {
	if b.err != nil || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 {
		return
	}
	l := kernelLaunch{name: name, grid: grid, block: block, shared: shared, slots: make([]uint64, len(args)), pointers: make([]unsafe.Pointer, len(args))}
	for i, a := range args {
		l.slots[i] = slot(a)
		l.pointers[i] = unsafe.Pointer(&l.slots[i])
	}
	b.err = b.device.do(func() (err error) {
		if l.function, err = b.device.function(m, name); err == nil && shared > staticShared {
			err = allowShared(l.function, shared)
		}
		return err
	})
	b.program.launches = append(b.program.launches, l)
}

// staticShared is how much dynamic shared memory a block may have without asking.
const staticShared = 48 << 10

// slot is an argument in 64 bits; narrower ones lie in the low bytes.
func slot(a any) uint64 {
	switch a := a.(type) {
	case kernels.View:
		return uint64(a.Dev)
	case uintptr:
		return uint64(a)
	case int:
		return uint64(a)
	case uint32:
		return uint64(a)
	case uint64:
		return a
	case float32:
		return uint64(math.Float32bits(a))
	case float64:
		return math.Float64bits(a)
	}
	panic(fmt.Sprintf("cuda: a kernel argument of the type %T", a))
}

// threads is the block size of kernels that treat one element a thread, and elementBlocks the most blocks that they get: enough to fill any
// GPU many times over, few enough that each has work.
const (
	threads       = 256
	elementBlocks = 1 << 14
)

// elements adds a kernel that treats n elements, one a thread.
func (b *builder) elements(m *module, name string, n int, args ...any) {
	b.launch(m, name, [3]int{min(ceil(n, threads), elementBlocks), 1, 1}, threads, args...)
}

// rows adds a kernel of one dimension of blocks.
func (b *builder) rows(m *module, name string, blocks, block int, args ...any) {
	b.launch(m, name, [3]int{blocks, 1, 1}, block, args...)
}

func ceil(a, b int) int { return (a + b - 1) / b }
