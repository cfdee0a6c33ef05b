package survey

import (
	"prenorm/data/corpus"
	"prenorm/data/dedup"
)

// Across are documents of one source that are copies of one of an earlier source: sources are taken in the order of data.sources. Training takes
// them, whatever data.duplicates says. A copy within its source is counted there, and not here.
type Across struct {
	Compared int             `json:"compared"` // documents that are no copies within their source
	Exact    int             `json:"exact"`    // copies with the same bytes
	Near     int             `json:"near"`     // similar ones besides
	Bytes    int64           `json:"bytes"`    // of both
	Full     bool            `json:"full"`     // there were too many documents to compare all
	List     []AcrossListing `json:"list"`     // the first mostListed
}

// Between counts documents of one source that are copies of another's.
type Between struct {
	Exact int   `json:"exact"`
	Near  int   `json:"near"`
	Bytes int64 `json:"bytes"` // of both
}

// AcrossListing is a document and that of another source of which it is a copy.
type AcrossListing struct {
	Source   string `json:"source"`
	OfSource string `json:"of_source"`
	CopyListing
}

// across looks for copies across sources, which come one after another. What is a copy within its source is none of its documents, so that those
// within a source are what they are without others.
type across struct {
	*Across
	finder finder
	names  []named // of the documents, in the finder's order; none of copies
}

// finder is a [dedup.Finder].
type finder interface {
	Add(dedup.Print) (dedup.Copy, bool)
	Full() bool
}

// named is a document that may be a copy's original.
type named struct {
	name   string
	source *source
}

func newAcross(out *Across) *across { return &across{Across: out, finder: dedup.NewFinder(true)} }

// of is told of the documents of a source that are no copies within it, by [corpus.Corpus.Copies]; nil where there is but one source.
func (a *across) of(x *source) func(corpus.Stays) {
	if a == nil {
		return nil
	}
	return func(d corpus.Stays) {
		a.Compared++
		found, is := a.finder.Add(d.Print)
		a.Full = a.finder.Full()
		if !is {
			a.names = append(a.names, named{d.Name, x})
			return
		}
		a.names = append(a.names, named{})
		if of := a.names[found.Of]; of.source != x { // of its own, another limit may show what was not found before
			a.count(x, of, d, found)
		}
	}
}

// count counts and lists a document that is a copy.
func (a *across) count(x *source, of named, d corpus.Stays, found dedup.Copy) {
	pair := &x.copies[of.source.number]
	a.Bytes += d.Bytes
	pair.Bytes += d.Bytes
	if found.Exact {
		a.Exact++
		pair.Exact++
	} else {
		a.Near++
		pair.Near++
	}
	if len(a.List) < mostListed {
		a.List = append(a.List, AcrossListing{x.name, of.source.name, CopyListing{d.Name, of.name, found.Similarity, found.Exact, d.Bytes}})
	}
}
