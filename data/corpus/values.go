package corpus

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// plainDictionary is PLAIN_DICTIONARY, which the format has named RLE_DICTIONARY since: older files have it for the indexes of a page.
const plainDictionary format.Encoding = 2

// checkValues looks at how many values, and how many bytes of them, an unpacked page would become. Repeated ones take next to nothing in it, and
// the library gives memory for as many as there are said to be. What is damaged otherwise is left to it.
func (p *pages) checkValues(h format.PageHeader, body []byte) error {
	if levels := bits.Len8(byte(p.column.MaxDefinitionLevel())); levels > 0 || h.Type == format.DataPageV2 {
		var defined []byte
		if defined, body = splitLevels(h, body); !fewRuns(defined, levels) {
			return p.tooMany(h)
		}
		if most := byte(p.column.MaxDefinitionLevel()); !levelsTo(most, defined) {
			return fmt.Errorf("%s has a level above %d, which is neither a text nor null", p.shown(h), most)
		}
	}
	few, bytes := true, int64(0)
	encoding := h.DataPageHeader.V.Encoding
	if h.Type == format.DataPageV2 {
		encoding = h.DataPageHeaderV2.V.Encoding
	}
	switch {
	case len(body) == 0 || h.Type == format.DictionaryPage:
	case encoding == plainDictionary || encoding == format.RLEDictionary:
		few = fewRuns(body[1:], int(body[0]))
	case encoding == format.DeltaLengthByteArray:
		few, _ = skipDeltas(body)
	case encoding == format.DeltaByteArray:
		few, bytes = prefixed(body)
	}
	if !few {
		return p.tooMany(h)
	}
	if bytes > maxPage {
		return ownError{fmt.Errorf("%s: after row %d: the texts of %s have more than %d MiB together, the most that is held in memory: write the file anew with smaller pages", p.name, p.row, p.shown(h), maxPage>>20)}
	}
	return nil
}

// tooMany is the error of a page of more values than memory is given for.
func (p *pages) tooMany(h format.PageHeader) error {
	return ownError{fmt.Errorf("%s: after row %d: %s has more than %d values, the most that is held in memory: write the file anew with smaller pages", p.name, p.row, p.shown(h), maxValues)}
}

// splitLevels takes the levels, which say what is null, off the values.
func splitLevels(h format.PageHeader, body []byte) (defined, values []byte) {
	if h.Type == format.DataPageV2 {
		v := h.DataPageHeaderV2.V
		body = body[v.RepetitionLevelsByteLength:]
		return body[:v.DefinitionLevelsByteLength], body[v.DefinitionLevelsByteLength:]
	}
	if h.Type != format.DataPage || len(body) < 4 {
		return nil, body
	}
	size := min(int64(binary.LittleEndian.Uint32(body)), int64(len(body)-4))
	return body[4 : 4+size], body[4+size:]
}

// fewRuns says whether runs of numbers, which are repeated or packed, are of at most maxValues numbers.
func fewRuns(runs []byte, width int) bool {
	for values := uint64(0); len(runs) > 0; {
		run, n := binary.Uvarint(runs)
		if n <= 0 {
			break
		}
		runs = runs[n:]
		count, size := run>>1, uint64(width+7)/8
		if count > maxValues {
			return false
		}
		if run&1 != 0 {
			count, size = 8*count, count*uint64(width)
		}
		if values += count; values > maxValues {
			return false
		}
		runs = runs[min(size, uint64(len(runs))):]
	}
	return true
}

// levelsTo says whether levels that are repeated are at most this: the library takes any other for null, and texts would be missing unsaid.
func levelsTo(most byte, runs []byte) bool {
	for len(runs) > 0 {
		run, n := binary.Uvarint(runs)
		if n <= 0 || n == len(runs) {
			break
		}
		runs = runs[n:]
		size := uint64(1)
		if run&1 != 0 {
			size = run >> 1 * uint64(bits.Len8(most))
		} else if runs[0] > most {
			return false
		}
		runs = runs[min(size, uint64(len(runs))):]
	}
	return true
}

// prefixed says of texts, each of which is a part of the one before it and something more, how many bytes they have together.
func prefixed(body []byte) (few bool, sum int64) {
	few, more := skipDeltas(body)
	if few {
		few, _ = skipDeltas(more)
	}
	if !few {
		return false, 0
	}
	for _, lengths := range [][]byte{body, more} {
		values, _ := new(delta.BinaryPackedEncoding).DecodeInt32(nil, lengths)
		for _, v := range values {
			sum += int64(max(v, 0))
		}
	}
	return true, sum
}

// skipDeltas says whether numbers, packed as differences, are at most maxValues, and returns what follows them.
func skipDeltas(body []byte) (few bool, rest []byte) {
	var head [4]uint64 // numbers of a block, parts of it, numbers in all, the first number
	for i := range head {
		n := 0
		if head[i], n = binary.Uvarint(body); n <= 0 {
			return true, nil
		}
		body = body[n:]
	}
	block, parts, left := head[0], head[1], head[2]
	if left > maxValues {
		return false, nil
	}
	if parts == 0 || block == 0 || block > 1<<16 || parts > block {
		return true, nil // as the library says
	}
	left = max(left, 1) - 1
	for left > 0 && len(body) > 0 {
		_, n := binary.Uvarint(body)
		if n <= 0 || uint64(len(body)-n) < parts {
			return true, nil
		}
		widths := body[n : n+int(parts)]
		body = body[n+int(parts):]
		for _, width := range widths {
			if left == 0 {
				break
			}
			body = body[min(block/parts*uint64(width)/8, uint64(len(body))):]
			left -= min(left, block/parts)
		}
	}
	return true, body
}
