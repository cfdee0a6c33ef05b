package survey

import (
	"cmp"
	"slices"

	"prenorm/data/dedup"
)

// GramWords is the length in words of the n-grams that are looked for in both texts (as Brown et al. 2020, appendix C, have it). A document of
// fewer words counts as one n-gram.
const GramWords = 13

// mostGrams is how many different n-grams of the validation text are looked for, in 32 MiB. Of a text with more those are taken whose hash is
// below a bound, which is the largest power of two at which there are not more: a sample of 1/Sampled of them. Tests make it smaller.
var mostGrams = 1 << 20

// Overlap is what of the validation text occurs in the training text.
type Overlap struct {
	Words     int        `json:"words"`     // of an n-gram
	Sampled   int64      `json:"sampled"`   // one n-gram of so many was looked for
	Grams     int64      `json:"grams"`     // of the validation text that were looked for, repetitions counted
	Found     int64      `json:"found"`     // of these, in the training text
	Documents int        `json:"documents"` // of the validation text of which some n-gram was looked for
	Any       int        `json:"any"`       // of these: some n-gram was found
	Half      int        `json:"half"`      // half or more were found
	All       int        `json:"all"`       // all were found
	List      []Overlaid `json:"list"`      // documents with most first
}

// Overlaid is a validation document with n-grams of the training text.
type Overlaid struct {
	Document string  `json:"document"`
	Train    string  `json:"train"` // the training document that was the first to have most of them
	Share    float64 `json:"share"`
	Grams    int64   `json:"grams"` // that were looked for
}

// Share is that of the n-grams found.
func (o Overlap) Share() float64 { return float64(o.Found) / float64(max(o.Grams, 1)) }

// seen is what the first pass over a document makes: a look, and n-grams or their places.
type seen struct {
	look
	hashes []uint64
	bound  uint64 // of hashes
	places []int32
}

// firstLook looks at documents of either side.
type firstLook struct {
	*looker
	grams  *gatherer
	sample *sample // of training documents: what to look for
}

func (f *firstLook) Add(text []byte) {
	f.looker.Add(text)
	f.grams.Add(text)
}

func (f *firstLook) End() seen {
	s := seen{look: f.looker.End()}
	f.grams.Words.End()
	s.words = int64(f.grams.Seen())
	s.hashes, s.bound = f.grams.take()
	if f.sample != nil {
		for _, h := range s.hashes {
			s.places = append(s.places, f.sample.index[h])
		}
		s.hashes = nil
	}
	return s
}

// counting looks at validation documents for the second time.
type counting struct {
	*dedup.Grams
	sample *sample
	count  overlayCount
	hits   map[int32]int // n-grams by training document
}

func newCounting(looked *sample) *counting {
	c := &counting{sample: looked, hits: map[int32]int{}}
	c.Grams = dedup.NewGrams(GramWords, c.gram)
	return c
}

func (c *counting) gram(hash uint64) {
	at, is := c.sample.place(hash)
	if !is {
		return
	}
	c.count.grams++
	train := c.sample.first[at]
	if train < 0 {
		return
	}
	c.count.found++
	c.hits[train]++
	if c.count.in == nil {
		c.count.in = make([]int64, c.sample.sources)
	}
	for source := range c.count.in {
		if c.sample.isIn(at, source) {
			c.count.in[source]++
		}
	}
}

// End tells how many n-grams were looked for and found, and the training document that has most of them.
func (c *counting) End() overlayCount {
	c.Grams.End()
	out := c.count
	out.train = -1
	for train, n := range c.hits {
		if best := c.hits[out.train]; n > best || n == best && train < out.train {
			out.train = train
		}
	}
	c.count = overlayCount{}
	clear(c.hits)
	return out
}

type overlayCount struct {
	grams, found int64
	in           []int64 // by source, nil where nothing was found
	train        int32   // in sample.names, -1 for none
}

// count counts a validation document.
func (o *Overlap) count(c overlayCount) {
	if c.grams == 0 {
		return
	}
	o.Documents++
	o.Grams += c.grams
	o.Found += c.found
	if c.found > 0 {
		o.Any++
	}
	if 2*c.found >= c.grams {
		o.Half++
	}
	if c.found == c.grams {
		o.All++
	}
}

// list lists a validation document.
func (o *Overlap) list(name string, c overlayCount, looked *sample) {
	if c.found == 0 {
		return
	}
	o.List = append(o.List, Overlaid{name, looked.names[c.train], float64(c.found) / float64(c.grams), c.grams})
	if len(o.List) >= 2*mostListed {
		o.trim(mostListed)
	}
}

// trim leaves the documents with the largest shares, of equal ones those with more n-grams and then the first.
func (o *Overlap) trim(most int) {
	slices.SortStableFunc(o.List, func(a, b Overlaid) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Grams, a.Grams))
	})
	o.List = o.List[:min(len(o.List), most)]
}
