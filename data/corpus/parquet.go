package corpus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage is the most bytes that a page of the text's column may have, and maxFooter those of the description of all columns.
const (
	maxPage   = 256 << 20
	maxFooter = 64 << 20
)

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
	var column *parquet.Column
	err := guard(func() (err error) {
		column, err = p.open()
		return err
	})
	if err != nil {
		return p.explain(err)
	}
	for group := range p.file.RowGroups() {
		if err := p.group(group, column); err != nil {
			return err
		}
	}
	return nil
}

// parquetReader reads one file.
type parquetReader struct {
	*reading
	name string
	at   source
	size int64
	file *parquet.File
	row  int // rows before
	emit func(chunk) error
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
func (p *parquetReader) open() (*parquet.Column, error) {
	tail := make([]byte, 8)
	if _, err := p.at.ReadAt(tail, max(p.size-8, 0)); err != nil {
		return nil, fmt.Errorf("the file has %d bytes and no end mark", p.size)
	}
	if footer := int64(binary.LittleEndian.Uint32(tail)); footer > min(p.size, maxFooter) {
		return nil, fmt.Errorf("the description of the columns is said to have %d bytes, and a file of %d bytes can have %d", footer, p.size, min(p.size, maxFooter))
	}
	var err error
	if p.file, err = parquet.OpenFile(p.at, p.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); err != nil {
		return nil, err
	}
	root := p.file.Root()
	if flat := root.Column(strings.Join(p.field, ".")); flat != nil { // a name with dots of its own
		return flat, p.check(flat)
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
	return column, p.check(column)
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
	return ownError{fmt.Errorf("%s: column %s holds %s and not one text a row: name the column that does, with dots for one inside another (--set data.field=NAME)", p.name, strings.Join(p.field, "."), what)}
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
	for _, group := range p.file.Metadata().RowGroups {
		if c.Index() >= len(group.Columns) {
			return fmt.Errorf("a group of rows has %d columns, the text's is number %d", len(group.Columns), c.Index()+1)
		}
		switch codec := group.Columns[c.Index()].MetaData.Codec; codec {
		case format.Lz4, format.Lz4Raw, format.LZO:
			return ownError{fmt.Errorf("%s: column %s is compressed by %v, which is not read: write it with zstd, snappy, gzip or brotli, or without compression", p.name, strings.Join(p.field, "."), codec)}
		}
	}
	return nil
}

// group reads the texts of one group of rows.
func (p *parquetReader) group(group int, column *parquet.Column) error {
	var pages parquet.Pages
	err := guard(func() error {
		if err := p.checkPages(group, column); err != nil {
			return err
		}
		pages = p.file.RowGroups()[group].ColumnChunks()[column.Index()].Pages()
		return nil
	})
	if err != nil {
		return p.explain(err)
	}
	defer guard(func() error { return pages.Close() })
	said := p.file.Metadata().RowGroups[group].NumRows
	for before := p.row; ; {
		var page parquet.Page
		err := guard(func() (err error) {
			page, err = pages.ReadPage()
			return err
		})
		if err == io.EOF {
			if read := int64(p.row - before); read != said { // the library takes the end of a column's bytes for that of its rows
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

// checkPages reads the headers of a column's pages, which say how much memory each will take, and counts the bytes as read.
func (p *parquetReader) checkPages(group int, column *parquet.Column) error {
	chunk := p.file.Metadata().RowGroups[group].Columns[column.Index()].MetaData
	at := chunk.DataPageOffset
	if d := chunk.DictionaryPageOffset; d > 0 {
		at = d
	}
	end := at + chunk.TotalCompressedSize
	if at < 0 || end < at || end > p.size {
		return fmt.Errorf("a column is said to lie in bytes %d to %d of %d", at, end, p.size)
	}
	p.count(int(chunk.TotalCompressedSize))
	for at < end {
		header, size, err := p.header(at, end)
		if err != nil {
			return err
		}
		if most := max(header.UncompressedPageSize, header.CompressedPageSize); most > maxPage {
			return ownError{fmt.Errorf("%s: after row %d: a page of column %s has %d bytes, and %d MiB are the most that is held in memory: write the file anew with smaller pages", p.name, p.row, strings.Join(p.field, "."), most, maxPage>>20)}
		}
		next := at + size + int64(max(header.CompressedPageSize, 0))
		if next > end {
			return fmt.Errorf("a page is said to end at byte %d, behind its column, which ends at %d", next, end)
		}
		at = next
	}
	return nil
}

// header reads the header of the page at a place, and its size.
func (p *parquetReader) header(at, end int64) (h format.PageHeader, size int64, err error) {
	var protocol thrift.CompactProtocol
	for window := int64(1 << 12); ; window *= 16 { // statistics in it can be long
		head := make([]byte, min(window, end-at))
		if _, err := p.at.ReadAt(head, at); err != nil && err != io.EOF {
			return h, 0, err
		}
		h = format.PageHeader{}
		in := protocol.NewReaderFromBytes(head)
		err := thrift.NewDecoder(in).Decode(&h)
		if err == nil || int64(len(head)) == end-at || window > maxFooter {
			return h, int64(in.BytesRead()), err
		}
	}
}
