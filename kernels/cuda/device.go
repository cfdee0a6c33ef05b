//go:build gpu

package cuda

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// device runs everything that CUDA does for a backend in one goroutine that is locked to its thread, as a context belongs to a thread.
type device struct {
	jobs   chan job
	ended  chan struct{}
	closed atomic.Bool

	calls sync.Mutex // one call that waits for its reply at a time
	reply chan error

	// What follows belongs to the goroutine.
	context   cu.CUContext
	name      string
	compute   cu.Stream // launches and what is set to zero
	copies    cu.Stream // uploads and downloads
	computed  cu.Event  // marks the end of the launches so far
	copied    cu.Event  // marks the end of an upload
	staging   [2]staging
	next      int // the staging buffer to use
	modules   map[*module]cu.Module
	functions map[string]cu.Function
	faults    faults
	marks     marks
	blas      blas
	last      *program // the last one launched
	failed    error    // what a launch returned, until a call reports it
	wait      bool     // PRENORM_CUDA_SYNC
}

// staging is one page-locked buffer and the event of the copy that uses it.
type staging struct {
	memory []byte
	used   cu.Event
}

// stagingBytes is the size of one staging buffer: large enough to hide the cost of starting a copy.
const stagingBytes = 1 << 20

// job is one thing to do: a program to launch, a mark to put, a copy, or a function. Copies and functions are answered.
type job struct {
	program *program
	mark    bool
	copy    transfer
	call    func() error
}

// queued is how many jobs may wait before a launch waits too.
const queued = 1024

// open starts the goroutine on the first GPU.
func open(o kernels.Options) (*device, error) {
	matmul, err := checkMatMul(o.MatMul)
	if err != nil {
		return nil, err
	}
	if err := available(); err != nil {
		return nil, err
	}
	d := &device{
		jobs: make(chan job, queued), ended: make(chan struct{}), reply: make(chan error),
		modules: map[*module]cu.Module{}, functions: map[string]cu.Function{}, blas: blas{use: matmul}, wait: os.Getenv("PRENORM_CUDA_SYNC") == "1",
	}
	started := make(chan error)
	go d.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return d, nil
}

func (d *device) run(started chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	defer close(d.ended)
	err := d.start()
	started <- err
	if err != nil {
		return
	}
	for !d.closed.Load() {
		switch j := <-d.jobs; {
		case j.program != nil:
			d.launch(j.program)
		case j.mark:
			d.marks.add(d.compute)
		case j.call != nil:
			d.reply <- j.call()
		default:
			d.reply <- d.transfer(j.copy)
		}
	}
}

// step is one call of the driver by name, for sequences that end at the first error.
type step struct {
	name string
	call func() error
}

func inOrder(steps []step) error {
	for _, s := range steps {
		if err := s.call(); err != nil {
			return fmt.Errorf("cuda: %s: %w%s", s.name, err, remedy(err))
		}
	}
	return nil
}

// remedy is what to do about an error of the driver that means a GPU that is taken, hidden or missing, in parentheses, or "".
func remedy(err error) string {
	switch {
	case errors.Is(err, cu.OutOfMemory):
		return " (the GPU has no room for this program, so how much is free is not known: nvidia-smi shows what else uses it; stop that, or name another GPU in CUDA_VISIBLE_DEVICES)"
	case errors.Is(err, cu.NoDevice), errors.Is(err, cu.InvalidDevice):
		return " (" + noGPU + ")"
	case errors.Is(err, cu.NotSupported):
		return " (the driver lacks this function or does not support it on this GPU: nvidia-smi names the driver; update it, or use the device cpu)"
	}
	return ""
}

// noGPU is what to do where the driver shows no GPU.
const noGPU = "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES, where it is set, must name one of them; or use the device cpu"

