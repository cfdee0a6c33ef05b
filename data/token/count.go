package token

import (
	"runtime"
	"sync"
)

const (
	progressBytes = 1 << 20   // how much text is read between two reports of progress
	countedPiece  = 256 << 10 // what a core counts at a time
)

// wordCounts holds the distinct pre-tokens of a corpus and how often each occurs.
type wordCounts struct {
	index  map[string]int32
	words  []string
	counts []int64
}

func newWordCounts() *wordCounts { return &wordCounts{index: map[string]int32{}} }

// countWords counts pre-tokens on all cores, each in a table of its own. What is counted does not depend on how many there are; the order of
// the words does, and what is learned from them does not depend on that.
func countWords(texts Texts, split splitter, progress Progress) (*wordCounts, error) {
	tables := make([]*wordCounts, runtime.GOMAXPROCS(0))
	full, free := make(chan []byte), make(chan []byte, len(tables)+1)
	for range cap(free) {
		free <- nil
	}
	var group sync.WaitGroup
	for i := range tables {
		c := newWordCounts()
		tables[i] = c
		group.Go(func() {
			for piece := range full {
				for rest := piece; len(rest) > 0; {
					n := split(rest)
					c.add(rest[:n], 1)
					rest = rest[n:]
				}
				free <- piece
			}
		})
	}
	err := deal(texts, full, free, progress)
	close(full)
	group.Wait()
	if err != nil {
		return nil, err
	}
	for _, c := range tables[1:] {
		for i, word := range c.words {
			tables[0].add([]byte(word), c.counts[i])
		}
	}
	return tables[0], nil
}

// deal hands out the texts in copies of pieces, whose memory comes back through free.
func deal(texts Texts, full chan<- []byte, free <-chan []byte, progress Progress) error {
	done, reported := int64(0), int64(0)
	for text, err := range texts {
		if err != nil {
			return err
		}
		for len(text) > 0 {
			n := patternPlaces.Cut(text, countedPiece)
			full <- append((<-free)[:0], text[:n]...)
			text = text[n:]
			done += int64(n)
			if done-reported >= progressBytes {
				if err := progress(done, 0); err != nil {
					return err
				}
				reported = done
			}
		}
	}
	return progress(done, 0)
}

func (c *wordCounts) add(word []byte, times int64) {
	i, known := c.index[string(word)]
	if !known {
		i = int32(len(c.words))
		c.words = append(c.words, string(word))
		c.counts = append(c.counts, 0)
		c.index[c.words[i]] = i
	}
	c.counts[i] += times
}
