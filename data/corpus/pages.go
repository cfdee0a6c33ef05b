package corpus

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage is the most bytes that a page of the text's column may have, packed or not, and maxValues the most values: each takes up to 9 bytes
// besides its text.
const (
	maxPage   = 256 << 20
	maxValues = maxPage / 8
)

// pages unpacks the pages of the column of texts in one group of rows, for the library to decode, which would unpack a page whole, whatever its
// header says of its size. It is a file of them without compression, to be read from the beginning on.
type pages struct {
	*parquetReader
	at, end int64 // what is left of the column's bytes
	codec   format.CompressionCodec
	number  int    // of pages so far
	packed  []byte // the memory of the last page
	plain   []byte
	head    []byte // of the last page, what is not read yet
	body    []byte
	off     int64 // bytes read
	err     error // why there are no more
}

// pages begins a group of rows.
func (p *parquetReader) pages(group int) (*pages, error) {
	chunk := p.meta.RowGroups[group].Columns[p.column.Index()]
	if chunk.CryptoMetadata.Value != nil {
		return nil, fmt.Errorf("column %s is encrypted", p.fieldName())
	}
	at := chunk.MetaData.DataPageOffset
	if d := chunk.MetaData.DictionaryPageOffset; d > 0 {
		at = d
	}
	end := at + chunk.MetaData.TotalCompressedSize
	if at < 0 || end < at || end > p.size {
		return nil, fmt.Errorf("a column is said to lie in bytes %d to %d of %d", at, end, p.size)
	}
	return &pages{parquetReader: p, at: at, end: end, codec: chunk.MetaData.Codec}, nil
}

// ReadAt reads on. Where a page follows another, it returns less than it could.
func (p *pages) ReadAt(b []byte, off int64) (int, error) {
	if off != p.off {
		return 0, fmt.Errorf("column %s has values of a dictionary, which does not stand before them", p.fieldName())
	}
	if len(p.head)+len(p.body) == 0 && p.err == nil {
		p.err = p.next()
	}
	from := &p.head
	if len(p.head) == 0 {
		from = &p.body
	}
	n := copy(b, *from)
	*from = (*from)[n:]
	p.off += int64(n)
	if n == 0 && len(b) > 0 {
		return 0, p.err
	}
	return n, nil
}

// next unpacks the page that comes next.
func (p *pages) next() error {
	if p.at == p.end {
		return io.EOF
	}
	h, err := p.header()
	if err != nil {
		return err
	}
	if p.body, err = p.unpacked(h); err != nil {
		p.body = nil
		return err
	}
	if err := p.checkValues(h, p.body); err != nil {
		return err
	}
	h.CompressedPageSize, h.UncompressedPageSize, h.CRC = int32(len(p.body)), int32(len(p.body)), 0
	h.DataPageHeader.V.Statistics, h.DataPageHeaderV2.V.Statistics = format.Statistics{}, format.Statistics{} // can be long
	var protocol thrift.CompactProtocol
	p.head, err = thrift.Marshal(&protocol, h)
	return err
}

// header reads the header of the page that comes next and moves behind it.
func (p *pages) header() (h format.PageHeader, err error) {
	var protocol thrift.CompactProtocol
	for window := int64(1 << 12); ; window *= 16 { // statistics in it can be long
		head := make([]byte, min(window, p.end-p.at))
		if _, err := p.parquetReader.at.ReadAt(head, p.at); err != nil && err != io.EOF {
			return h, err
		}
		h = format.PageHeader{}
		in := protocol.NewReaderFromBytes(head)
		err := thrift.NewDecoder(in).Decode(&h)
		if err == nil {
			p.number++
			p.at += int64(in.BytesRead())
			p.count(in.BytesRead())
			return h, p.checkHeader(h)
		}
		if int64(len(head)) == p.end-p.at || window > maxFooter {
			return h, err
		}
	}
}

