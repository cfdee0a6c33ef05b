package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"prenorm/data/regular"
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

// Starts are where the documents of a shard begin: 8 bytes a document, read from their place in the file. They are safe for concurrent use.
type Starts struct {
	file  *os.File
	count int64
	of    int64 // ids of the shard
}

// StartsPath is the file of starts of the shard at path.
func StartsPath(path string) string { return strings.TrimSuffix(path, ".tokens") + ".starts" }

// CreateStarts writes the starts of a shard to its file. list calls add for each document, in order; an error of its own is returned as it is.
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
	failed := func(err error) error {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, err)
		}
		return err
	}
	flush := func() error {
		_, err := d.Write(buffer)
		buffer = buffer[:0]
		return failed(err)
	}
	err = list(func(start int64) error {
		if count == 0 && start != 0 || count > 0 && start <= last || start >= of.Len() {
			return failed(fmt.Errorf("document %d cannot begin at id %d of %d behind id %d", count, start, of.Len(), last))
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
		err = failed(err)
	}
	if err != nil {
		return err
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

// OpenStarts opens the starts of a shard and checks all of them.
func OpenStarts(of *Reader) (*Starts, error) {
	return OpenStartsUnless(of, func() error { return nil })
}

// OpenStartsUnless is [OpenStarts] that asks stop again and again while it checks, and gives up with its error.
func OpenStartsUnless(of *Reader, stop func() error) (*Starts, error) {
	path := StartsPath(of.Name())
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("starts of documents: %w", err)
	}
	s := &Starts{file: f, of: of.Len()}
	err = s.verify(of, stop)
	if stopped := stop(); stopped != nil {
		return nil, errors.Join(stopped, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starts of documents %s: %w: %s", path, err, remedy), f.Close())
	}
	return s, nil
}

// verify checks all bytes of the file.
func (s *Starts) verify(of *Reader, stop func() error) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if !info.Mode().IsRegular() || size < startsHeader || (size-startsHeader)%8 != 0 {
		return fmt.Errorf("%v of %d bytes cannot be starts of documents", info.Mode(), size)
	}
	s.count = (size - startsHeader) / 8
	head := make([]byte, startsHeader)
	if _, err := s.file.ReadAt(head, 0); err != nil {
		return err
	}
	var sum uint32
	last := int64(-1)
	block := make([]byte, verifyBlock)
	for at := int64(startsHeader); at < size; at += int64(len(block)) {
		block = block[:min(verifyBlock, size-at)]
		if _, err := s.file.ReadAt(block, at); err != nil {
			return err
		}
		if err := stop(); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, block)
		for i := 0; i < len(block); i += 8 {
			start := int64(binary.LittleEndian.Uint64(block[i:]))
			if last < 0 && start != 0 || start <= last || start >= s.of {
				return fmt.Errorf("byte %d: a document begins at id %d of %d behind id %d", at+int64(i), start, s.of, last)
			}
			last = start
		}
	}
	if string(head) != string(startsHead(of, s.count, sum)) {
		return errors.New("the header is not that of these starts and this shard")
	}
	return nil
}

// Len is the number of documents.
func (s *Starts) Len() int64 { return s.count }

// Read fills dst with the starts from document number off on, or returns an error if they are not all there.
func (s *Starts) Read(dst []int64, off int64) error {
	if off < 0 || off > s.count || int64(len(dst)) > s.count-off {
		return fmt.Errorf("%s: %d documents from number %d on are not all among its %d", s.file.Name(), len(dst), off, s.count)
	}
	raw := make([]byte, 8*len(dst))
	if n, err := s.file.ReadAt(raw, startsHeader+8*off); n < len(raw) { // at the file's end io.EOF may come with all of it
		return fmt.Errorf("starts of documents %s: byte %d: %w: the file was cut short, or is out of reach, since it was opened: start again, and it is made anew",
			s.file.Name(), startsHeader+8*off+int64(n), err)
	}
	for i := range dst {
		if dst[i] = int64(binary.LittleEndian.Uint64(raw[8*i:])); dst[i] < 0 || dst[i] >= s.of {
			return fmt.Errorf("%s: document %d begins at id %d of %d: the file was written to since it was opened: start again, and it is made anew",
				s.file.Name(), off+int64(i), dst[i], s.of)
		}
	}
	return nil
}

// Close closes the file. Reading afterwards is an error. Closing twice is none.
func (s *Starts) Close() error {
	if err := s.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("starts of documents: %w", err)
	}
	return nil
}
