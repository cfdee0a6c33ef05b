package shard

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Token files of other programs, all little-endian:
//
//	nanogpt  the ids with 2 bytes each and nothing else: train.bin and val.bin of github.com/karpathy/nanoGPT
//	llm.c    256 int32, of which the first three are 20240520, the version 1 and the number of ids, then the ids with 2 bytes each; or 20240801,
//	         the version 7 and the number of ids, then the ids with 4 bytes each, as for Llama 3: the shards of github.com/karpathy/llm.c (dev/data)
const (
	NanoGPT = "nanogpt"
	LLMC    = "llm.c"

	llmcHeader = 256 * 4
)

// llmcForm is how a shard of llm.c begins, and the bytes of an id.
type llmcForm struct {
	magic, version uint32
	width          int64
}

var (
	llmcNarrow = llmcForm{20240520, 1, 2}
	llmcWide   = llmcForm{20240801, 7, 4}
)

// ForeignFormats are the names of the formats.
var ForeignFormats = []string{LLMC, NanoGPT}

// IsForeign says whether a file is taken for a token file of another program: its name ends in .bin.
func IsForeign(path string) bool { return strings.EqualFold(filepath.Ext(path), ".bin") }

// Foreign reads a token file of another program. It is for one goroutine.
type Foreign struct {
	file   *os.File
	start  int64 // byte of the first id
	width  int64 // bytes of an id
	count  int64
	buffer []byte
}

// OpenForeign opens a token file and tells its format by its first bytes. No file of the GPT-2 vocabulary can be taken for the other format:
// the magic number would be an id beyond it.
func OpenForeign(path string) (*Foreign, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	t := &Foreign{file: f}
	if err := t.head(); err != nil {
		return nil, errors.Join(fmt.Errorf("token file %s: %w", path, err), f.Close())
	}
	return t, nil
}

// head reads what the file says of itself.
func (t *Foreign) head() error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, llmcHeader)
	n, err := t.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	le := binary.LittleEndian
	size := info.Size()
	for _, form := range []llmcForm{llmcNarrow, llmcWide} {
		if n < 4 || le.Uint32(head) != form.magic {
			continue
		}
		if n < llmcHeader {
			return fmt.Errorf("the file has %d bytes, the header of llm.c alone has %d", n, llmcHeader)
		}
		if v := le.Uint32(head[4:]); v != form.version {
			return fmt.Errorf("byte 4: version %d of llm.c's shards with magic number %d, this program reads version %d", v, form.magic, form.version)
		}
		t.start, t.width = llmcHeader, form.width
		t.count = int64(int32(le.Uint32(head[8:])))
		if have := size - llmcHeader; t.count < 0 || have != t.width*t.count {
			return fmt.Errorf("byte 8: %d ids of %d bytes are announced, but %d bytes follow the header: the file is cut off or has something behind it", t.count, t.width, have)
		}
		return nil
	}
	t.width = 2
	if t.count = size / 2; size%2 != 0 {
		return fmt.Errorf("the file has %d bytes, an odd number, and ids have 2 each: it is cut off, or no file of uint16", size)
	}
	return nil
}

// Name is the path that the file was opened by.
func (t *Foreign) Name() string { return t.file.Name() }

// Len is the number of ids.
func (t *Foreign) Len() int64 { return t.count }

// Byte is where id number i stands in the file.
func (t *Foreign) Byte(i int64) int64 { return t.start + t.width*i }

// widthLooked is how many ids at the beginning [Foreign.CheckWidth] looks at, and widthLeast the least that it judges by.
const (
	widthLooked = 1 << 14
	widthLeast  = 32
)

