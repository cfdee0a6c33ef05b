package dedup

// Most is how many texts a [Finder] compares with; those that come after so many that stay are no copies of anything. It bounds memory at about
// 1 GiB: 560 bytes a text that stays, and 30 for one that does not.
const Most = 1 << 21

// mostInBand is how many texts with the same values in a band a text is compared with: the last ones that stay.
const mostInBand = 64

// Copy says that a text is a copy of an earlier one.
type Copy struct {
	Of         int     // number of an earlier text, which is no copy itself
	Similarity float64 // to that one, estimated; 1 for equal bytes
	Exact      bool    // an earlier text has the same bytes: that one, or another copy of it
}

// Finder finds, of texts that come one after another, those that are copies of an earlier one that stays. A text stays when it is no copy. What is
// found depends on the prints and their order alone. Texts are counted from 0.
type Finder struct {
	near  bool
	most  int // texts that stay: [Most], but in tests
	texts int
	first map[[16]byte]int32 // by a text's bytes, its place in stays, or that of the text it is a copy of

	stays []int // numbers of texts
	// Of near duplicates alone:
	prints []Print            // of those that stay
	heads  []map[uint32]int32 // by band and its values, the last that stays, as its place in prints
	before [][Bands]int32     // by place and band, the one before with the same values, -1 for none
}

// NewFinder returns a finder of texts with equal bytes, or, where near is set, of similar texts too.
func NewFinder(near bool) *Finder {
	f := &Finder{near: near, most: Most, first: map[[16]byte]int32{}}
	if near {
		for range Bands {
			f.heads = append(f.heads, map[uint32]int32{})
		}
	}
	return f
}

// Add takes the next text. It says whether, and of which, it is a copy: of the one with the same bytes, else of the most similar, the first of
// them.
func (f *Finder) Add(p Print) (c Copy, is bool) {
	number := f.texts
	f.texts++
	if at, seen := f.first[p.Exact]; seen {
		c = Copy{Of: f.stays[at], Similarity: 1, Exact: true}
		if f.near && f.prints[at].Exact != p.Exact { // equal to one that is a near copy itself
			c.Similarity = f.prints[at].Similarity(&p)
		}
		return c, true
	}
	if f.near && p.Words {
		if at, similarity := f.closest(&p); at >= 0 {
			f.first[p.Exact] = at
			return Copy{Of: f.stays[at], Similarity: similarity}, true
		}
	}
	if len(f.stays) < f.most {
		f.keep(number, p)
	}
	return Copy{}, false
}

// Full says whether some texts were compared with nothing that came after [Most] texts.
func (f *Finder) Full() bool { return len(f.stays) == f.most }

// closest is the place of the most similar text that stays, -1 where none is similar.
func (f *Finder) closest(p *Print) (place int32, similarity float64) {
	place, similarity = -1, Similar
	for band, heads := range f.heads {
		at, ok := heads[p.Bands[band]]
		if !ok {
			continue
		}
		for n := 0; at >= 0 && n < mostInBand; n++ {
			if s := p.Similarity(&f.prints[at]); s > similarity || s == similarity && (place < 0 || at < place) {
				place, similarity = at, s
			}
			at = f.before[at][band]
		}
	}
	return place, similarity
}

// keep has a text stay.
func (f *Finder) keep(number int, p Print) {
	at := int32(len(f.stays))
	f.stays = append(f.stays, number)
	f.first[p.Exact] = at
	if !f.near {
		return
	}
	f.prints = append(f.prints, p)
	before := [Bands]int32{}
	for band := range before {
		before[band] = -1
		if !p.Words {
			continue
		}
		if head, ok := f.heads[band][p.Bands[band]]; ok {
			before[band] = head
		}
		f.heads[band][p.Bands[band]] = at
	}
	f.before = append(f.before, before)
}
