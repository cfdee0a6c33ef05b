package corpus

import (
	"prenorm/data/dedup"
	"prenorm/data/inorder"
)

// comparer finds copies among documents that come one after another.
type comparer struct {
	waiting []Copied // documents whose prints are to come
	names   []string // of those that were compared, "" of copies
	finder  *dedup.Finder
	pool    *inorder.Pool[dedup.Print]
}

// newComparer hands copies to use, and what is none to stays, which may be nil, until it is closed.
func newComparer(near bool, use func(Copied), stays func(Stays)) *comparer {
	c := &comparer{finder: dedup.NewFinder(near)}
	c.pool = inorder.New(func() inorder.Worker[dedup.Print] { return dedup.NewPrinter() }, func(print dedup.Print) {
		found := c.waiting[0]
		c.waiting = c.waiting[1:]
		var is bool
		if found.Copy, is = c.finder.Add(print); !is {
			c.names = append(c.names, found.Name)
			if stays != nil {
				stays(Stays{found.Name, found.Bytes, print})
			}
			return
		}
		c.names = append(c.names, "")
		found.Of = c.names[found.Copy.Of]
		use(found)
	})
	return c
}

// add takes a document, or a stretch of one, which continues one or has more behind it.
func (c *comparer) add(name string, place copyPlace, text []byte, continues, more bool) {
	if !continues {
		c.waiting = append(c.waiting, Copied{Name: name, place: place})
	}
	c.waiting[len(c.waiting)-1].Bytes += int64(len(text))
	c.pool.Add(text, !more)
}

// close compares what waits.
func (c *comparer) close() Compared {
	c.pool.Close()
	return Compared{Documents: len(c.names), Full: c.finder.Full()}
}

// CopiesAmong is [Corpus.Copies] of documents that are of no corpus. Of Rest it wants to know no more than whether it is 0.
func CopiesAmong(documents Documents, near bool, use func(Copied), stays func(Stays)) (compared Compared, err error) {
	c := newComparer(near, use, stays)
	defer func() { compared = c.close() }()
	for d, err := range documents {
		if err != nil {
			return compared, err
		}
		c.add(d.Name, copyPlace{}, d.Text, d.Continues, d.Rest > 0)
	}
	return compared, nil
}