// CheckWidth refuses a file whose ids have 4 bytes or 8, read as 2: every second id is then the upper half of one, which is 0 in a vocabulary of up
// to 65536 ids. llm.c's header says how wide ids are.
func (t *Foreign) CheckWidth(vocab int) error {
	if t.start > 0 || t.count < widthLeast || t.count%2 != 0 {
		return nil
	}
	ids := make([]int32, min(t.count, widthLooked))
	if err := t.Read(ids, 0); err != nil {
		return err
	}
	some := false // of the lower halves is not 0
	for i, id := range ids {
		if i%2 == 0 {
			some = some || id != 0
		} else if int(id) > max(vocab-1, 0)>>16 {
			return nil
		}
	}
	if !some {
		return nil
	}
	return fmt.Errorf("token file %s: every second id is 0 or nearly so, as where ids have 4 or 8 bytes, and 2 are read: write them with 2 (NumPy: ids.astype('uint16').tofile)", t.Name())
}

// Read fills dst with the ids from number off on, or returns an error if they are not all there.
func (t *Foreign) Read(dst []int32, off int64) error {
	if off < 0 || off > t.count || int64(len(dst)) > t.count-off {
		return fmt.Errorf("token file %s: %d ids from number %d on are not all among its %d", t.file.Name(), len(dst), off, t.count)
	}
	size := int(t.width) * len(dst)
	if cap(t.buffer) < size {
		t.buffer = make([]byte, size)
	}
	b := t.buffer[:size]
	if n, err := t.file.ReadAt(b, t.Byte(off)); n < len(b) { // at the file's end io.EOF may come with all of it
		return fmt.Errorf("token file %s: byte %d: %w: the file was cut short, or is out of reach, since it was opened: start again when nothing writes to it",
			t.file.Name(), t.Byte(off)+int64(n), err)
	}
	for i := range dst {
		if t.width == 2 {
			dst[i] = int32(binary.LittleEndian.Uint16(b[2*i:]))
			continue
		}
		id := binary.LittleEndian.Uint32(b[4*i:])
		if id > math.MaxInt32 {
			return fmt.Errorf("token file %s, byte %d: id %d, larger than any vocabulary's: the file is damaged", t.Name(), t.Byte(off+int64(i)), id)
		}
		dst[i] = int32(id)
	}
	return nil
}

// Close closes the file.
func (t *Foreign) Close() error { return t.file.Close() }

// WriteForeign writes the ids of a shard as a token file of another program, all or nothing; of llm.c's forms the one with 4 bytes an id where the
// vocabulary needs it. It asks stop again and again, and gives up with its error.
func WriteForeign(path, format string, from *Reader, stop func() error) error {
	form := llmcNarrow
	if v := from.Meta().Vocab; v > maxNarrow {
		if form = llmcWide; format != LLMC {
			return fmt.Errorf("token file %s: ids have 2 bytes there, and a vocabulary of %d ids needs more: write the format %s, or take a tokenizer of at most %d ids, such as gpt2",
				path, v, LLMC, maxNarrow)
		}
	}
	if format == LLMC && from.Len() > math.MaxInt32 {
		return fmt.Errorf("token file %s: llm.c's header counts up to %d ids, there are %d: write the format %s", path, math.MaxInt32, from.Len(), NanoGPT)
	}
	d, err := newDraft(path)
	if err != nil {
		return err
	}
	defer d.abort()
	out := bufio.NewWriterSize(d, bufferSize)
	if format == LLMC {
		head := make([]byte, llmcHeader)
		for i, v := range []uint32{form.magic, form.version, uint32(from.Len())} {
			binary.LittleEndian.PutUint32(head[4*i:], v)
		}
		out.Write(head) // an error sticks until Flush
	}
	ids, one := make([]int32, 1<<14), make([]byte, 4)
	for at := int64(0); at < from.Len(); at += int64(len(ids)) {
		if err := stop(); err != nil {
			return err
		}
		ids = ids[:min(int64(len(ids)), from.Len()-at)]
		if err := from.Read(ids, at); err != nil {
			return err
		}
		for _, id := range ids {
			binary.LittleEndian.PutUint32(one, uint32(id))
			out.Write(one[:form.width])
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return d.commit()
}
