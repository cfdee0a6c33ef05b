package corpus

import "prenorm/data/dedup"

// dropped are the documents that are left out as copies.
type dropped struct {
	places map[copyPlace]struct{}
}

// Left says how many documents data.duplicates leaves out, of all that were compared.
type Left struct{ Copies, Of int }

// copyPlace is a document's place: the list and number of its file, and its number in the file.
type copyPlace struct{ list, file, document int }

// has says whether a document is left out. No documents are, of a nil set.
func (d *dropped) has(list, file, document int) bool {
	if d == nil {
		return false
	}
	_, is := d.places[copyPlace{list, file, document}]
	return is
}

// findCopies finds the documents that data.duplicates leaves out. It does nothing where copies are kept or known.
func (c *Corpus) findCopies() error {
	if c.dropped != nil || c.copies == "" || c.copies == "keep" {
		return nil
	}
	d := &dropped{places: map[copyPlace]struct{}{}}
	compared, err := c.Copies(c.copies == "drop_near", func(found Copied) {
		d.places[found.place] = struct{}{}
	}, nil)
	if err != nil {
		return err
	}
	c.dropped, c.found.Left = d, Left{len(d.places), compared.Documents}
	return nil
}

// Copied is a document that is a copy of an earlier one.
type Copied struct {
	Name, Of string // where both are, as in [Document]
	Bytes    int64
	dedup.Copy

	place copyPlace
}

// Stays is a document that is no copy of an earlier one, and its print.
type Stays struct {
	Name  string
	Bytes int64
	Print dedup.Print
}

// Compared says how many documents of a corpus were compared.
type Compared struct {
	Documents int
	Full      bool // those behind the first [dedup.Most] were not compared with each other
}

// Copies reads everything once and hands on the documents that are copies of an earlier one that is none itself, whatever data.duplicates says,
// and those that are none to stays, which may be nil; both in the order of the documents.
// Files of data.val.files come first, so that training is rid of copies of them; then those of data.train, in order. Documents are compared
// as they are before the text is divided. Memory is that of a [dedup.Finder] and the names of the documents.
func (c *Corpus) Copies(near bool, use func(Copied), stays func(Stays)) (Compared, error) {
	compare := newComparer(near, use, stays)
	err := c.readAll(func(place copyPlace, d chunk) { compare.add(d.name, place, d.text, d.continues, d.more) })
	return compare.close(), err
}

// readAll hands on all documents as they are in their files, those of data.val.files first.
func (c *Corpus) readAll(emit func(copyPlace, chunk)) error {
	for _, list := range []Side{Val, Train} {
		for i := range c.files[list] {
			c.rereads(int(list), i)
			document := -1
			err := c.pass(int(list), i, func(d chunk) error {
				if !d.continues {
					document++
				}
				emit(copyPlace{int(list), i, document}, d)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
