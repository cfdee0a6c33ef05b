package corpus

import (
	"bytes"
	"fmt"
)

// alike finds whether all documents have the same bytes. It compares as long as they do, and holds one document at most.
type alike struct {
	first   []byte
	count   int
	differs bool
}

// add looks at the next document. One in stretches counts as another: a text that long has nothing for a person to overlook.
func (a *alike) add(d chunk) {
	if a.differs {
		return
	}
	if a.count++; a.count == 1 {
		a.first = d.text
	}
	if d.more || d.continues || !bytes.Equal(a.first, d.text) {
		a.first, a.differs = nil, true
	}
}

// one says that there are several documents and all have the same bytes.
func (a *alike) one() bool { return a.count > 1 && !a.differs }

// repeatedNote tells of a validation text that has nothing that the training text has not, "" where that is not known to be so.
func (c *Corpus) repeatedNote() string {
	train, val := c.found.Train, c.found.Val
	tells := fmt.Sprintf("a loss of validation tells nothing of other text; name files of other text (%s)", ValFiles(string(c.owner)))
	switch {
	case c.rule.by == "" && val.Documents > 0 && train == val:
		return "the validation text is the training text, document by document: " + tells
	case c.found.Same:
		return "all documents have the same bytes: " + tells
	}
	return c.heldNote()
}
