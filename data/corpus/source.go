package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"prenorm/data"
)

// chunk is a document as it comes out of a file, or a stretch of one that is longer than most.
type chunk struct {
	name      string // where the document is
	text      []byte // belongs to whoever gets it; only a document that has no text has none here
	continues bool   // it goes on where the chunk before ended
	more      bool   // the next chunk goes on where it ends
}

// most is how much text of a document is held; a longer one comes in stretches of about so many bytes. maxRow is the most that a line of
// JSON or a row of a table may take, and maxWindow what a zstd frame may look back; [maxPage] is for Parquet. Tests make most and maxRow
// smaller.
var (
	most   = 4 << 20
	maxRow = 64 << 20
)

const maxWindow = 128 << 20

// reading is how the files of a corpus are read.
type reading struct {
	policy
	field []string     // where a row's text is
	dir   string       // where what has to be kept on disk for a while is kept
	stop  func() error // asked between blocks; not nil
	count func(n int)  // told of bytes of files that were read; not nil
}

// source is an open file.
type source interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// memory is a source in memory, or on disk where another closes it.
type memory struct {
	*io.SectionReader
}

func (memory) Close() error { return nil }

// open opens a file.
func (f File) open() (source, error) {
	switch {
	case f.Path != "":
		file, err := os.Open(f.Path)
		if err != nil {
			return nil, fmt.Errorf("reading text: %w", err)
		}
		return file, nil
	case f.spool != nil:
		return memory{io.NewSectionReader(f.spool, 0, f.Size)}, nil
	}
	return memory{io.NewSectionReader(bytes.NewReader(f.text), 0, f.Size)}, nil
}

// stopError is an error of reading.stop on its way through decompression.
type stopError struct{ error }

func (e *stopError) Unwrap() error { return e.error }

// countedReader counts what is read and asks whether to stop.
type countedReader struct {
	io.Reader
	*reading
}

func (c countedReader) Read(p []byte) (int, error) {
	if err := c.stop(); err != nil {
		return 0, &stopError{err}
	}
	n, err := c.Reader.Read(p)
	c.count(n)
	return n, err
}

// member is a file as its format sees it, or a member of an archive.
type member struct {
	name   string
	format data.Format
	in     io.Reader
	size   int64  // bytes of in, -1 where that is not known
	at     source // the whole of in, where it is a file by itself; else nil
}

// file hands the documents of a file to emit, in order.
func (r *reading) file(f File, emit func(chunk) error) error {
	src, err := f.open()
	if err != nil {
		return err
	}
	defer src.Close()
	left := f.Size
	counting := *r
	counting.count = func(n int) {
		left -= int64(n)
		r.count(n)
	}
	m := member{name: f.Name, format: f.Format, in: countedReader{src, &counting}, size: f.Size, at: src}
	err = r.unpack(m, func(m member) error {
		if m.format.Kind == "tar" {
			return counting.archive(m, emit)
		}
		return counting.documents(m, emit)
	})
	if err == nil || errors.Is(err, errEnough) {
		r.count(int(max(left, 0))) // other columns, what follows the end of an archive, or what nobody wants
	}
	return err
}

// unpack hands on a member without its compression.
func (r *reading) unpack(m member, use func(member) error) error {
	var err error
	switch m.format.Packing {
	case "":
		return use(m)
	case "gzip":
		var z *gzip.Reader
		if z, err = gzip.NewReader(m.in); err == nil {
			defer z.Close()
			m.in = z
		}
	case "zstd":
		// One decoder at a time and no read-ahead: documents are encoded meanwhile, and the window is all that it holds.
		var z *zstd.Decoder
		if z, err = zstd.NewReader(m.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			defer z.Close()
			m.in = z
		}
	}
	if err != nil {
		return damaged(m, err)
	}
	m.in = &packedReader{Reader: m.in, m: m}
	m.size, m.at = -1, nil
	return use(m)
}

// packedReader says of an error which file was being unpacked.
type packedReader struct {
	io.Reader
	m    member
	some bool // of the file could be unpacked
}

func (p *packedReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.some = p.some || n > 0
	switch {
	case err == nil || err == io.EOF:
	case p.some && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch)):
		err = fmt.Errorf("%s: something that is no %s data follows what was unpacked: cut it off, or pack the file again", p.m.name, p.m.format.Packing)
	default:
		err = damaged(p.m, err)
	}
	return n, err
}

// damaged explains an error of decompression.
func damaged(m member, err error) error {
	var stopped *stopError
	switch {
	case errors.As(err, &stopped):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%s: it was packed with a zstd window of more than %d MiB, the most that is held in memory: pack it without --ultra and --long", m.name, maxWindow>>20)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the %s data ends too early: the file is cut off, or something short stands behind its end; fetch or pack it again", m.name, m.format.Packing)
	}
	return fmt.Errorf("%s: it cannot be unpacked: %w: the file is damaged or is no %s file; fetch or pack it again", m.name, err, m.format.Packing)
}

// documents reads a member by its kind.
func (r *reading) documents(m member, emit func(chunk) error) error {
	switch m.format.Kind {
	case "jsonl":
		return r.jsonl(m, emit)
	case "csv":
		return r.table(m, ',', emit)
	case "tsv":
		return r.table(m, '\t', emit)
	case "parquet":
		return r.parquet(m, emit)
	}
	return r.text(m, emit)
}

// row hands on the text of a row.
func (r *reading) row(name string, raw []byte, emit func(chunk) error) error {
	if len(raw) == 0 {
		return nil
	}
	c := cleaner{policy: r.policy, name: name}
	text, _, err := c.clean(make([]byte, 0, len(raw)), raw, true)
	if err != nil || len(text) == 0 {
		return err
	}
	return emit(chunk{name: name, text: text})
}

// tooLong is the error of a row that is longer than memory is given for.
func tooLong(where, what string) error {
	return fmt.Errorf("%s: %s takes more than %d MiB, the most that is held in memory: divide it, or leave the file out", where, what, maxRow>>20)
}
