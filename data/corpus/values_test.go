package corpus

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// run is a run of one number again and again, or of packed groups of 8.
func run(count uint64, groups bool, number ...byte) []byte {
	head := count << 1
	if groups {
		head |= 1
	}
	return append(binary.AppendUvarint(nil, head), number...)
}

// differences are packed numbers that are said to be so many.
func differences(t *testing.T, said uint64, numbers ...int32) []byte {
	t.Helper()
	out, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, numbers)
	if err != nil {
		t.Fatal(err)
	}
	_, block := binary.Uvarint(out)
	_, parts := binary.Uvarint(out[block:])
	_, all := binary.Uvarint(out[block+parts:])
	return slices.Concat(out[:block+parts], binary.AppendUvarint(nil, said), out[block+parts+all:])
}

// leveled is a page of version 1 or 2 with levels of nulls.
func leveled(kind format.PageType, values int, levels, body []byte) rawPage {
	if kind == format.DataPage {
		whole := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
		return page(kind, format.Plain, values, len(whole)+len(body), append(whole, body...))
	}
	p := page(kind, format.Plain, values, len(levels)+len(body), slices.Concat(levels, body))
	p.h.DataPageHeaderV2.V.DefinitionLevelsByteLength = int32(len(levels))
	return p
}

// TestPagesOfTooManyValues wants pages that become much more than they are to be refused without memory for it.
func TestPagesOfTooManyValues(t *testing.T) {
	many := uint64(maxValues + 1)
	text := strings.Repeat("x", 1<<20)
	repeats := append([]int32{0}, slices.Repeat([]int32{1 << 20}, 256)...)
	alone := append([]int32{1 << 20}, make([]int32, 256)...)
	entries := page(format.DictionaryPage, format.Plain, 1, 5, plainTexts("x"))
	of := func(encoding format.Encoding, body ...[]byte) rawPage {
		whole := slices.Concat(body...)
		return page(format.DataPage, encoding, 1, len(whole), whole)
	}
	needless := of(format.RLEDictionary, []byte{1}, run(many, false, 0))
	needless = page(format.DataPageV2, format.RLEDictionary, 1, 99, slices.Concat(bytes.Repeat([]byte{0xFF}, 11), needless.body))
	needless.h.DataPageHeaderV2.V.DefinitionLevelsByteLength = 11
	const tooMany = "of column text has more than 33554432 values, the most that is held in memory: write the file anew with smaller pages"
	for name, test := range map[string]struct {
		optional bool
		page     rawPage
		want     string
	}{
		"said":              {false, page(format.DataPage, format.Plain, maxValues+1, 5, plainTexts("x")), "a page of column text has 33554433 values, and 33554432 are the most that is held in memory: write"},
		"levels":            {true, leveled(format.DataPage, 1, run(many, false, 1), plainTexts("x")), tooMany},
		"levels, version 2": {true, leveled(format.DataPageV2, 1, run(many, false, 1), plainTexts("x")), tooMany},
		"levels together":   {true, leveled(format.DataPage, 1, slices.Concat(run(many/2, false, 1), run(many/2+1, false, 1)), plainTexts("x")), tooMany},
		"indexes":           {false, of(format.RLEDictionary, []byte{1}, run(many, false, 0)), tooMany},
		"indexes, old name": {false, of(plainDictionary, []byte{1}, run(many, false, 0)), tooMany},
		"indexes of 0 bits": {false, of(format.RLEDictionary, []byte{0}, run(many/8+1, true)), tooMany},
		"needless levels":   {false, needless, tooMany},
		"huge run":          {false, of(format.RLEDictionary, []byte{0}, run(1<<62, true)), tooMany},
		"lengths":           {false, of(format.DeltaLengthByteArray, differences(t, many, 1), []byte("x")), tooMany},
		"prefixes":          {false, of(format.DeltaByteArray, differences(t, many, 0), differences(t, 1, 1), []byte("x")), tooMany},
		"suffixes":          {false, of(format.DeltaByteArray, differences(t, 1, 0), differences(t, many, 1), []byte("x")), tooMany},
		"repeated texts":    {false, of(format.DeltaByteArray, differences(t, 257, repeats...), differences(t, 257, alone...), []byte(text)), "the texts of page 2 of column text have more than 256 MiB together, the most that is held in memory: write"},
		"long suffixes":     {false, of(format.DeltaByteArray, differences(t, 2, 0, -5), differences(t, 2, math.MaxInt32, -math.MaxInt32), []byte("x")), "have more than 256 MiB together"},
	} {
		_, taken, err := allocated(t, rawParquet(t, format.Uncompressed, test.optional, 1, entries, test.page))
		if err == nil || lacking(err.Error(), "a.parquet: after row 0: ", test.want) != "" || taken > 5<<20 {
			t.Errorf("%s: %v, %d KiB were given", name, err, taken>>10)
		}
	}
}

