package shard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"prenorm/data/regular"
)

// Reader reads the ids of a shard. It is safe for concurrent use. Files that [Create] replaces stay as they were for those who have them
// open. What else is done to a file while it is open, such as cutting it short, makes reading it an error: ids come by reads of their
// place, not through a memory map, where a missing page would end the process.
type Reader struct {
	name  string
	head  header
	mutex sync.RWMutex // held for writing by Close only
	file  io.ReaderAt  // the whole shard; nil once closed
	close func() error // of the file; nil for a shard in memory
	raw   sync.Pool    // of *[]byte, the bytes of ids on their way
}

// remedy ends every message about a damaged file: shards are always made from text.
const remedy = "delete the file, it is made anew from the text"

// Open opens a shard and checks all of it: header, size, checksums, and that every id lies inside the vocabulary.
func Open(path string) (*Reader, error) { return OpenUnless(path, func() error { return nil }) }

// OpenUnless is [Open] that asks stop again and again while it checks, and gives up with its error.
func OpenUnless(path string, stop func() error) (*Reader, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token shard: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%v cannot be a shard: %s", info.Mode(), remedy)
	}
	var r *Reader
	if err != nil {
		err = fmt.Errorf("token shard %s: %w", path, err)
	} else {
		r, err = open(path, f, info.Size(), stop)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = f.Close
	return r, nil
}

// FromBytes reads a shard that is already in memory, with the checks of [Open]. name stands for it in messages. data must not change.
func FromBytes(name string, data []byte) (*Reader, error) {
	return open(name, bytes.NewReader(data), int64(len(data)), func() error { return nil })
}

// open checks a shard of size bytes.
func open(name string, file io.ReaderAt, size int64, stop func() error) (*Reader, error) {
	start := make([]byte, max(0, min(headerSize, size)))
	_, err := io.ReadFull(io.NewSectionReader(file, 0, size), start)
	var h header
	if err == nil {
		h, err = parse(start, size)
	}
	if err == nil {
		err = verify(h, io.NewSectionReader(file, headerSize, size-headerSize), stop)
	}
	if stopped := stop(); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, fmt.Errorf("token shard %s: %w: %s", name, err, remedy)
	}
	return &Reader{name: name, head: h, file: file, raw: sync.Pool{New: func() any { return new([]byte) }}}, nil
}

// verifyBlock is how much of a payload is checked at a time, so that both checks of a block find it in the cache.
const verifyBlock = 1 << 16

// verify checks the payload's checksum and ids.
func verify(h header, payload *io.SectionReader, stop func() error) error {
	var sum uint32
	var bad error
	buffer := make([]byte, min(verifyBlock, payload.Size()))
	for at := int64(0); at < payload.Size(); at += verifyBlock {
		block := buffer[:min(verifyBlock, payload.Size()-at)]
		if _, err := io.ReadFull(payload, block); err != nil {
			return fmt.Errorf("byte %d: %w", headerSize+at, err)
		}
		if err := stop(); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, block)
		if bad == nil {
			bad = verifyIDs(h, block, headerSize+at)
		}
	}
	if sum != h.payload {
		return fmt.Errorf("byte %d: the ids' checksum is %08x, their bytes give %08x", headerSize, h.payload, sum)
	}
	return bad
}

// verifyIDs checks the ids of one block, which starts at a byte of the file.
func verifyIDs(h header, block []byte, at int64) error {
	width := h.width()
	for i := 0; i+width <= len(block); i += width {
		if id := load(block[i:], width); id >= uint32(h.Vocab) {
			return fmt.Errorf("byte %d: id %d is outside the vocabulary of %d ids", at+int64(i), id, h.Vocab)
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

// Read fills dst with the ids from number off on. It is an error where they are not all there, any more, or are none of the vocabulary; what
// dst holds is then undefined.
func (r *Reader) Read(dst []int32, off int64) error {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	if r.file == nil {
		return fmt.Errorf("token shard %s: it is closed", r.name)
	}
	if off < 0 || off > r.Len() || int64(len(dst)) > r.Len()-off {
		return fmt.Errorf("token shard %s: %d ids from number %d on are not all among its %d", r.name, len(dst), off, r.Len())
	}
	raw := r.raw.Get().(*[]byte)
	defer r.raw.Put(raw)
	width := r.head.width()
	at, size := headerSize+int64(width)*off, width*len(dst)
	if cap(*raw) < size {
		*raw = make([]byte, size)
	}
	src := (*raw)[:size]
	if n, err := r.file.ReadAt(src, at); n < size { // at the file's end io.EOF may come with all of it
		return fmt.Errorf("token shard %s: byte %d: %w: the file was cut short, or is out of reach, since it was opened: start again, and what is damaged is made anew from the text",
			r.name, at+int64(n), err)
	}
	if bad := unpack(dst, src, uint32(r.head.Vocab)); bad >= 0 {
		return fmt.Errorf("token shard %s: byte %d: id %d is outside the vocabulary of %d ids: the file was written to since it was opened: start again, and it is made anew from the text",
			r.name, at+int64(width*bad), load(src[width*bad:], width), r.head.Vocab)
	}
	return nil
}

// unpack decodes ids of len(src)/len(dst) bytes, and returns the place of the first that is not below vocab, or -1.
func unpack(dst []int32, src []byte, vocab uint32) (bad int) {
	bad = -1
	narrow := len(src) == 2*len(dst)
	for i := range dst {
		var id uint32
		if narrow {
			id = uint32(binary.LittleEndian.Uint16(src[2*i:]))
		} else {
			id = binary.LittleEndian.Uint32(src[4*i:])
		}
		if id >= vocab && bad < 0 {
			bad = i
		}
		dst[i] = int32(id)
	}
	return bad
}

// Close closes the file. Reading afterwards is an error. Closing twice is none.
func (r *Reader) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.file = nil
	if r.close == nil {
		return nil
	}
	err := r.close()
	if r.close = nil; err != nil {
		return fmt.Errorf("token shard %s: %w", r.name, err)
	}
	return nil
}