// start makes the context, the streams, the events and the staging buffers.
func (d *device) start() error {
	var gpu cu.Device
	err := inOrder([]step{
		{"cuDeviceGet", func() (err error) { gpu, err = cu.GetDevice(0); return }},
		{"cuDeviceGetName", func() (err error) { d.name, err = gpu.Name(); return }},
	})
	if err == nil {
		err = suitable(gpu, d.name)
	}
	if err != nil {
		return err
	}
	err = inOrder([]step{
		{"cuCtxCreate", func() (err error) { d.context, err = gpu.MakeContext(cu.SchedAuto); return }},
		{"cuStreamCreate", func() (err error) { d.compute, err = cu.MakeStream(cu.NonBlocking); return }},
		{"cuStreamCreate", func() (err error) { d.copies, err = cu.MakeStream(cu.NonBlocking); return }},
		{"cuEventCreate", func() (err error) { d.computed, err = cu.MakeEvent(cu.DisableTiming); return }},
		{"cuEventCreate", func() (err error) { d.copied, err = cu.MakeEvent(cu.DisableTiming); return }},
	})
	if err != nil {
		return err
	}
	for i := range d.staging {
		s := &d.staging[i]
		if s.memory, err = hostAlloc(stagingBytes); err != nil {
			return err
		}
		if s.used, err = cu.MakeEvent(cu.DisableTiming); err != nil {
			return fmt.Errorf("cuda: cuEventCreate: %w", err)
		}
	}
	return d.faults.start(d.compute)
}

// do runs f in the device's goroutine and returns what it returns.
func (d *device) do(f func() error) error { return d.ask(job{call: f}) }

func (d *device) ask(j job) error {
	d.calls.Lock()
	defer d.calls.Unlock()
	if d.closed.Load() {
		return errClosed
	}
	d.jobs <- j
	return <-d.reply
}

var errClosed = errors.New("cuda: the backend is closed")

// sync waits for all that was launched and copied, and returns what went wrong since it was called last.
func (d *device) sync() error {
	unfetched := d.faults.fetch(d.compute)
	err := d.compute.Synchronize()
	if err == nil {
		err = d.copies.Synchronize()
	}
	if err != nil {
		return d.blame(err)
	}
	err = errors.Join(d.failed, unfetched)
	if d.failed = nil; unfetched == nil {
		err = errors.Join(err, d.faults.report(d.compute))
	}
	return err
}

// time measures on the device what the launches of f take.
func (d *device) time(f func() error) (seconds float64, err error) {
	var start, end cu.Event
	err = d.do(func() error {
		return inOrder([]step{
			{"cuEventCreate", func() (err error) { start, err = cu.MakeEvent(cu.DefaultEvent); return }},
			{"cuEventCreate", func() (err error) { end, err = cu.MakeEvent(cu.DefaultEvent); return }},
			{"cuEventRecord", func() error { return start.Record(d.compute) }},
		})
	})
	if err != nil {
		return 0, err
	}
	failed := f()
	err = d.do(func() error {
		var milliseconds float64
		err := inOrder([]step{
			{"cuEventRecord", func() error { return end.Record(d.compute) }},
			{"cuEventSynchronize", end.Synchronize},
			{"cuEventElapsedTime", func() (err error) { milliseconds, err = start.Elapsed(end); return }},
			{"cuEventDestroy", func() error { return cu.DestroyEvent(&start) }},
			{"cuEventDestroy", func() error { return cu.DestroyEvent(&end) }},
		})
		seconds = milliseconds / 1000
		return err
	})
	return seconds, errors.Join(failed, err)
}

// blame names the launch behind an error that the device met some time after it was told to run. What a launch itself returned before comes
// first.
func (d *device) blame(err error) error {
	if failed := d.failed; failed != nil {
		d.failed = nil
		return failed
	}
	if d.last == nil {
		return fmt.Errorf("cuda: %w", err)
	}
	if d.wait {
		return fmt.Errorf("cuda: %v: %w", d.last, err)
	}
	return fmt.Errorf("cuda: %w, at %v or a launch before it (PRENORM_CUDA_SYNC=1 says which)", err, d.last)
}

// close waits, frees everything and ends the goroutine. Closing twice is closing once.
func (d *device) close() error {
	err := d.do(func() error {
		defer d.closed.Store(true)
		failed := d.sync()
		d.blas.close()
		for _, s := range d.staging {
			_ = cu.MemFreeHost(pointer(s.memory))
		}
		return errors.Join(failed, d.context.Destroy())
	})
	if err == errClosed {
		return nil
	}
	<-d.ended
	return err
}