// TestPagesThatLie has headers that say what cannot be.
func TestPagesThatLie(t *testing.T) {
	good := page(format.DataPage, format.Plain, 1, 5, plainTexts("x"))
	v2 := leveled(format.DataPageV2, 2, run(2, false, 1), plainTexts("x", "y"))
	for name, test := range map[string]struct {
		page   rawPage
		change func(h *format.PageHeader)
		want   string
	}{
		"large page":       {good, func(h *format.PageHeader) { h.UncompressedPageSize = maxPage + 1 }, "a page of column text has 268435457 bytes, and 256 MiB are the most that is held in memory: write"},
		"large packed":     {good, func(h *format.PageHeader) { h.CompressedPageSize = maxPage + 1 }, "a page of column text has 268435457 bytes, and 256 MiB are the most"},
		"behind column":    {good, func(h *format.PageHeader) { h.CompressedPageSize++ }, "page 1 of column text is said to end at byte "},
		"less than 0":      {good, func(h *format.PageHeader) { h.CompressedPageSize = -1 }, "is said to have 5 bytes, -1 packed, and 1 values"},
		"size below 0":     {good, func(h *format.PageHeader) { h.UncompressedPageSize = -1 }, "is said to have -1 bytes"},
		"values below 0":   {good, func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = -1 }, "and -1 values"},
		"checksum":         {good, func(h *format.PageHeader) { h.CRC = 5 }, "the checksum of page 1 of column text is said to be 00000005 and is "},
		"no such type":     {good, func(h *format.PageHeader) { h.Type = format.IndexPage }, "INDEX_PAGE"},
		"another header":   {good, func(h *format.PageHeader) { h.Type = format.DataPageV2 }, "missing"},
		"no dictionary":    {good, func(h *format.PageHeader) { h.DataPageHeader.V.Encoding = format.RLEDictionary }, "column text has values of a dictionary, which does not stand before them"},
		"large dictionary": {page(format.DictionaryPage, format.Plain, 2, 7, []byte("1234567")), nil, "dictionary page 1 of column text is said to have 7 bytes, 7 packed, and 2 values"},
		"long levels":      {v2, func(h *format.PageHeader) { h.DataPageHeaderV2.V.DefinitionLevelsByteLength = 13 }, "the levels of page 1 of column text are said to have 0 and 13 of its 12 bytes"},
		"levels below 0":   {v2, func(h *format.PageHeader) { h.DataPageHeaderV2.V.RepetitionLevelsByteLength = -1 }, "are said to have -1 and 2 of its 12 bytes"},
		"more nulls":       {v2, func(h *format.PageHeader) { h.DataPageHeaderV2.V.NumNulls = 3 }, "and -1 values"},
		"fewer nulls":      {v2, func(h *format.PageHeader) { h.DataPageHeaderV2.V.NumNulls = -1 }, "and -1 values"},
	} {
		if test.change != nil {
			test.change(&test.page.h)
		}
		_, taken, err := allocated(t, rawParquet(t, format.Uncompressed, test.page.h.DataPageHeaderV2.Valid, 2, test.page))
		if err == nil || lacking(err.Error(), "a.parquet: after row 0: ", test.want) != "" || taken > 5<<20 {
			t.Errorf("%s: %v, %d KiB were given", name, err, taken>>10)
		}
	}
}

