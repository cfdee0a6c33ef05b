// Package shard keeps token ids on disk: a header, then the ids, both under checksums, read window by window.
package shard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A shard file is a header of 128 bytes and the payload, all little-endian:
//
//	  0  magic "prenorm\x00"
//	  8  uint32 version
//	 12  uint32 width of an id in bytes: 2 where the vocabulary has at most 65536 ids, else 4
//	 16  uint64 number of ids
//	 24  uint32 size of the vocabulary; every id is smaller
//	 28  uint32 CRC-32C of the payload
//	 32  [32]   fingerprint of the tokenizer
//	 64  [32]   fingerprint of the documents
//	 96  [28]   zero
//	124  uint32 CRC-32C of the bytes before
//	128  the ids
//
// A CRC-32C finds every change of up to 32 neighbouring bits, and others with probability 1 - 2^-32.
const (
	magic      = "prenorm\x00"
	headerSize = 128
)

// Version is the number of the format; a change of it makes older files unreadable, so that they are made anew.
const Version = 1

// maxNarrow is the largest vocabulary whose ids are stored in 2 bytes.
const maxNarrow = 1 << 16

// MaxVocab is the largest vocabulary: ids are int32.
const MaxVocab = 1<<31 - 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Meta says what the ids of a shard are.
type Meta struct {
	Vocab     int      // size of the tokenizer's vocabulary
	Tokenizer [32]byte // fingerprint of the tokenizer
	Source    [32]byte // fingerprint of the documents
}

// header is the decoded header of a file.
type header struct {
	Meta
	count   uint64
	payload uint32 // checksum
}

// width is the number of bytes that an id takes in a shard.
func (m Meta) width() int {
	if m.Vocab <= maxNarrow {
		return 2
	}
	return 4
}

// IDBytes is the number of bytes that an id takes in a shard.
func (m Meta) IDBytes() int64 { return int64(m.width()) }

// check refuses a vocabulary that no shard can have.
func (m Meta) check() error {
	if m.Vocab < 1 || m.Vocab > MaxVocab {
		return fmt.Errorf("a vocabulary of %d ids is outside 1…%d", m.Vocab, MaxVocab)
	}
	return nil
}

func (h header) marshal() []byte {
	le := binary.LittleEndian
	b := make([]byte, headerSize)
	copy(b, magic)
	le.PutUint32(b[8:], Version)
	le.PutUint32(b[12:], uint32(h.width()))
	le.PutUint64(b[16:], h.count)
	le.PutUint32(b[24:], uint32(h.Vocab))
	le.PutUint32(b[28:], h.payload)
	copy(b[32:], h.Tokenizer[:])
	copy(b[64:], h.Source[:])
	le.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	return b
}

// parse decodes and checks the header of a file of size bytes.
func parse(b []byte, size int64) (header, error) {
	le := binary.LittleEndian
	if len(b) < headerSize {
		return header{}, fmt.Errorf("the file has %d bytes, the header alone has %d", len(b), headerSize)
	}
	if string(b[:8]) != magic {
		return header{}, fmt.Errorf("byte 0: it starts with % x, a token shard starts with % x", b[:8], magic)
	}
	if v := le.Uint32(b[8:]); v != Version {
		return header{}, fmt.Errorf("byte 8: format version %d, this program reads version %d", v, Version)
	}
	if stored, is := le.Uint32(b[124:]), crc32.Checksum(b[:124], castagnoli); stored != is {
		return header{}, fmt.Errorf("byte 124: the header's checksum is %08x, its bytes give %08x", stored, is)
	}
	h := header{count: le.Uint64(b[16:]), payload: le.Uint32(b[28:])}
	h.Vocab = int(le.Uint32(b[24:]))
	copy(h.Tokenizer[:], b[32:])
	copy(h.Source[:], b[64:])
	if err := h.check(); err != nil {
		return header{}, fmt.Errorf("byte 24: %w", err)
	}
	width := h.width()
	if w := le.Uint32(b[12:]); w != uint32(width) {
		return header{}, fmt.Errorf("byte 12: ids of %d bytes, a vocabulary of %d has ids of %d", w, h.Vocab, width)
	}
	if have := size - headerSize; have%int64(width) != 0 || h.count != uint64(have/int64(width)) {
		return header{}, fmt.Errorf("byte 16: %d ids of %d bytes are announced, but %d bytes follow the header", h.count, width, have)
	}
	return h, nil
}
