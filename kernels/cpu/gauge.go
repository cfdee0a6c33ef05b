package cpu

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// What decides that a helper is more of a burden than a help.
const (
	lateSlack  = 100 * time.Microsecond // a loop that takes this and a quarter more than it should was held up by a thread without a core
	stake      = 10 * time.Millisecond  // lost to a helper, more than gained by it, before it is sent away; gained, before it is trusted again
	firstPause = 10 * time.Millisecond  // without it, the first time; twice as long after each time that it was of no use again
	mostPause  = 500 * time.Millisecond
)

// gauge says how many helpers a pool's loops are offered to: all, or one less. Where another process has taken a core, a helper shares one with it, or
// with the caller itself, and the caller waits for its core or for the rest of a task that the helper began; with short loops that costs more time
// than the helper saves. The gauge keeps an account of one helper's worth, sends the last one away when it has lost the stake, and takes it back after a
// pause, which grows while it goes on losing. No more than one goes, as what holds up a loop may be anybody's fault: of many helpers one is
// soon spared. The gauge decides who runs tasks, never how work is cut.
type gauge struct {
	helpers int
	active  atomic.Int32
	_       [52]byte      // helpers read the line above
	mu      sync.Mutex    // of what follows
	score   time.Duration // that the last helper has saved, at most the stake
	pause   time.Duration // after the next loss
	until   time.Duration // when the one that is away is tried again
}

func newGauge(helpers int) *gauge {
	g := &gauge{helpers: helpers, pause: firstPause}
	g.active.Store(int32(helpers))
	return g
}

// at is how many helpers a loop that begins now is offered to.
func (g *gauge) at(now time.Duration) int {
	n := int(g.active.Load())
	if n == g.helpers || !g.mu.TryLock() {
		return n
	}
	defer g.mu.Unlock()
	if now < g.until {
		return n
	}
	g.score = 0
	g.active.Store(int32(g.helpers))
	return g.helpers
}

// note enters what a loop that was offered to so many helpers and ended now gained by the last of them. Where several callers come at once, one is
// enough.
func (g *gauge) note(helpers int, gain, now time.Duration) {
	if gain == 0 || helpers < g.helpers || !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	if int(g.active.Load()) < g.helpers { // another caller's loss sent it away
		return
	}
	g.score = min(g.score+gain, stake)
	switch {
	case g.score == stake:
		g.pause = firstPause
	case g.score <= -stake:
		g.active.Store(int32(helpers - 1))
		g.until = now + g.pause
		g.pause = min(2*g.pause, mostPause)
	}
}

// unit is about what a task of a loop takes on a core of its own: near the least that was seen, as other threads only add to it. 0 = not known.
type unit float64

// learn enters that one worker ran so many of n tasks in that time.
func (u *unit) learn(ran, n int64, took time.Duration) {
	if ran == 0 {
		return
	}
	seen := float64(took) / float64(ran)
	share := float64(ran) / float64(n) // few tasks of many may be short ones
	switch u := (*float64)(u); {
	case *u == 0:
		*u = seen
	case seen < *u:
		*u += (seen - *u) * share
	default:
		*u += min(seen-*u, *u) * share / 16
	}
}

// gain is the time that a loop of n tasks was shorter than with one helper less: negative only if the loop took so much longer than it should that
// a thread must have been without a core, and not for what is lost to the speed of memory or to parts of different sizes.
func (u unit) gain(n int64, helpers int, took time.Duration) time.Duration {
	if u == 0 {
		return 0
	}
	each := func(workers int) float64 { return math.Ceil(float64(n)/float64(workers)) * float64(u) }
	gain := min(time.Duration(each(helpers))-took, took/time.Duration(helpers))
	if late := float64(took) > 1.25*each(helpers+1)+float64(lateSlack); !late {
		return max(gain, 0)
	}
	return gain
}
