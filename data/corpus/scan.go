package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// Summary describes the documents of one side.
type Summary struct {
	Documents   int
	Bytes       int64
	Fingerprint [32]byte // of a [Hasher] over the documents
}

// Hasher takes the fingerprint of a sequence of documents: SHA-256 over each text after its length in 8 bytes. Names do not count.
type Hasher struct {
	sum       hash.Hash
	documents int
	bytes     int64
}

// NewHasher returns the hasher of an empty sequence.
func NewHasher() *Hasher { return &Hasher{sum: sha256.New()} }

// Add appends a whole document to the sequence.
func (h *Hasher) Add(text []byte) { h.AddPart(text, 0, false) }

// AddPart appends a document, or a stretch of one: rest and continues are as in [Document].
func (h *Hasher) AddPart(text []byte, rest int64, continues bool) {
	if !continues {
		h.sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))+uint64(rest)))
		h.documents++
	}
	h.sum.Write(text)
	h.bytes += int64(len(text))
}

// Documents is the number of documents so far; the last may not be whole.
func (h *Hasher) Documents() int { return h.documents }

// Bytes is the size of the texts so far.
func (h *Hasher) Bytes() int64 { return h.bytes }

// Summary describes the sequence so far.
func (h *Hasher) Summary() Summary {
	return Summary{Documents: h.documents, Bytes: h.bytes, Fingerprint: [32]byte(h.sum.Sum(nil))}
}

// Scan reads everything once, or twice where few documents have to be divided in another way. It is where invalid UTF-8 is found, and a
// division that leaves one side without text: an error, except for data.val.by auto, which then cuts at the end of the text (see
// [Corpus.Note]). The choice depends on the texts alone. progress, if not nil, is told the bytes read of all bytes.
func (c *Corpus) Scan(progress func(done, total int64)) (train, val Summary, err error) {
	c.measures = nil
	if c.auto {
		c.few, c.rule.by = 0, "hash"
	}
	train, val, err = c.scan(progress)
	if err != nil {
		return train, val, err
	}
	if c.auto && (train.Documents == 0 || val.Documents == 0) {
		c.FallBack(train.Documents + val.Documents)
		if train, val, err = c.scan(progress); err != nil {
			return train, val, err
		}
	}
	for side, s := range []Summary{train, val} {
		if s.Documents == 0 {
			return train, val, c.oneSided(Side(side), train.Documents+val.Documents)
		}
	}
	c.found.Train, c.found.Val = train, val
	return train, val, nil
}

// scan reads all documents as they are divided now.
func (c *Corpus) scan(progress func(done, total int64)) (train, val Summary, err error) {
	var total, done, told int64
	for _, files := range c.files {
		for _, f := range files {
			total += f.Size
		}
	}
	tell := func() {
		if told = done; progress != nil {
			progress(min(done, total), total)
		}
	}
	c.again = func(size int64) { total += size }
	c.reading.count = func(n int) {
		if done += int64(n); done-told >= progressBytes {
			tell()
		}
	}
	c.odd, c.alike = &Odd{}, &alike{}
	defer func() { c.again, c.reading.count, c.odd, c.alike = nil, nil, nil, nil }()
	sides, holder := [2]*Hasher{NewHasher(), NewHasher()}, &holder{}
	err = c.all([2]bool{true, true}, func(side Side, d Document) error {
		sides[side].AddPart(d.Text, d.Rest, d.Continues)
		if c.rule.by != "hash" { // which has no document on both sides
			holder.add(side, d)
		}
		tell()
		return nil
	})
	if err == nil && told < done {
		tell()
	}
	c.found.Odd, c.found.Same, c.found.Held = *c.odd, c.alike.one(), holder.held
	return sides[Train].Summary(), sides[Val].Summary(), err
}

// progressBytes is how much is read between two reports of progress, where no document ends meanwhile.
const progressBytes = 1 << 20

// oneSided is the error of a division that leaves nothing on one side.
func (c *Corpus) oneSided(side Side, documents int) error {
	copies := ""
	if c.found.Left.Copies > 0 {
		copies = " (" + c.leftOut() + ")"
	}
	switch files := ValFiles(string(c.owner)); {
	case documents == 0 || c.rule.by == "":
		return c.noText(side, copies)
	case c.rule.by == "hash":
		return fmt.Errorf("data.val: dividing %s%s by hash at fraction %v leaves no %s text: cut at the end of the text instead (--set data.val.by=end), change data.val.fraction, or name validation files (%s)",
			counted(documents, "document"), copies, c.rule.fraction, side, files)
	default:
		return fmt.Errorf("data.val: the last %v of the text leaves no %s text%s: use a longer text, change data.val.fraction, or name validation files (%s)", c.rule.fraction, side, copies, files)
	}
}

// noText is the error of files that were read and gave no document; of those that were to be divided side is Train.
func (c *Corpus) noText(side Side, copies string) error {
	key := [...]string{Train: c.train(), Val: c.val()}[side]
	if copies != "" {
		return fmt.Errorf("%s: no document is left of %s%s: name another text %s, or keep copies with --set data.duplicates=keep", key, listed(c.files[side]), copies, c.remedy(key))
	}
	return fmt.Errorf("%s: there is no text in %s, though there are bytes: name another text %s", key, listed(c.files[side]), c.remedy(key))
}
