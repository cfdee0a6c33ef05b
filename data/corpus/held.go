package corpus

import (
	"fmt"
	"hash/maphash"
	"slices"
)

// Held says how much of the validation text stands in the training text, as whole documents with the same bytes.
type Held struct {
	Documents, Of  int // of validation, of those that were looked at
	Bytes, OfBytes int64
}

// mostSeen is how many training documents are remembered: 8 bytes each, 32 MiB together. Beyond it a half of all documents is not looked at, then
// three quarters, and so on, on both sides. Tests make it smaller.
var mostSeen = 1 << 22

// holder finds validation documents among training documents that came before, by hashes of 64 bits: of a million documents of each side, one in ten
// million times a single one is taken for another.
type holder struct {
	hash   maphash.Hash
	bytes  int64    // of the document at hand
	part   bool     // it is the second part of a divided one
	seen   []uint64 // hashes of training documents
	sorted bool     // seen is
	passed uint64   // documents with one of these bits in their hash are not looked at
	held   Held
}

// add takes a document or a stretch of one.
func (h *holder) add(side Side, d Document) {
	if !d.Continues {
		h.hash.Reset()
		h.bytes, h.part = 0, d.Offset > 0
	}
	h.hash.Write(d.Text)
	if h.bytes += int64(len(d.Text)); d.Rest > 0 || h.part {
		return
	}
	sum := h.hash.Sum64()
	switch {
	case sum&h.passed != 0:
	case side == Train:
		if h.seen, h.sorted = append(h.seen, sum), false; len(h.seen) > mostSeen {
			h.sort()
			for len(h.seen) > mostSeen {
				h.passed = h.passed<<1 | 1
				h.seen = slices.DeleteFunc(h.seen, func(sum uint64) bool { return sum&h.passed != 0 })
			}
		}
	default:
		h.sort()
		h.held.Of++
		h.held.OfBytes += h.bytes
		if _, is := slices.BinarySearch(h.seen, sum); is {
			h.held.Documents++
			h.held.Bytes += h.bytes
		}
	}
}

// sort makes the hashes ready to be searched.
func (h *holder) sort() {
	if !h.sorted {
		slices.Sort(h.seen)
		h.seen, h.sorted = slices.Compact(h.seen), true
	}
}

// toldHeld is the share of the validation text from which on a person is told: a few short documents are in both of most texts.
const toldHeld = 0.01

// heldNote tells of a validation text that is in part the training text, "" where that is not known to be so.
func (c *Corpus) heldNote() string {
	held := c.found.Held
	if held.Documents == 0 || float64(held.Bytes) < toldHeld*float64(held.OfBytes) {
		return ""
	}
	return fmt.Sprintf("%.3g%% of the validation text (%d of %d documents that were compared) stands in the training text, document by document: that part of a loss of "+
		"validation tells nothing of other text; leave the copies out with --set data.duplicates=drop_exact, or name files of other text (%s)",
		100*float64(held.Bytes)/float64(held.OfBytes), held.Documents, held.Of, ValFiles(string(c.owner)))
}
