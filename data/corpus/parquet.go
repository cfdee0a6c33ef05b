package corpus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxFooter is the most bytes that the description of all columns may have.
const maxFooter = 64 << 20

// parquet reads a column of texts. Rows whose text is null or empty are no documents.
func (r *reading) parquet(m member, emit func(chunk) error) error {
	if m.at == nil {
		s, err := newSpool(r.dir, m.in)
		if err != nil {
			return spooled(m.name, r.dir, err)
		}
		defer s.Close()
		m.at, m.size = s, s.size
	}
	p := parquetReader{reading: r, name: m.name, at: m.at, size: m.size, emit: emit}
	defer p.unpackers.close()
	if err := guard(p.open); err != nil {
		return p.explain(err)
	}
	for group := range p.meta.RowGroups {
		if err := p.group(group); err != nil {
			return err
		}
	}
	return nil
}

// parquetReader reads one file.
type parquetReader struct {
	*reading
	name      string
	at        source
	size      int64
	meta      *format.FileMetaData
	plain     *parquet.File   // of the same columns without compression
	column    *parquet.Column // of texts, in it
	unpackers unpackers
	row       int // rows before
	emit      func(chunk) error
}

// ownError is an error that says all itself.
type ownError struct{ error }

// guard calls the library. It panics on some damaged files, where an error is due; no text of a user may end the program.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return call()
}

// explain names the file of an error.
func (p *parquetReader) explain(err error) error {
	var own ownError
	var stopped *stopError
	if errors.As(err, &own) || errors.As(err, &stopped) {
		return err
	}
	return fmt.Errorf("%s: after row %d: %w: the file is damaged or no Parquet file; fetch or write it again", p.name, p.row, err)
}

// open reads the description of the columns and finds that of the texts.
func (p *parquetReader) open() error {
	tail := make([]byte, 8)
	if _, err := p.at.ReadAt(tail, max(p.size-8, 0)); err != nil {
		return fmt.Errorf("the file has %d bytes and no end mark", p.size)
	}
	if footer := int64(binary.LittleEndian.Uint32(tail)); footer > min(p.size, maxFooter) {
		return fmt.Errorf("the description of the columns is said to have %d bytes, and a file of %d bytes can have %d", footer, p.size, min(p.size, maxFooter))
	}
	file, err := openParquet(p.at, p.size)
	if err != nil {
		return err
	}
	p.meta = file.Metadata()
	if p.plain, err = plainOf(p.meta); err != nil {
		return err
	}
	if p.column, err = p.find(p.plain.Root()); err != nil {
		return err
	}
	return p.check(p.column)
}

func openParquet(in io.ReaderAt, size int64) (*parquet.File, error) {
	return parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
}

// plainOf is a file of the same columns without compression, with one group of rows, whose pages are read from elsewhere.
func plainOf(of *format.FileMetaData) (*parquet.File, error) {
	m := format.FileMetaData{Version: of.Version, Schema: of.Schema}
	if len(of.RowGroups) > 0 {
		group := format.RowGroup{Columns: make([]format.ColumnChunk, len(of.RowGroups[0].Columns))}
		for i := range group.Columns {
			group.Columns[i].MetaData.TotalCompressedSize = math.MaxInt64
		}
		m.RowGroups = []format.RowGroup{group}
	}
	var protocol thrift.CompactProtocol
	columns, err := thrift.Marshal(&protocol, m)
	if err != nil {
		return nil, err
	}
	file := append([]byte("PAR1"), columns...)
	file = append(binary.LittleEndian.AppendUint32(file, uint32(len(columns))), "PAR1"...)
	return openParquet(bytes.NewReader(file), int64(len(file)))
}

// find finds the column of the field.
func (p *parquetReader) find(root *parquet.Column) (*parquet.Column, error) {
	if flat := root.Column(p.fieldName()); flat != nil { // a name with dots of its own
		return flat, nil
	}
	column := root
	for i, name := range p.field {
		inner := column.Column(name)
		if inner == nil {
			var have []string
			for _, c := range column.Columns() {
				have = append(have, c.Name())
			}
			return nil, ownError{noField(p.name, p.field[:i+1], have)}
		}
		column = inner
	}
	return column, nil
}

