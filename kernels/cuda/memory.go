//go:build gpu

package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// arena is one allocation of device memory, of exactly the bytes that were asked for.
type arena struct {
	backend *Backend
	at      cu.DevicePtr
	bytes   int
	freed   atomic.Bool
}

// NewArena implements [kernels.Backend].
func (b *Backend) NewArena(bytes int) (kernels.Arena, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("cuda: arena of %d bytes", bytes)
	}
	a := &arena{backend: b, bytes: bytes}
	if bytes == 0 {
		return a, nil
	}
	if err := b.device.do(a.allocate); err != nil {
		return nil, err
	}
	b.allocated.Add(int64(bytes))
	return a, nil
}

func (a *arena) allocate() (err error) {
	if a.at, err = cu.MemAlloc(int64(a.bytes)); err != nil {
		if err == cu.OutOfMemory {
			free, total, _ := cu.MemInfo()
			return fmt.Errorf("cuda: %w", &kernels.OutOfMemory{Device: a.backend.device.name, Wanted: int64(a.bytes), Held: a.backend.allocated.Load(), Free: free, Total: total, Precision: a.backend.precision})
		}
		return fmt.Errorf("cuda: cuMemAlloc of %d bytes: %w", a.bytes, err)
	}
	if err := cu.MemsetD8Async(a.at, 0, int64(a.bytes), a.backend.device.compute); err != nil {
		return fmt.Errorf("cuda: cuMemsetD8Async of %d bytes: %w", a.bytes, err)
	}
	return nil
}

// View implements [kernels.Arena].
func (a *arena) View(off int, dtype kernels.DType, shape ...int) kernels.View {
	return kernels.View{Shape: shape, DType: dtype, Dev: uintptr(a.at) + uintptr(off)}
}

// Bytes implements [kernels.Arena].
func (a *arena) Bytes() int { return a.bytes }

// Free implements [kernels.Arena]. The driver waits for the launches that use the memory.
func (a *arena) Free() error {
	if a.bytes == 0 || a.freed.Swap(true) {
		return nil
	}
	a.backend.allocated.Add(-int64(a.bytes))
	err := a.backend.device.do(func() error {
		if err := a.backend.device.compute.Synchronize(); err != nil {
			return a.backend.device.blame(err)
		}
		if err := cu.MemFree(a.at); err != nil {
			return fmt.Errorf("cuda: cuMemFree: %w", err)
		}
		return nil
	})
	if err == errClosed { // the memory went with the context
		return nil
	}
	return err
}

// transfer is a copy between host and device.
type transfer struct {
	dev  uintptr
	host []byte
	down bool
}

// Upload implements [kernels.Backend]: the copy comes after the launches before it and before those behind it. The slice may be changed as soon
// as Upload returns.
func (b *Backend) Upload(dst kernels.View, src any) error {
	host, err := hostBytes("upload", src, dst)
	if err != nil {
		return err
	}
	return b.device.ask(job{copy: transfer{dev: dst.Dev, host: host}})
}

// Download implements [kernels.Backend]. It waits for the launches before it and reports what they found wrong.
func (b *Backend) Download(dst any, src kernels.View) error {
	host, err := hostBytes("download", dst, src)
	if err != nil {
		return err
	}
	return b.device.ask(job{copy: transfer{dev: src.Dev, host: host, down: true}})
}

// hostBytes returns the memory of a slice that is to be copied to or from a view.
func hostBytes(what string, slice any, v kernels.View) ([]byte, error) {
	switch s := slice.(type) {
	case []float32:
		return raw(what, s, kernels.F32, v)
	case []float64:
		return raw(what, s, kernels.F64, v)
	case []int32:
		return raw(what, s, kernels.I32, v)
	case []int8:
		return raw(what, s, kernels.I8, v)
	case []uint16:
		return raw(what, s, kernels.BF16, v)
	}
	return nil, fmt.Errorf("cuda: %s between %v and %T", what, v, slice)
}

