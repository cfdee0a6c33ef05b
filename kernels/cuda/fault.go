//go:build gpu

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// faults is a table of 64-bit words on the device, one for each kind of bad index that the bound calls can meet: kernels set a word to the
// smallest index<<32 | value that is out of range. The table is fetched whenever the host waits.
type faults struct {
	mu    sync.Mutex // held by Bind and by the device's goroutine
	kinds map[faultKind]int
	order []faultKind

	table   cu.DevicePtr
	fetched []byte // page-locked
}

// faultKind is a message that is missing a value and an index.
type faultKind struct {
	kernel, what string // "embed", "token"
	limit        int
	rest         string // what follows the range
}

// notFinite is the kind of a logit that is NaN or infinite: the value is its id, the index its row.
var notFinite = faultKind{kernel: kernels.SampleTokens{}.Kernel(), what: "logit"}

func (k faultKind) error(value int32, index uint32) error {
	if k == notFinite {
		return kernels.NotFinite(int(value), int(index))
	}
	return fmt.Errorf("%s: %s %d at index %d is outside [0, %d)%s", k.kernel, k.what, value, index, k.limit, k.rest)
}

// mostFaults is the number of words.
const mostFaults = 1024

func (f *faults) start(stream cu.Stream) (err error) {
	f.kinds = map[faultKind]int{}
	if f.table, err = cu.MemAlloc(8 * mostFaults); err != nil {
		return fmt.Errorf("cuda: cuMemAlloc of the fault table: %w", err)
	}
	if f.fetched, err = hostAlloc(8 * mostFaults); err != nil {
		return err
	}
	return f.clear(stream)
}

func (f *faults) clear(stream cu.Stream) error {
	if err := cu.MemsetD8Async(f.table, 0xff, 8*mostFaults, stream); err != nil {
		return fmt.Errorf("cuda: cuMemsetD8Async of the fault table: %w", err)
	}
	return nil
}

// word is the address of a kind's word.
func (f *faults) word(k faultKind) (uintptr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.kinds[k]
	if !ok {
		if i = len(f.order); i == mostFaults {
			return 0, fmt.Errorf("cuda: more than %d kinds of range checks are bound", mostFaults)
		}
		f.kinds[k] = i
		f.order = append(f.order, k)
	}
	return uintptr(f.table) + uintptr(8*i), nil
}

// fetch starts to copy the table to the host. An error shows when the stream is waited for.
func (f *faults) fetch(stream cu.Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.order); n > 0 {
		_ = cu.MemcpyDtoHAsync(pointer(f.fetched), f.table, int64(8*n), stream)
	}
}

// report returns the faults of the fetched table as an error, and clears it for the next launches.
func (f *faults) report(stream cu.Stream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []error
	for i, k := range f.order {
		if w := binary.NativeEndian.Uint64(f.fetched[8*i:]); w != math.MaxUint64 {
			found = append(found, k.error(int32(uint32(w)), uint32(w>>32)))
		}
	}
	if found == nil {
		return nil
	}
	return errors.Join(append(found, f.clear(stream))...)
}