// check wants a column of single texts.
func (p *parquetReader) check(c *parquet.Column) error {
	what := ""
	switch {
	case !c.Leaf():
		what = inside(c)
	case c.MaxRepetitionLevel() > 0:
		what = "lists"
	case c.Type().Kind() != parquet.ByteArray:
		what = "values of type " + c.Type().String()
	default:
		return p.checkCodec(c)
	}
	return ownError{fmt.Errorf("%s: column %s holds %s and not one text a row: name the column that does, with dots for one inside another (--set data.field=NAME)", p.name, p.fieldName(), what)}
}

// inside says what a column that has columns holds. A list is written as such a column whose only leaf repeats.
func inside(c *parquet.Column) string {
	leaf := c
	for !leaf.Leaf() && len(leaf.Columns()) == 1 {
		leaf = leaf.Columns()[0]
	}
	switch {
	case leaf.MaxRepetitionLevel() <= c.MaxRepetitionLevel():
		return "columns of its own"
	case leaf.Leaf() && leaf.Type().Kind() == parquet.ByteArray:
		return "lists of texts"
	}
	return "lists"
}

// checkCodec refuses compressions that are not read. The library takes whole LZ4 pages for damaged ones, and unpacks damaged ones without a bound
// on memory.
func (p *parquetReader) checkCodec(c *parquet.Column) error {
	for _, group := range p.meta.RowGroups {
		if c.Index() >= len(group.Columns) {
			return fmt.Errorf("a group of rows has %d columns, the text's is number %d", len(group.Columns), c.Index()+1)
		}
		switch codec := group.Columns[c.Index()].MetaData.Codec; codec {
		case format.Lz4, format.Lz4Raw, format.LZO:
			return ownError{fmt.Errorf("%s: column %s is compressed by %v, which is not read: write it with zstd, snappy, gzip or brotli, or without compression", p.name, p.fieldName(), codec)}
		}
	}
	return nil
}

// group reads the texts of one group of rows.
func (p *parquetReader) group(group int) error {
	var in *pages
	var pages parquet.Pages
	err := guard(func() (err error) {
		if in, err = p.pages(group); err == nil {
			pages = p.plain.RowGroups()[0].ColumnChunks()[p.column.Index()].(*parquet.FileColumnChunk).PagesFrom(in)
		}
		return err
	})
	if err != nil {
		return p.explain(err)
	}
	defer guard(func() error { return pages.Close() })
	said := p.meta.RowGroups[group].NumRows
	for before := p.row; ; {
		var page parquet.Page
		err := guard(func() (err error) {
			page, err = pages.ReadPage()
			return err
		})
		if in.err != nil {
			err = in.err
		}
		if err == io.EOF {
			if read := int64(p.row - before); read != said { // or rows would be missing unsaid
				return p.explain(fmt.Errorf("group %d of rows is said to have %d, and the column of texts has %d", group+1, said, read))
			}
			return nil
		}
		if err != nil {
			return p.explain(err)
		}
		if err := p.page(page); err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
	}
}

// page reads the texts of a page.
func (p *parquetReader) page(page parquet.Page) error {
	defer guard(func() error { parquet.Release(page); return nil })
	var values parquet.ValueReader
	if err := guard(func() error { values = page.Values(); return nil }); err != nil {
		return p.explain(err)
	}
	buffer := make([]parquet.Value, 64)
	for {
		n := 0
		err := guard(func() (err error) {
			n, err = values.ReadValues(buffer)
			return err
		})
		if err != nil && err != io.EOF {
			return p.explain(err)
		}
		for _, v := range buffer[:n] {
			p.row++
			if v.IsNull() {
				continue
			}
			if err := p.reading.row(fmt.Sprintf("%s row %d", p.name, p.row), v.ByteArray(), p.emit); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