func raw[E any](what string, s []E, dtype kernels.DType, v kernels.View) ([]byte, error) {
	if v.DType != dtype {
		return nil, fmt.Errorf("cuda: %s between %v and %T", what, v, s)
	}
	if len(s) != v.Len() {
		return nil, fmt.Errorf("cuda: %s between %v and %d elements", what, v, len(s))
	}
	if len(s) == 0 {
		return nil, nil
	}
	if v.Dev == 0 {
		return nil, fmt.Errorf("cuda: %s: the view %v has no device memory", what, v)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), v.Bytes()), nil
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// transfer copies through the staging buffers, which take turns.
func (d *device) transfer(t transfer) error {
	if t.down {
		if err := d.download(t); err != nil {
			return err
		}
		return d.sync()
	}
	return d.upload(t)
}

// behind makes one stream wait for what another has been told so far.
func behind(waits, first cu.Stream, mark cu.Event) error {
	if err := mark.Record(first); err != nil {
		return fmt.Errorf("cuda: cuEventRecord: %w", err)
	}
	if err := waits.Wait(mark, 0); err != nil {
		return fmt.Errorf("cuda: cuStreamWaitEvent: %w", err)
	}
	return nil
}

func (d *device) upload(t transfer) error {
	if err := behind(d.copies, d.compute, d.computed); err != nil {
		return err
	}
	for at := 0; at < len(t.host); at += stagingBytes {
		s := &d.staging[d.next]
		d.next = 1 - d.next
		part := t.host[at:min(at+stagingBytes, len(t.host))]
		if err := s.used.Synchronize(); err != nil { // the copy that used the buffer before
			return d.blame(err)
		}
		copy(s.memory, part)
		if err := cu.MemcpyHtoDAsync(cu.DevicePtr(t.dev)+cu.DevicePtr(at), pointer(s.memory), int64(len(part)), d.copies); err != nil {
			return fmt.Errorf("cuda: cuMemcpyHtoDAsync of %d bytes: %w", len(part), err)
		}
		if err := s.used.Record(d.copies); err != nil {
			return fmt.Errorf("cuda: cuEventRecord: %w", err)
		}
	}
	return behind(d.compute, d.copies, d.copied)
}

func (d *device) download(t transfer) error {
	if err := behind(d.copies, d.compute, d.computed); err != nil {
		return err
	}
	for at := 0; at < len(t.host); at += len(d.staging) * stagingBytes {
		for i := range d.staging { // start both, then empty both
			if part := stagedPart(t.host, at, i); len(part) > 0 {
				if err := d.startDownload(t.dev+uintptr(at+i*stagingBytes), &d.staging[i], len(part)); err != nil {
					return err
				}
			}
		}
		for i := range d.staging {
			if part := stagedPart(t.host, at, i); len(part) > 0 {
				if err := d.staging[i].used.Synchronize(); err != nil {
					return d.blame(err)
				}
				copy(part, d.staging[i].memory)
			}
		}
	}
	return nil
}

// stagedPart is what buffer i holds of the host memory from at on.
func stagedPart(host []byte, at, i int) []byte {
	from := min(at+i*stagingBytes, len(host))
	return host[from:min(from+stagingBytes, len(host))]
}

func (d *device) startDownload(from uintptr, s *staging, bytes int) error {
	if err := s.used.Synchronize(); err != nil {
		return d.blame(err)
	}
	if err := cu.MemcpyDtoHAsync(pointer(s.memory), cu.DevicePtr(from), int64(bytes), d.copies); err != nil {
		return fmt.Errorf("cuda: cuMemcpyDtoHAsync of %d bytes: %w", bytes, err)
	}
	if err := s.used.Record(d.copies); err != nil {
		return fmt.Errorf("cuda: cuEventRecord: %w", err)
	}
	return nil
}