// checkHeader looks at what the page is said to take.
func (p *pages) checkHeader(h format.PageHeader) error {
	packed, plain, values := h.CompressedPageSize, h.UncompressedPageSize, p.values(h)
	if packed < 0 || plain < 0 || values < 0 || h.Type == format.DictionaryPage && values > plain/4 { // a length stands before each
		return fmt.Errorf("%s is said to have %d bytes, %d packed, and %d values", p.shown(h), plain, packed, values)
	}
	if most := max(packed, plain); most > maxPage {
		return ownError{fmt.Errorf("%s: after row %d: a page of column %s has %d bytes, and %d MiB are the most that is held in memory: write the file anew with smaller pages", p.name, p.row, p.fieldName(), most, maxPage>>20)}
	}
	if values > maxValues {
		return ownError{fmt.Errorf("%s: after row %d: a page of column %s has %d values, and %d are the most that is held in memory: write the file anew with smaller pages", p.name, p.row, p.fieldName(), values, maxValues)}
	}
	if next := p.at + int64(packed); next > p.end {
		return fmt.Errorf("%s is said to end at byte %d, behind its column, which ends at %d", p.shown(h), next, p.end)
	}
	return nil
}

// values is how many values a page is said to have, less than 0 where what it says cannot be.
func (p *pages) values(h format.PageHeader) int32 {
	switch h.Type {
	case format.DataPage:
		return h.DataPageHeader.V.NumValues
	case format.DictionaryPage:
		return h.DictionaryPageHeader.V.NumValues
	case format.DataPageV2:
		if v := h.DataPageHeaderV2.V; v.NumNulls >= 0 && v.NumNulls <= v.NumValues {
			return v.NumValues
		}
		return -1
	}
	return 0
}

// shown names a page in messages.
func (p *pages) shown(h format.PageHeader) string {
	kind := "page"
	if h.Type == format.DictionaryPage {
		kind = "dictionary page"
	}
	return fmt.Sprintf("%s %d of column %s", kind, p.number, p.fieldName())
}

// unpacked reads and unpacks what follows a header.
func (p *pages) unpacked(h format.PageHeader) ([]byte, error) {
	p.packed = resized(p.packed, int(h.CompressedPageSize))
	if _, err := io.ReadFull(io.NewSectionReader(p.parquetReader.at, p.at, p.end-p.at), p.packed); err != nil {
		return nil, err
	}
	p.at += int64(len(p.packed))
	p.count(len(p.packed))
	if said := uint32(h.CRC); said != 0 {
		if is := crc32.ChecksumIEEE(p.packed); is != said {
			return nil, fmt.Errorf("the checksum of %s is said to be %08x and is %08x", p.shown(h), said, is)
		}
	}
	levels := 0 // bytes at the beginning that are not packed
	if h.Type == format.DataPageV2 {
		v := h.DataPageHeaderV2.V
		if levels = int(v.RepetitionLevelsByteLength) + int(v.DefinitionLevelsByteLength); min(v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength) < 0 || levels > len(p.packed) {
			return nil, fmt.Errorf("the levels of %s are said to have %d and %d of its %d bytes", p.shown(h), v.RepetitionLevelsByteLength, v.DefinitionLevelsByteLength, len(p.packed))
		}
		if v.IsCompressed.Valid && !v.IsCompressed.V {
			return p.packed, nil
		}
	}
	if p.codec == format.Uncompressed || levels == len(p.packed) {
		return p.packed, nil
	}
	limit := int(h.UncompressedPageSize)
	p.plain = append(resized(p.plain, levels+limit+1)[:0], p.packed[:levels]...) // one more, to see what is larger
	var err error
	p.plain, err = p.unpackers.unpack(p.codec, p.plain, p.packed[levels:], limit)
	if err == errLarger {
		err = fmt.Errorf("%s unpacks to more than the %d bytes that its header says, which are the most that memory is given for", p.shown(h), limit)
	} else if err != nil {
		err = fmt.Errorf("unpacking %s: %w", p.shown(h), err)
	}
	return p.plain, err
}

// resized is a slice of n bytes in the memory of b, where that is enough.
func resized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// fieldName is the column as it is named by the user.
func (p *parquetReader) fieldName() string { return strings.Join(p.field, ".") }
