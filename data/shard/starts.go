package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"github.com/edsrzf/mmap-go"
)

// A file of starts lies beside its shard, K.starts beside K.tokens, and says where its documents begin, all little-endian:
//
//	 0  magic "prenorms"
//	 8  uint32 version
//	12  uint32 CRC-32C of the shard's payload
//	16  uint64 number of the shard's ids
//	24  uint64 number of documents
//	32  uint32 CRC-32C of the starts
//	36  uint32 CRC-32C of the bytes before
//	40  uint64 for each document: the number of its first id, ascending from 0
const (
	startsMagic   = "prenorms"
	startsVersion = 1
	startsHeader  = 40
)

// Starts are where the documents of a shard begin: 8 bytes a document, read through a memory map. They are safe for concurrent use.
type Starts struct {
	mapped mapping
	count  int64
}

// StartsPath is the file of starts of the shard at path.
func StartsPath(path string) string { return strings.TrimSuffix(path, ".tokens") + ".starts" }

// CreateStarts writes the starts of a shard to its file. list calls add for each document, in order.
func CreateStarts(of *Reader, list func(add func(start int64) error) error) error {
	path := StartsPath(of.Name())
	d, err := newDraft(path)
	if err != nil {
		return err
	}
	defer d.abort()
	var sum uint32
	var count, last int64
	buffer := make([]byte, startsHeader, bufferSize+8)
	flush := func() error {
		_, err := d.Write(buffer)
		buffer = buffer[:0]
		return err
	}
	err = list(func(start int64) error {
		if count == 0 && start != 0 || count > 0 && start <= last || start >= of.Len() {
			return fmt.Errorf("document %d cannot begin at id %d of %d behind id %d", count, start, of.Len(), last)
		}
		last = start
		count++
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(start))
		sum = crc32.Update(sum, castagnoli, buffer[len(buffer)-8:])
		if len(buffer) >= bufferSize {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = d.WriteAt(startsHead(of, count, sum), 0)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return d.commit()
}

func startsHead(of *Reader, count int64, sum uint32) []byte {
	le := binary.LittleEndian
	b := make([]byte, startsHeader)
	copy(b, startsMagic)
	le.PutUint32(b[8:], startsVersion)
	le.PutUint32(b[12:], of.head.payload)
	le.PutUint64(b[16:], of.head.count)
	le.PutUint64(b[24:], uint64(count))
	le.PutUint32(b[32:], sum)
	le.PutUint32(b[36:], crc32.Checksum(b[:36], castagnoli))
	return b
}

// OpenStarts maps the starts of a shard into memory and checks all of them.
func OpenStarts(of *Reader) (*Starts, error) {
	path := StartsPath(of.Name())
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("starts of documents: %w", err)
	}
	defer f.Close() // the map outlives the file handle
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("starts of documents: %w", err)
	}
	if size := info.Size(); !info.Mode().IsRegular() || size < startsHeader || (size-startsHeader)%8 != 0 || int64(int(size)) != size {
		return nil, fmt.Errorf("%s: %v of %d bytes cannot be starts of documents: %s", path, info.Mode(), size, remedy)
	}
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: mapping %d bytes into memory: %w", path, info.Size(), err)
	}
	s := &Starts{count: (info.Size() - startsHeader) / 8}
	if err := s.verify(of, mapped); err != nil {
		mapped.Unmap()
		return nil, fmt.Errorf("%s: %w: %s", path, err, remedy)
	}
	s.mapped = mapping{name: path, bytes: mapped[startsHeader:], mapped: mapped}
	return s, nil
}

// verify checks all bytes of the file.
func (s *Starts) verify(of *Reader, file []byte) error {
	starts := file[startsHeader:]
	want := startsHead(of, s.count, crc32.Checksum(starts, castagnoli))
	if string(want) != string(file[:startsHeader]) {
		return errors.New("the header is not that of these starts and this shard")
	}
	last := int64(-1)
	for at := 0; at < len(starts); at += 8 {
		start := int64(binary.LittleEndian.Uint64(starts[at:]))
		if at == 0 && start != 0 || start <= last || start >= of.Len() {
			return fmt.Errorf("byte %d: document %d begins at id %d of %d", startsHeader+at, at/8, start, of.Len())
		}
		last = start
	}
	return nil
}

// Len is the number of documents.
func (s *Starts) Len() int64 { return s.count }

// Read fills dst with the starts from document number off on. It is an error, and dst is left as it was, if they are not all there.
func (s *Starts) Read(dst []int64, off int64) error {
	m := &s.mapped
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	if m.bytes == nil {
		return fmt.Errorf("%s: it is closed", m.name)
	}
	if off < 0 || off > s.count || int64(len(dst)) > s.count-off {
		return fmt.Errorf("%s: %d documents from number %d on are not all among its %d", m.name, len(dst), off, s.count)
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(m.bytes[8*(off+int64(i)):]))
	}
	return nil
}

// Close unmaps the file. Reading afterwards is an error. Closing twice is none.
func (s *Starts) Close() error { return s.mapped.close() }
