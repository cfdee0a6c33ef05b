package cpu

import (
	"testing"
	"time"
)

const taskTime = 50 * time.Microsecond

// desk plays loops of 16 tasks to a gauge on a clock of its own: with no helper a loop takes 16 tasks' time, otherwise what the test says.
type desk struct {
	g            *gauge
	u            unit
	clock, alone time.Duration
	runs, helped int
}

// play runs loops for so long. with says how long loop i takes beside so many helpers, and how many of its tasks the caller runs in how much of that.
func (d *desk) play(span time.Duration, with func(i, helpers int) (took, worked time.Duration, ran int64)) {
	for end := d.clock + span; d.clock < end; d.runs++ {
		helpers := d.g.at(d.clock)
		took, worked, ran := 16*taskTime, 16*taskTime, int64(16)
		if helpers > 0 {
			took, worked, ran = with(d.runs, helpers)
			d.helped++
		}
		d.clock += took
		d.alone += 16 * taskTime
		if helpers > 0 {
			d.g.note(helpers, d.u.gain(16, helpers, took), d.clock)
		}
		d.u.learn(ran, 16, worked)
	}
}

// free is a loop that all workers share as they should.
func free(_, helpers int) (took, worked time.Duration, ran int64) {
	ran = int64(max(16/(helpers+1), 1))
	return time.Duration(ran) * taskTime, time.Duration(ran) * taskTime, ran
}

// taken is a loop of one helper that has a core but for the time of another process: most often it does not come, or takes the caller's core away.
func taken(i, _ int) (took, worked time.Duration, ran int64) {
	switch i % 4 {
	case 0:
		return 8 * taskTime, 8 * taskTime, 8
	case 1:
		return 30 * taskTime, 30 * taskTime, 2
	}
	return 20 * taskTime, 16 * taskTime, 16
}

func TestGaugeKeepsHelpersThatHelp(t *testing.T) {
	for _, helpers := range []int{1, 3, 15} {
		d := &desk{g: newGauge(helpers)}
		d.play(5*time.Second, func(i, n int) (took, worked time.Duration, ran int64) {
			if n != helpers {
				t.Fatalf("loop %d was offered to %d of %d helpers", i, n, helpers)
			}
			took, worked, ran = free(i, n)
			if i%2000 == 1999 { // now and then a thread is interrupted
				took += 3 * time.Millisecond
			}
			if i < 3 { // and at first all is slow
				took, worked = 9*took, 9*worked
			}
			return took, worked, ran
		})
	}
}

// TestGaugeSendsAwayWhoCosts: beside a process that takes a core, loops take about the time that they take alone.
func TestGaugeSendsAwayWhoCosts(t *testing.T) {
	d := &desk{g: newGauge(1)}
	d.play(10*time.Second, taken)
	if r := d.clock.Seconds() / d.alone.Seconds(); r > 1.05 {
		t.Errorf("%.3f times as long as alone, want at most 1.05", r)
	}
	if d.g.pause != mostPause {
		t.Errorf("the pause is %v, want %v", d.g.pause, mostPause)
	}
	left := d.clock
	d.helped, d.runs = 0, 0
	d.play(mostPause+stake, free)
	d.play(time.Second, free)
	if d.g.active.Load() != 1 || d.g.pause != firstPause {
		t.Errorf("%v after the core was free: %d helpers, next pause %v", d.clock-left, d.g.active.Load(), d.g.pause)
	}
	if most := int(mostPause/(16*taskTime)) + 2; d.runs-d.helped > most {
		t.Errorf("%d loops without the helper after the core was free, want at most %d", d.runs-d.helped, most)
	}
}

// TestGaugePauses: each time that a helper was of no use, it is away for twice as long.
func TestGaugePauses(t *testing.T) {
	g := newGauge(1)
	now := time.Duration(0)
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 500, 500} {
		g.note(1, -stake+1, now)
		if g.at(now) != 1 {
			t.Fatal("sent away before the stake was lost")
		}
		g.note(1, -1, now)
		want *= time.Millisecond
		if g.at(now) != 0 || g.at(now+want-1) != 0 {
			t.Fatalf("not away for %v", want)
		}
		if now += want; g.at(now) != 1 {
			t.Fatalf("still away after %v", want)
		}
	}
	g.note(1, stake, now)
	g.note(1, 5*stake, now) // which no loss need outweigh
	g.note(1, -2*stake, now)
	if g.at(now) != 0 || g.at(now+firstPause) != 1 {
		t.Error("a helper that has gained the stake again is not away for the first pause")
	}
}

// TestGaugeBearsLossesThatGainsOutweigh: loops held up now and then by a helper that is worth it all the same.
func TestGaugeBearsLossesThatGainsOutweigh(t *testing.T) {
	d := &desk{g: newGauge(1)}
	d.play(10*time.Second, func(i, n int) (took, worked time.Duration, ran int64) {
		took, worked, ran = free(i, n)
		if i%4 == 3 {
			took += 10 * taskTime
		}
		return took, worked, ran
	})
	if d.helped*100 < d.runs*95 {
		t.Errorf("the helper was there in %d of %d loops", d.helped, d.runs)
	}
}

// TestGaugeSendsAwayOneOfMany: where there is no core for the last of 15 helpers, 14 go on.
func TestGaugeSendsAwayOneOfMany(t *testing.T) {
	d := &desk{g: newGauge(15)}
	least := 15
	d.play(10*time.Second, func(i, n int) (took, worked time.Duration, ran int64) {
		least = min(least, n)
		took, worked, ran = free(i, n)
		if n == 15 && i%2 == 0 {
			took += time.Millisecond
		}
		return took, worked, ran
	})
	if least != 14 {
		t.Errorf("at times %d helpers, want 14", least)
	}
	if d.g.pause != mostPause {
		t.Errorf("the pause is %v, want %v", d.g.pause, mostPause)
	}
}

// TestGaugeKeepsHelpersThatNobodyWaitedFor: of 15 helpers none is sent away for loops that take somewhat longer than with one less, as parts are
// uneven or memory is slow, but not so much longer that a thread was without a core.
func TestGaugeKeepsHelpersThatNobodyWaitedFor(t *testing.T) {
	d := &desk{g: newGauge(15)}
	d.u.learn(16, 16, 16*taskTime)
	if with := 2 * taskTime; d.u.gain(16, 15, 3*with) >= 0 || d.u.gain(16, 15, with+taskTime/2) != 0 {
		t.Fatal("the second loop should be neither late nor a gain, the first late")
	}
	d.play(time.Second, func(i, n int) (took, worked time.Duration, ran int64) {
		if n != 15 {
			t.Fatalf("loop %d was offered to %d of 15 helpers", i, n)
		}
		return 5 * taskTime / 2, taskTime, 1
	})
}

func TestUnitIsNearTheLeast(t *testing.T) {
	var u unit
	u.learn(0, 16, time.Second)
	if u != 0 || u.gain(16, 1, time.Second) != 0 {
		t.Errorf("something is known of tasks that nobody has run: %g", u)
	}
	for range 50 {
		u.learn(16, 16, 16*taskTime)
		u.learn(16, 16, 48*taskTime)
		u.learn(1, 16, time.Nanosecond) // one short task
	}
	if got := float64(u) / float64(taskTime); got < 0.9 || got > 1.1 {
		t.Errorf("a task takes %.2f times what it does", got)
	}
}