// TestLevelsThatLie reads levels above the highest, which stand for nothing, and are no null unsaid.
func TestLevelsThatLie(t *testing.T) {
	body := plainTexts("one", "two")
	for _, kind := range []format.PageType{format.DataPage, format.DataPageV2} {
		for name, levels := range map[string][]byte{"all": run(3, false, 7), "behind a run": append(run(2, false, 1), run(1, false, 2)...), "behind a group": append(run(1, true, 0b11), run(1, false, 0x21)...)} {
			documents, err := read(t, "a.parquet", rawParquet(t, format.Uncompressed, true, 3, leveled(kind, 3, levels, body)))
			if err == nil || lacking(err.Error(), "a.parquet: after row 0: page 1 of column text has a level above 1, ", "fetch or write it again") != "" {
				t.Errorf("%v, %s: %q, %v", kind, name, documents, err)
			}
		}
		levels := append(append(run(1, false, 0), run(1, true, 0b11)...), run(1, false, 0)...) // a group holds 8, and a level is 1 bit
		if documents, err := read(t, "a.parquet", rawParquet(t, format.Uncompressed, true, 9, leveled(kind, 9, levels, body))); err != nil || len(documents) != 2 {
			t.Errorf("%v: %q, %v", kind, documents, err)
		}
	}
	for _, test := range []struct { // levels of 2 bits, of a column in another
		levels []byte
		want   bool
	}{
		{append(run(1, true, 0b11100100, 0b11100100), run(5, false, 3)...), true}, {append(run(1, true, 4, 4), run(5, false, 4)...), false},
		{append(run(2, true, 9, 9, 9, 9), run(5, false, 3)...), true}, {append(run(2, true, 9, 9, 9, 9), run(5, false, 9)...), false},
		{run(2, true, 9), true}, {run(1<<62, true), true}, {run(5, false), true}, {[]byte{0x80}, true}, {nil, true},
	} {
		if got := levelsTo(3, test.levels); got != test.want {
			t.Errorf("%x: %v", test.levels, got)
		}
	}
}

// TestPagesAtTheLimits looks at headers that say just what may be.
func TestPagesAtTheLimits(t *testing.T) {
	p := &pages{parquetReader: &parquetReader{reading: &reading{field: []string{"text"}}}, at: 10, end: 10 + maxPage}
	for _, test := range []struct {
		packed, plain, values int
		want                  string
	}{
		{maxPage, maxPage, maxValues, ""}, {0, 0, 0, ""}, {maxPage + 1, 1, 1, "are the most"}, {1, maxPage + 1, 1, "are the most"}, {1, 1, maxValues + 1, "are the most"},
	} {
		h := page(format.DataPage, format.Plain, test.values, test.plain, nil).h
		h.CompressedPageSize = int32(test.packed)
		if err := p.checkHeader(h); (err == nil) != (test.want == "") || err != nil && lacking(err.Error(), test.want) != "" {
			t.Errorf("%+v: %v", test, err)
		}
	}
	for count, few := range map[uint64]bool{maxValues: true, maxValues + 1: false} {
		if got, _ := skipDeltas(differences(t, count, 1)); fewRuns(run(count, false, 0), 1) != few || got != few {
			t.Errorf("%d values: %v and %v", count, fewRuns(run(count, false, 0), 1), got)
		}
	}
}

// TestPagesInOtherForms reads what few programs write: pages that are not packed among those that are, checksums, levels of no values, a
// dictionary twice.
func TestPagesInOtherForms(t *testing.T) {
	body := plainTexts("one", "two")
	sum := page(format.DataPage, format.Plain, 2, len(body), packed(t, format.Gzip, body))
	sum.h.CRC = int32(crc32.ChecksumIEEE(sum.body))
	v2 := leveled(format.DataPageV2, 2, run(2, false, 1), body)
	v2.h.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	nulls := leveled(format.DataPageV2, 2, run(2, false, 0), nil)
	nulls.h.DataPageHeaderV2.V.NumNulls = 2
	entries := page(format.DictionaryPage, format.Plain, 2, len(body), packed(t, format.Gzip, body))
	indexes := []byte{1, 3, 0b01}
	refers := page(format.DataPage, format.RLEDictionary, 2, len(indexes), packed(t, format.Gzip, indexes))
	for name, test := range map[string]struct {
		optional bool
		pages    []rawPage
		want     string
	}{
		"checksum":          {false, []rawPage{sum, sum}, "one two one two"},
		"not packed":        {true, []rawPage{v2, v2}, "one two one two"},
		"nulls":             {true, []rawPage{nulls, v2}, "one two"},
		"dictionaries":      {false, []rawPage{entries, refers, entries, refers}, "two one two one"},
		"mixed with values": {false, []rawPage{entries, refers, sum}, "two one one two"},
	} {
		documents, err := read(t, "a.parquet", rawParquet(t, format.Gzip, test.optional, 4, test.pages...))
		if got := strings.Join(documents, " "); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
}

// TestSkipDeltas skips packed numbers of every width, whatever follows them.
func TestSkipDeltas(t *testing.T) {
	for n := range 400 {
		numbers := make([]int32, n)
		for i := range numbers {
			numbers[i] = int32(i * i * i % (n + 1) << (n % 20))
		}
		body := append(differences(t, uint64(n), numbers...), "rest"...)
		if few, rest := skipDeltas(body); !few || !bytes.Equal(rest, []byte("rest")) {
			t.Fatalf("%d numbers: %v, %q", n, few, rest)
		}
	}
}
