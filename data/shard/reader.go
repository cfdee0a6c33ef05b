package shard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"github.com/edsrzf/mmap-go"
)

// Reader reads the ids of a shard. It is safe for concurrent use. The file must not be shortened or written to while it is open; files
// that [Create] replaces stay as they were for those who have them open.
type Reader struct {
	name   string
	head   header
	mutex  sync.RWMutex // held for writing by Close only
	ids    []byte       // the payload; nil once closed
	mapped mmap.MMap    // nil for a shard in memory
}

// remedy ends every message about a damaged file: shards are always made from text.
const remedy = "delete the file, it is made anew from the text"

// Open maps a shard into memory and checks all of it: header, size, checksums, and that every id lies inside the vocabulary.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token shard: %w", err)
	}
	defer f.Close() // the map outlives the file handle
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("token shard: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() < headerSize || int64(int(info.Size())) != info.Size() {
		return nil, fmt.Errorf("token shard %s: %v of %d bytes cannot be a shard: %s", path, info.Mode(), info.Size(), remedy)
	}
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("token shard %s: mapping %d bytes into memory: %w", path, info.Size(), err)
	}
	r, err := FromBytes(path, mapped)
	if err != nil {
		mapped.Unmap()
		return nil, err
	}
	r.mapped = mapped
	return r, nil
}

// FromBytes reads a shard that is already in memory, with the checks of [Open]. name stands for it in messages. data must not change.
func FromBytes(name string, data []byte) (*Reader, error) {
	h, err := parse(data, int64(len(data)))
	if err == nil {
		err = verify(h, data[headerSize:])
	}
	if err != nil {
		return nil, fmt.Errorf("token shard %s: %w: %s", name, err, remedy)
	}
	return &Reader{name: name, head: h, ids: data[headerSize:]}, nil
}

// verifyBlock is how much of a payload is checked at a time, so that both checks of a block find it in the cache.
const verifyBlock = 1 << 16

// verify checks the payload's checksum and ids.
func verify(h header, payload []byte) error {
	var sum uint32
	var bad error
	for at := 0; at < len(payload); at += verifyBlock {
		block := payload[at:min(at+verifyBlock, len(payload))]
		sum = crc32.Update(sum, castagnoli, block)
		if bad == nil {
			bad = verifyIDs(h, block, at)
		}
	}
	if sum != h.payload {
		return fmt.Errorf("byte %d: the ids' checksum is %08x, their bytes give %08x", headerSize, h.payload, sum)
	}
	return bad
}

// verifyIDs checks the ids of one block, which starts at a byte of the payload.
func verifyIDs(h header, block []byte, at int) error {
	width := h.width()
	for i := 0; i+width <= len(block); i += width {
		if id := load(block[i:], width); id >= uint32(h.Vocab) {
			return fmt.Errorf("byte %d: id %d is outside the vocabulary of %d ids", headerSize+at+i, id, h.Vocab)
		}
	}
	return nil
}

func load(b []byte, width int) uint32 {
	if width == 2 {
		return uint32(binary.LittleEndian.Uint16(b))
	}
	return binary.LittleEndian.Uint32(b)
}

// Meta says what the ids are.
func (r *Reader) Meta() Meta { return r.head.Meta }

// Name is the path that the shard was opened by.
func (r *Reader) Name() string { return r.name }

// Len is the number of ids.
func (r *Reader) Len() int64 { return int64(r.head.count) }

// Read fills dst with the ids from number off on. It is an error, and dst is left as it was, if they are not all there.
func (r *Reader) Read(dst []int32, off int64) error {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	if r.ids == nil {
		return fmt.Errorf("token shard %s: it is closed", r.name)
	}
	if off < 0 || off > r.Len() || int64(len(dst)) > r.Len()-off {
		return fmt.Errorf("token shard %s: %d ids from number %d on are not all among its %d", r.name, len(dst), off, r.Len())
	}
	if width := int64(r.head.width()); width == 2 {
		src := r.ids[2*off:]
		for i := range dst {
			dst[i] = int32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	} else {
		src := r.ids[4*off:]
		for i := range dst {
			dst[i] = int32(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
	return nil
}

// Close unmaps the file. Reading afterwards is an error. Closing twice is none.
func (r *Reader) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.ids = nil
	if r.mapped == nil {
		return nil
	}
	if err := r.mapped.Unmap(); err != nil {
		return fmt.Errorf("token shard %s: %w", r.name, err)
	}
	return nil
}
