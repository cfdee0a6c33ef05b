// Package inorder has all cores work on texts, and hands on what they made in the order of the texts.
package inorder

import (
	"runtime"
	"sync"
)

// Worker makes something of one text after another. A text may come in stretches.
type Worker[R any] interface {
	Add(text []byte)
	End() R // of the text since the last End
}

// Pool gives whole texts to one worker a core. Texts in stretches go through one more worker, in the goroutine that adds them.
type Pool[R any] struct {
	use     func(R)
	group   sync.WaitGroup
	work    chan *job[R]
	waiting []*job[R] // in order
	size    int       // bytes of text that wait
	long    Worker[R]
	inside  bool // a text that comes in stretches
}

type job[R any] struct {
	text   []byte
	result R
	done   chan struct{}
}

// How much may wait: bytes of text, besides the last one, and texts.
const (
	mostBytes = 8 << 20
	mostTexts = 1024
)

// New starts a pool. What workers make is handed to use, in the order of the texts, by the goroutine that calls the pool's methods; what that
// is depends on the texts alone.
func New[R any](worker func() Worker[R], use func(R)) *Pool[R] {
	p := &Pool[R]{use: use, work: make(chan *job[R], mostTexts), long: worker()}
	for range runtime.GOMAXPROCS(0) {
		p.group.Go(func() {
			w := worker()
			for j := range p.work {
				w.Add(j.text)
				j.result, j.text = w.End(), nil
				close(j.done)
			}
		})
	}
	return p
}

// Add takes a text, or the next stretch of one, which last ends. The pool keeps the slice.
func (p *Pool[R]) Add(text []byte, last bool) {
	if !last || p.inside {
		p.inside = !last
		if p.long.Add(text); last {
			p.drain()
			p.use(p.long.End())
		}
		return
	}
	j := &job[R]{text: text, done: make(chan struct{})}
	p.waiting = append(p.waiting, j)
	p.size += len(text)
	p.work <- j
	if p.size > mostBytes || len(p.waiting) == mostTexts {
		p.drain()
	}
}

// drain waits for all that workers are at and hands it on.
func (p *Pool[R]) drain() {
	for _, j := range p.waiting {
		<-j.done
		p.use(j.result)
	}
	clear(p.waiting)
	p.waiting, p.size = p.waiting[:0], 0
}

// Close hands on all that is left and ends the workers.
func (p *Pool[R]) Close() {
	close(p.work)
	p.drain()
	p.group.Wait()
}
