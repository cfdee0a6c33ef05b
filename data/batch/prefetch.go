package batch

import (
	"errors"
	"sync"
)

// Prefetcher prepares the batches of a [Feed] ahead of time in a goroutine of its own. It hands out the same batches in the same order.
// Its methods are for one goroutine at a time. The feed belongs to it until [Prefetcher.Close].
type Prefetcher struct {
	feed   Feed
	depth  int
	cursor Cursor        // after the last batch handed out
	free   chan *slot    // to be filled
	full   chan *slot    // filled, in order
	stop   chan struct{} // closed to end the goroutine; nil once it has ended
	worker sync.WaitGroup
}

// slot is a batch on its way, or the error in its place, and the feed's place after it.
type slot struct {
	batch Batch
	after Cursor
	err   error
}

var errClosed = errors.New("the prefetcher is closed")

// Prefetch starts to prepare up to depth batches (at least one) from the feed's place on.
func Prefetch(f Feed, depth int) *Prefetcher {
	p := &Prefetcher{feed: f, depth: max(depth, 1)}
	p.start()
	return p
}

// start begins at the feed's place with nothing prepared.
func (p *Prefetcher) start() {
	p.cursor = p.feed.Cursor()
	p.free, p.full, p.stop = make(chan *slot, p.depth), make(chan *slot, p.depth), make(chan struct{})
	for range p.depth {
		p.free <- new(slot)
	}
	free, full, stop := p.free, p.full, p.stop
	p.worker.Go(func() { fill(p.feed, free, full, stop) })
}

// fill prepares batches until it is told to stop. full has room for every slot there is, so sending never waits.
func fill(f Feed, free <-chan *slot, full chan<- *slot, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case s := <-free:
			s.err = f.Next(&s.batch)
			s.after = f.Cursor()
			full <- s
		}
	}
}

// Next is [Feed.Next].
func (p *Prefetcher) Next(dst *Batch) error {
	if p.stop == nil {
		return errClosed
	}
	s := <-p.full
	defer func() { p.free <- s }()
	if s.err != nil {
		return s.err
	}
	dst.resize(s.batch.B, s.batch.T, s.batch.Docs != nil)
	copy(dst.Inputs, s.batch.Inputs)
	copy(dst.Targets, s.batch.Targets)
	copy(dst.Docs, s.batch.Docs)
	p.cursor = s.after
	return nil
}

// Cursor is the place after the last batch handed out, whatever is prepared beyond it.
func (p *Prefetcher) Cursor() Cursor { return p.cursor }

// Seek is [Feed.Seek]; what was prepared is dropped. After an error the prefetcher goes on where it stood.
func (p *Prefetcher) Seek(c Cursor) error {
	if p.stop == nil {
		return errClosed
	}
	if err := p.Close(); err != nil {
		return err
	}
	err := p.feed.Seek(c)
	p.start()
	return err
}

// Close ends the goroutine and leaves the feed at [Prefetcher.Cursor]. Closing twice does no harm.
func (p *Prefetcher) Close() error {
	if p.stop == nil {
		return nil
	}
	close(p.stop)
	p.worker.Wait()
	p.stop = nil
	return p.feed.Seek(p.cursor)
}
