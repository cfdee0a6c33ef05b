package survey

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Script is a script of Unicode and what of a text is written in it. Common and inherited characters, such as spaces, digits and punctuation,
// belong to none.
type Script struct {
	Name       string  `json:"name"`
	Characters int64   `json:"characters"`
	Share      float64 `json:"share"`     // of the characters that have a script
	Documents  int     `json:"documents"` // that have more characters of it than of any other
}

// scriptRange is a run of characters of one script.
type scriptRange struct {
	low, high rune
	script    int // in scriptNames
}

var scriptNames, scriptRanges = tables()

// tables lists Unicode's scripts but Common and Inherited, by name and by range.
func tables() (names []string, ranges []scriptRange) {
	for name := range unicode.Scripts {
		if name != "Common" && name != "Inherited" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		t := unicode.Scripts[name]
		for _, r := range t.R16 {
			ranges = appendRange(ranges, rune(r.Lo), rune(r.Hi), rune(r.Stride), i)
		}
		for _, r := range t.R32 {
			ranges = appendRange(ranges, rune(r.Lo), rune(r.Hi), rune(r.Stride), i)
		}
	}
	slices.SortFunc(ranges, func(a, b scriptRange) int { return cmp.Compare(a.low, b.low) })
	return names, ranges
}

func appendRange(ranges []scriptRange, low, high, stride rune, script int) []scriptRange {
	if stride == 1 {
		return append(ranges, scriptRange{low, high, script})
	}
	for r := low; r <= high; r += stride {
		ranges = append(ranges, scriptRange{r, r, script})
	}
	return ranges
}

// scriptOf is the number of a character's script, -1 where it has none.
func scriptOf(r rune) int {
	i, found := slices.BinarySearchFunc(scriptRanges, r, func(s scriptRange, r rune) int {
		switch {
		case s.high < r:
			return -1
		case s.low > r:
			return 1
		}
		return 0
	})
	if !found {
		return -1
	}
	return scriptRanges[i].script
}

// look is what is seen in a document.
type look struct {
	characters, words int64
	scripts           map[int]int64
	odd               OddKept
}

// looker looks at documents. Words are for others to count.
type looker struct {
	look
	ascii int64 // letters
}

// latin is the script of ASCII's letters.
var latin = scriptOf('a')

// Add implements [inorder.Worker].
func (l *looker) Add(text []byte) {
	for i := 0; i < len(text); {
		c := text[i]
		l.characters++
		if c < utf8.RuneSelf {
			i++
			switch lower := c | ('a' - 'A'); {
			case 'a' <= lower && lower <= 'z':
				l.ascii++
			case c < ' ' || c == 0x7F:
				l.odd.ascii(c)
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if s := scriptOf(r); s >= 0 {
			l.count(s, 1)
		} else {
			l.odd.other(r, n)
		}
	}
}

func (l *looker) count(script int, n int64) {
	if l.scripts == nil {
		l.scripts = map[int]int64{}
	}
	l.scripts[script] += n
}

// End returns what was seen since the last End, without words.
func (l *looker) End() look {
	if l.ascii > 0 {
		l.count(latin, l.ascii)
	}
	seen := l.look
	l.look, l.ascii = look{}, 0
	return seen
}

// add adds a document of so many bytes to what is told of a side. Scripts are sums by number until they are ranked.
type tally struct {
	side    *Side
	scripts map[int]*Script
	bins    [64]Bin
}

func newTally(side *Side) *tally { return &tally{side: side, scripts: map[int]*Script{}} }

func (t *tally) add(size int64, l look) {
	t.side.Characters += l.characters
	t.side.Words += l.words
	t.side.Odd.join(l.odd)
	bin := &t.bins[bits.Len64(uint64(size))]
	bin.Documents++
	bin.Bytes += size
	main := -1
	for s, n := range l.scripts {
		if t.scripts[s] == nil {
			t.scripts[s] = &Script{Name: scriptNames[s]}
		}
		t.scripts[s].Characters += n
		if main < 0 || n > l.scripts[main] || n == l.scripts[main] && s < main {
			main = s
		}
	}
	if main >= 0 {
		t.scripts[main].Documents++
	}
}

// rank sorts scripts, most characters first, and sets their shares.
func rank(scripts []Script) {
	sum := int64(0)
	for _, s := range scripts {
		sum += s.Characters
	}
	for i := range scripts {
		scripts[i].Share = float64(scripts[i].Characters) / float64(sum)
	}
	slices.SortFunc(scripts, func(a, b Script) int {
		return cmp.Or(cmp.Compare(b.Characters, a.Characters), cmp.Compare(a.Name, b.Name))
	})
}

// finish ranks scripts and leaves out bins at both ends in which there is nothing.
func (t *tally) finish() {
	for _, s := range t.scripts {
		t.side.Scripts = append(t.side.Scripts, *s)
	}
	rank(t.side.Scripts)
	first, last := len(t.bins), -1
	for i := range t.bins {
		t.bins[i].Below = 1 << min(i, 62)
		if t.bins[i].Documents > 0 {
			first, last = min(first, i), i
		}
	}
	if last >= 0 {
		t.side.Lengths = slices.Clone(t.bins[first : last+1])
	}
}
