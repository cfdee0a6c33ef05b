// Package kernels says what a kernel is: a named [Call] with its attributes, the [View]s that it reads and writes, and the [Backend]
// that turns both into a [Launch].
//
// The package knows neither Gorgonia nor any device. Package model/exec lowers a graph to calls and asks a backend to bind them;
// kernels/ref defines each call readably, kernels/cpu runs them fast, and kernels/kerneltest holds every backend against ref.
//
// Layout of every tensor is dense row-major. N stands for the rows of a flattened [B, T] batch (N = B*T), C for the width, D for the
// dimension of one head, H for query heads, KV for key and value heads, V for the vocabulary.
package kernels

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Call is a kernel's name and attributes. Concrete calls are the structs of calls.go; they are comparable values and hold
// nothing that changes from step to step: such values are read from input views.
type Call interface {
	// Kernel is the call's name, the same on every backend ("rmsnorm").
	Kernel() string
	// Infer returns the shapes and types of the outputs and of the saved statistics for the given inputs (views without memory
	// serve), or an error that names the broken rule.
	Infer(in []View) (out, aux []View, err error)
}

// Args are the views that a call reads and writes. Which view is which is in the doc comment of each call.
type Args struct {
	Out   []View // results; may be uninitialised memory, every element is written
	Aux   []View // statistics that a forward call saves for its backward call (may be empty: then they are not saved)
	In    []View // operands, never written, except where an Out view is allowed to be the same memory (see [InPlacer])
	Saved []View // Aux of the forward call, on a backward call; when empty the backward call recomputes them
	Work  View   // workspace of at least [Backend.Workspace] bytes, contents undefined
}

// Launch runs one bound kernel. It allocates nothing and, on a device backend, only enqueues. A launch of one program is never run
// twice at the same time.
type Launch func() error

// Arena is one block of a backend's memory, 64-byte aligned.
type Arena interface {
	// View returns a typed window that starts at the byte offset off (a multiple of the element size).
	View(off int, dtype DType, shape ...int) View
	// Bytes is the size that was asked for.
	Bytes() int
	// Free releases the memory. Views of the arena must not be used afterwards.
	Free() error
}

// Backend binds calls to views of its own memory.
type Backend interface {
	// Name is the registered name ("ref", "cpu", "cuda").
	Name() string
	// NewArena allocates zeroed memory.
	NewArena(bytes int) (Arena, error)
	// Workspace returns how many bytes of workspace the call wants for these shapes. It reads only shapes and types of the
	// views, so it serves a plan before anything is allocated. A call that the backend lacks, or cannot run at these shapes
	// and types, is an error that names it.
	Workspace(c Call, a Args) (int, error)
	// Bind checks shapes and types and returns the launch.
	Bind(c Call, a Args) (Launch, error)
	// Upload copies from a Go slice of the view's element type ([]float32, []float64, []int32, []uint16 for BF16, []int8). When it
	// returns, the slice has been read.
	Upload(dst View, src any) error
	// Download copies to a Go slice of the view's element type.
	Download(dst any, src View) error
	// Sync waits for every launch and copy.
	Sync() error
	// Close waits, then releases what the backend itself holds.
	Close() error
}

// InPlacer is implemented by calls whose Out[0] may be the very memory of one of the named inputs. On every other call, and for any
// partial overlap, outputs and inputs must not share memory.
type InPlacer interface {
	InPlace() []int
}

// Backward is implemented by gradient calls that read the statistics which their forward call saved.
type Backward interface {
	// Forward is that call, and how many of the gradient's inputs, from the first on, are its inputs.
	Forward() (c Call, inputs int)
}

// Coster is implemented by calls that do arithmetic worth counting.
type Coster interface {
	// FLOPs counts floating-point operations of matrix products and attention (a multiply-add is two), for the given shapes.
	FLOPs(a Args) int64
}

// FLOPs returns c's count, 0 for a call that is no [Coster].
func FLOPs(c Call, a Args) int64 {
	if k, ok := c.(Coster); ok {
		return k.FLOPs(a)
	}
	return 0
}

// Options are given to a backend when it is opened.
type Options struct {
	Workers int    // threads of a CPU backend, 0 = GOMAXPROCS; results do not depend on it
	MatMul  string // who multiplies matrices on a GPU: "auto" or "" (cuBLAS where it is found), "own" or "cublas"
	// Precision of programs, "" = [PrecisionFP32]. A backend that lacks it returns an error when it is opened.
	Precision Precision
}

var registry struct {
	sync.Mutex
	open map[string]func(Options) (Backend, error)
}

// Register makes a backend available to [Open]. It is called from init functions and panics when a name is taken.
func Register(name string, open func(Options) (Backend, error)) {
	registry.Lock()
	defer registry.Unlock()
	if registry.open == nil {
		registry.open = map[string]func(Options) (Backend, error){}
	}
	if _, taken := registry.open[name]; taken {
		panic("kernels: backend registered twice: " + name)
	}
	registry.open[name] = open
}

// Names lists the registered backends in alphabetical order.
func Names() []string {
	registry.Lock()
	defer registry.Unlock()
	names := make([]string, 0, len(registry.open))
	for n := range registry.open {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Open starts a registered backend.
func Open(name string, o Options) (Backend, error) {
	registry.Lock()
	open := registry.open[name]
	registry.Unlock()
	if open == nil {
		return nil, fmt.Errorf("kernels: no backend %q in this build (have %s)", name, strings.Join(Names(), ", "))
	}
	return open(o)
}
