package checkpoint

import (
	"fmt"
	"hash/crc32"
	"slices"

	"prenorm/train/safetensors"
)

// castagnoli is the polynomial of CRC-32C, for which processors have an instruction: the checksum of every tensor beside that of the whole
// file tells which of them was damaged, and costs next to nothing.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumTensors takes the checksums of tensors from the memory that is about to be written.
func sumTensors(list []safetensors.Tensor) []tensorEntry {
	var entries []tensorEntry
	for _, t := range list {
		entries = append(entries, tensorEntry{t.Name, int64(len(t.Data)), crcText(crc32.Checksum(t.Data, castagnoli))})
	}
	return entries
}

func crcText(sum uint32) string { return fmt.Sprintf("%08x", sum) }

// tensorCheck is an [io.Writer] that takes a file's bytes in order and holds each tensor's against its checksum.
type tensorCheck struct {
	entries []tensorEntry
	skip    int64 // bytes before the first tensor
	at      int   // the tensor that the next byte belongs to
	seen    int64 // its bytes so far
	sum     uint32
	damaged []string // names
}

func newTensorCheck(e fileEntry) *tensorCheck {
	c := &tensorCheck{entries: e.Tensors, skip: e.Size}
	for _, t := range e.Tensors {
		c.skip -= t.Size
	}
	return c
}

func (c *tensorCheck) Write(p []byte) (int, error) {
	n := len(p)
	head := min(c.skip, int64(len(p)))
	c.skip -= head
	p = p[head:]
	for len(p) > 0 && c.at < len(c.entries) {
		e := c.entries[c.at]
		part := min(e.Size-c.seen, int64(len(p)))
		c.sum = crc32.Update(c.sum, castagnoli, p[:part])
		c.seen += part
		p = p[part:]
		if c.seen == e.Size {
			if crcText(c.sum) != e.CRC32C {
				c.damaged = append(c.damaged, e.Name)
			}
			c.at, c.seen, c.sum = c.at+1, 0, 0
		}
	}
	return n, nil
}

// err says which tensors are damaged; whole says whether the file's own checksum is right.
func (c *tensorCheck) err(whole bool) error {
	switch {
	case whole && len(c.damaged) == 0:
		return nil
	case len(c.damaged) == 0:
		return errChecksum
	case whole:
		return fmt.Errorf("tensor %s does not have its checksum: it changed while it was being saved", someOf(c.damaged))
	}
	return fmt.Errorf("%w, in tensor %s", errChecksum, someOf(c.damaged))
}

// someOf names the first of several.
func someOf(names []string) string {
	if more := len(names) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", names[0], more)
	}
	return names[0]
}

// sameTensors wants a file to hold the tensors that the manifest names. Format 1 names none.
func sameTensors(e fileEntry, tensors []safetensors.Tensor) error {
	if len(e.Tensors) == 0 {
		return nil
	}
	if !slices.EqualFunc(e.Tensors, tensors, func(t tensorEntry, u safetensors.Tensor) bool {
		return t.Name == u.Name && t.Size == int64(len(u.Data))
	}) {
		return fmt.Errorf("holds other tensors than the manifest names")
	}
	return nil
}
