package token

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// directMerge merges the leftmost pair of the lowest id, one at a time, until there is none.
func directMerge(m map[pair]int32, ids []int32) []int32 {
	ids = slices.Clone(ids)
	for {
		at, lowest := -1, int32(0)
		for i := range len(ids) - 1 {
			if id, merges := m[pairOf(ids[i], ids[i+1])]; merges && (at < 0 || id < lowest) {
				at, lowest = i, id
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = lowest
		ids = slices.Delete(ids, at+1, at+2)
	}
}

// tableOf makes a table of merges whose ids ascend in their order.
func tableOf(merges map[pair]int32) *mergeTable {
	m := newMergeTable(len(merges))
	for _, p := range slices.SortedFunc(maps.Keys(merges), func(a, b pair) int { return int(merges[a] - merges[b]) }) {
		left, right := p.ids()
		m.add(left, right, merges[p])
	}
	return m
}

func TestMergingAgainstDirectReading(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for round := range 300 {
		table := map[pair]int32{}
		letters := 1 + r.IntN(3)
		for id := int32(256); id < int32(257+r.IntN(12)); id++ {
			some := func() int32 {
				if n := id - 256; n > 0 && r.IntN(2) == 0 {
					return 256 + r.Int32N(n)
				}
				return int32(r.IntN(letters))
			}
			if p := pairOf(some(), some()); table[p] == 0 {
				table[p] = id
			}
		}
		ids := make([]int32, r.IntN(120))
		for i := range ids {
			ids[i] = int32(r.IntN(letters))
		}
		want := directMerge(table, ids)
		merges := tableOf(table)
		short, long := slices.Clone(ids), slices.Clone(ids)
		if short = short[:merges.applyShort(short)]; !slices.Equal(short, want) {
			t.Fatalf("round %d: short way %d, want %d (merges %v of %d)", round, short, want, table, ids)
		}
		if long = long[:merges.applyLong(long, &mergeRoom{})]; !slices.Equal(long, want) {
			t.Fatalf("round %d: long way %d, want %d (merges %v of %d)", round, long, want, table, ids)
		}
	}
}

// directTrain recounts all pairs before every merge. It returns the merges and the trained segmentation of each word.
func directTrain(words map[string]int64, most int) (merges []pair, segmented map[string][]int32) {
	segmented = map[string][]int32{}
	spell := map[int32]string{}
	for b := range 256 {
		spell[int32(b)] = string([]byte{byte(b)})
	}
	for word := range words {
		for _, b := range []byte(word) {
			segmented[word] = append(segmented[word], int32(b))
		}
	}
	for len(merges) < most {
		counts := map[pair]int64{}
		for word, ids := range segmented {
			for i := range len(ids) - 1 {
				counts[pairOf(ids[i], ids[i+1])] += words[word]
			}
		}
		best, found := pair(0), false
		for p, n := range counts {
			left, right := p.ids()
			if n < 2 || len(spell[left]+spell[right]) > maxTokenBytes {
				continue
			}
			if !found || n > counts[best] || n == counts[best] && p < best {
				best, found = p, true
			}
		}
		if !found {
			break
		}
		id := int32(256 + len(merges))
		left, right := best.ids()
		spell[id] = spell[left] + spell[right]
		merges = append(merges, best)
		for word, ids := range segmented {
			segmented[word] = directMerge(map[pair]int32{best: id}, ids)
		}
	}
	return merges, segmented
}

func TestTrainingAgainstRecounting(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 120 {
		letters := 1 + r.IntN(4)
		words := map[string]int64{}
		var text strings.Builder
		for range 1 + r.IntN(40) {
			word := " "
			for range 1 + r.IntN(14) {
				word += string(rune('a' + r.IntN(letters)))
			}
			times := 1 + r.IntN(4)
			words[word] += int64(times)
			text.WriteString(strings.Repeat(word, times))
		}
		want, segmented := directTrain(words, 60)
		trained, err := New(Config{Kind: "bpe", Vocab: 257 + 60}, one(text.String()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := trained.(*bpeTokenizer).learned; !slices.Equal(got, want) {
			t.Fatalf("round %d: merges %x, want %x", round, got, want)
		}
		if trained.Vocab() != 257+len(want) {
			t.Fatalf("vocabulary %d after %d merges", trained.Vocab(), len(want))
		}
		for word, ids := range segmented {
			if got := mustEncode(t, trained, word); !slices.Equal(got, ids) {
				t.Fatalf("round %d: %q encodes to %d, training left it as %d", round, word, got, ids)
			}
		}
	}
}

// TestTrainingByHand is worked out on paper. Words: "low" 3, " low" 2, " lower" 1. Pairs: lo 6, ow 6, " l" 3, we 1, er 1. The tie of
// lo (108, 111) and ow (111, 119) goes to lo = 256; then (256, w) 6 = 257; then (space, 257) 3 = 258. Nothing else occurs twice.
func TestTrainingByHand(t *testing.T) {
	trained, err := New(Config{Kind: "bpe", Vocab: 5000}, one("low low", "low low lower", "low"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []pair{pairOf('l', 'o'), pairOf(256, 'w'), pairOf(' ', 257)}
	if got := trained.(*bpeTokenizer).learned; !slices.Equal(got, want) {
		t.Errorf("merges %x, want %x", got, want)
	}
	if trained.Vocab() != 260 || trained.Separator() != 259 {
		t.Errorf("vocabulary %d and separator %d, want the smaller 260 and 259", trained.Vocab(), trained.Separator())
	}
	if got, want := mustEncode(t, trained, "low lower"), []int32{257, 258, 'e', 'r'}; !slices.Equal(got, want) {
		t.Errorf("ids %d, want %d", got, want)
	}
}

func TestTrainingStopsAtTheVocabulary(t *testing.T) {
	for _, vocab := range []int{258, 259, 280} {
		trained, err := New(Config{Kind: "bpe", Vocab: vocab}, one(strings.Repeat(sample, 4)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if trained.Vocab() != vocab {
			t.Errorf("vocabulary %d, want %d", trained.Vocab(), vocab)
		}
	}
}

func TestTrainingReportsProgress(t *testing.T) {
	var reports []string
	text := strings.Repeat(sample, 1+(2<<20)/len(sample))
	_, err := New(Config{Kind: "bpe", Vocab: 260}, one(text), func(done, total int64) error {
		if total == 0 {
			done >>= 20
		}
		reports = append(reports, fmt.Sprint(done, "/", total))
		return nil
	})
	if want := "1/0 2/0 2/0 1/3 2/3 3/3"; err != nil || strings.Join(reports, " ") != want {
		t.Errorf("reports %q (%v), want %q", reports, err, want)
	}
}

// TestLongRuns would not end in reasonable time if either training or encoding took quadratic time.
func TestLongRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	mixed := make([]byte, 1<<20)
	for i := range mixed {
		mixed[i] = "acgt"[r.IntN(4)]
	}
	justTooLong := strings.Repeat(strings.Repeat("a", maxTokenBytes+1)+"\n", 4)
	for _, text := range []string{strings.Repeat("a", 1<<20), justTooLong, string(mixed)} {
		trained, err := New(Config{Kind: "bpe", Vocab: 400}, one(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		ids := mustEncode(t, trained, text)
		if back, err := trained.Decode(nil, ids...); err != nil || string(back) != text {
			t.Errorf("a run of %d bytes does not come back (%v)", len(text), err)
		}
		if len(ids) > len(text)/2 {
			t.Errorf("%d ids for %d bytes", len(ids), len(text))
		}
		for id := range int32(trained.Vocab()) {
			if token, _ := trained.Decode(nil, id); len(token) > maxTokenBytes {
				t.Fatalf("id %d has %d bytes", id, len(token))
			}
		}
	}
}

// TestWordCacheIsBounded encodes more distinct words than a cache holds, twice.
func TestWordCacheIsBounded(t *testing.T) {
	trained := buildAll(t)["bpe"]
	var text strings.Builder
	for i := range cachedWords + 1000 {
		for n := i; ; n /= 26 {
			text.WriteByte(byte('a' + n%26))
			if n < 26 {
				break
			}
		}
		text.WriteByte(' ')
	}
	first := mustEncode(t, trained, text.String())
	cache := trained.(*bpeTokenizer).pool.Get().(*wordCache)
	if size := unsafe.Sizeof(cache.words[0]); size != 64 || len(cache.words) != cachedWords || cachedWords*size > 2<<20 {
		t.Errorf("a cache of %d words in %d bytes each", len(cache.words), size)
	}
	if second := mustEncode(t, trained, text.String()); !slices.Equal(first, second) {
		t.Error("the same text gives other ids the second time")
	}
	if back, err := trained.Decode(nil, first...); err != nil || string(back) != text.String() {
		t.Errorf("the text does not come back (%v)", err)
	}
}

// TestRoomIsBounded merges words of several lengths: what is kept is used again, and does not stay at the longest word's.
func TestRoomIsBounded(t *testing.T) {
	m := newMergeTable(1)
	m.add('a', 'b', 256)
	var room mergeRoom
	for _, c := range []struct{ n, least int }{{1000, 16_000}, {500_000, 16_000}, {20_000, 320_000}, {1 << 20, 320_000}} {
		ids := slices.Repeat([]int32{'a', 'b'}, c.n/2)
		if n := m.apply(ids, &room); n != c.n/2 || ids[n-1] != 256 {
			t.Errorf("%d bytes are %d ids", c.n, n)
		}
		if kept := room.bytes(); kept < c.least || kept > mostRoom {
			t.Errorf("after a word of %d bytes %d bytes are kept, want %d to %d", c.n, kept, c.least, mostRoom)
		}
	}
}
