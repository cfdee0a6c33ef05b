//go:build gpu

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// faults is a table of 64-bit words on the device, one for each kind of bad index that the bound calls can meet: kernels set a word to the
// smallest index<<32 | value that is out of range. The table is fetched whenever the host waits. It belongs to the device's goroutine.
type faults struct {
	words map[faultKind]uintptr // addresses
	order []faultKind
	pages []faultPage // full, but for the last
}

// faultPage is a part of the table: bound calls hold addresses of words, so a table that is full does not move but goes on elsewhere.
type faultPage struct {
	table   cu.DevicePtr
	fetched []byte // page-locked
}

// pageFaults is the number of words of a page.
const pageFaults = 1024

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

// start makes the first page.
func (f *faults) start(stream cu.Stream) error {
	f.words = map[faultKind]uintptr{}
	return f.grow(stream)
}

func (f *faults) grow(stream cu.Stream) (err error) {
	var p faultPage
	if p.table, err = cu.MemAlloc(8 * pageFaults); err != nil {
		return fmt.Errorf("cuda: cuMemAlloc of the fault table: %w%s", err, remedy(err))
	}
	if p.fetched, err = hostAlloc(8 * pageFaults); err != nil {
		return err
	}
	f.pages = append(f.pages, p)
	return p.clear(stream)
}

func (p *faultPage) clear(stream cu.Stream) error {
	if err := cu.MemsetD8Async(p.table, 0xff, 8*pageFaults, stream); err != nil {
		return fmt.Errorf("cuda: cuMemsetD8Async of the fault table: %w", err)
	}
	return nil
}

// word is the address of a kind's word.
func (f *faults) word(k faultKind, stream cu.Stream) (uintptr, error) {
	if at, ok := f.words[k]; ok {
		return at, nil
	}
	i := len(f.order)
	if i == len(f.pages)*pageFaults {
		if err := f.grow(stream); err != nil {
			return 0, err
		}
	}
	at := uintptr(f.pages[i/pageFaults].table) + uintptr(8*(i%pageFaults))
	f.words[k] = at
	f.order = append(f.order, k)
	return at, nil
}

// kinds are those of page i.
func (f *faults) kinds(i int) []faultKind {
	return f.order[i*pageFaults : min((i+1)*pageFaults, len(f.order))]
}

// fetch starts to copy the table to the host.
func (f *faults) fetch(stream cu.Stream) error {
	for i, p := range f.pages {
		bytes := int64(8 * len(f.kinds(i)))
		if bytes == 0 {
			continue
		}
		if err := cu.MemcpyDtoHAsync(pointer(p.fetched), p.table, bytes, stream); err != nil {
			return fmt.Errorf("cuda: cuMemcpyDtoHAsync of %d bytes of the fault table: %w: whether an index was out of range is not known", bytes, err)
		}
	}
	return nil
}

// report returns the faults of the fetched table as an error, and clears it for the next launches.
func (f *faults) report(stream cu.Stream) error {
	var found []error
	for i, p := range f.pages {
		before := len(found)
		for j, k := range f.kinds(i) {
			if w := binary.NativeEndian.Uint64(p.fetched[8*j:]); w != math.MaxUint64 {
				found = append(found, k.error(int32(uint32(w)), uint32(w>>32)))
			}
		}
		if len(found) > before {
			found = append(found, p.clear(stream))
		}
	}
	return errors.Join(found...)
}
