package corpus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// rawPage is a page with a header that may say anything.
type rawPage struct {
	h    format.PageHeader
	body []byte
}

// page is a page of a column of texts, none of which is null, whose header says so.
func page(kind format.PageType, encoding format.Encoding, values, plain int, body []byte) rawPage {
	h := format.PageHeader{Type: kind, CompressedPageSize: int32(len(body)), UncompressedPageSize: int32(plain)}
	switch kind {
	case format.DataPage:
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: int32(values), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	case format.DataPageV2:
		h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: int32(values), NumRows: int32(values), Encoding: encoding})
	case format.DictionaryPage:
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(values), Encoding: encoding})
	}
	return rawPage{h, body}
}

// rawParquet is a Parquet file of one column of texts, which may be null where it is optional.
func rawParquet(t testing.TB, codec format.CompressionCodec, optional bool, rows int, pages ...rawPage) []byte {
	t.Helper()
	var protocol thrift.CompactProtocol
	file := []byte("PAR1")
	for _, p := range pages {
		head, err := thrift.Marshal(&protocol, p.h)
		if err != nil {
			t.Fatal(err)
		}
		file = append(append(file, head...), p.body...)
	}
	repetition := format.Required
	if optional {
		repetition = format.Optional
	}
	footer, err := thrift.Marshal(&protocol, format.FileMetaData{
		Version: 2, NumRows: int64(rows),
		Schema: []format.SchemaElement{
			{Name: "schema", NumChildren: thrift.New(int32(1))},
			{Name: "text", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(repetition)},
		},
		RowGroups: []format.RowGroup{{NumRows: int64(rows), Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: format.ByteArray, PathInSchema: []string{"text"}, Encoding: []format.Encoding{format.Plain}, Codec: codec, NumValues: int64(rows), DataPageOffset: 4, TotalCompressedSize: int64(len(file) - 4),
		}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.LittleEndian.AppendUint32(append(file, footer...), uint32(len(footer))), "PAR1"...)
}

// plainTexts are texts as they lie in a page.
func plainTexts(texts ...string) (body []byte) {
	for _, text := range texts {
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(text))), text...)
	}
	return body
}

func packed(t testing.TB, codec format.CompressionCodec, body []byte) []byte {
	t.Helper()
	out, err := parquet.LookupCompressionCodec(codec).Encode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	packings  = []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd}
	pageKinds = []format.PageType{format.DataPage, format.DataPageV2, format.DictionaryPage}
)

// allocated reads a Parquet file and returns its documents, how many bytes were given for it in all, and the error, which is more than there were
// at any time.
func allocated(t *testing.T, file []byte) ([]string, uint64, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	documents, err := read(t, "a.parquet", file)
	runtime.ReadMemStats(&after)
	return documents, after.TotalAlloc - before.TotalAlloc, err
}

// TestPagesThatUnpackToMore wants a page of 64 MiB whose header says less to be refused without memory for it.
func TestPagesThatUnpackToMore(t *testing.T) {
	large := make([]byte, 64<<20)
	for _, codec := range packings {
		bombs := [][]byte{packed(t, codec, large)}
		if codec == format.Zstd {
			bombs = append(bombs, []byte(zst(t, string(large)))) // which does not say its size
		}
		for i, bomb := range bombs {
			for _, kind := range pageKinds {
				_, taken, err := allocated(t, rawParquet(t, codec, false, 1, page(kind, format.Plain, 1, 100, bomb)))
				if err == nil || lacking(err.Error(), "a.parquet: after row 0: ", "page 1 of column text unpacks to more than the 100 bytes that its header says", "fetch or write it again") != "" || taken > uint64(len(bomb))+16<<20 {
					t.Errorf("%v %d, %v: %v, %d KiB were given for %d", codec, i, kind, err, taken>>10, len(bomb)>>10)
				}
			}
		}
	}
}

// TestPagesOfTheirSize reads pages that have as many bytes as their headers say, or fewer, and none with one more.
func TestPagesOfTheirSize(t *testing.T) {
	body := plainTexts("one", "two")
	indexes := []byte{1, 3, 0b01} // one group of 8, 1 bit wide
	for _, codec := range packings {
		for _, kind := range pageKinds {
			for said, want := range map[int]string{len(body): "one two", len(body) + 1: "one two", len(body) - 1: ""} {
				pages := []rawPage{page(kind, format.Plain, 2, said, packed(t, codec, body))}
				if kind == format.DictionaryPage {
					pages = append(pages, page(format.DataPage, format.RLEDictionary, 2, len(indexes), packed(t, codec, indexes)))
				}
				documents, err := read(t, "a.parquet", rawParquet(t, codec, false, 2, pages...))
				if kind == format.DictionaryPage && want != "" {
					want = "two one"
				}
				if got := strings.Join(documents, " "); got != want || (err == nil) != (want != "") {
					t.Errorf("%v, %v, said to have %d of %d bytes: %q, %v", codec, kind, said, len(body), got, err)
				}
			}
		}
	}
}

// TestParquetEncodings reads files of several pages in every encoding of texts, compression and version, some of whose texts are null.
func TestParquetEncodings(t *testing.T) {
	type row struct {
		Text *string `parquet:"text,optional"`
	}
	var rows []row
	var want []string
	for i := range 1000 {
		text := fmt.Sprintf("text %d of %s", i%300, strings.Repeat("many words ", i%7))
		if i%3 == 0 {
			rows = append(rows, row{})
			continue
		}
		rows, want = append(rows, row{&text}), append(want, text)
	}
	for _, codec := range append([]format.CompressionCodec{format.Uncompressed}, packings...) {
		for _, how := range []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray} {
			for version := 1; version <= 2; version++ {
				var file bytes.Buffer
				schema := parquet.NewSchema("schema", parquet.Group{"text": parquet.Compressed(parquet.Encoded(parquet.Optional(parquet.String()), how), parquet.LookupCompressionCodec(codec))})
				w := parquet.NewGenericWriter[row](&file, schema, parquet.DataPageVersion(version), parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(400))
				if _, err := w.Write(rows); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if got, err := read(t, "a.parquet", file.Bytes()); err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
					t.Errorf("%v, %v, version %d: %d documents, %v", codec, how, version, len(got), err)
				}
			}
		}
	}
}
