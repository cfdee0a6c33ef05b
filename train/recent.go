package train

import (
	"fmt"
	"reflect"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/train/metrics"
)

// RecentSteps is how many steps before the one that is held back a bundle has the batches of. What spoils a step is often a text that came a few
// steps earlier; more than a few nobody reads.
const RecentSteps = 4

// RecentBytes is the host memory of the batches of those steps, of so many tokens each: inputs and targets, and documents where attention stays
// inside them.
func RecentBytes(tokens int64, documents bool) int64 {
	return RecentSteps * BatchBytes(tokens, documents)
}

// BatchBytes is the memory of the batches of a step of so many tokens, and what they take in a bundle.
func BatchBytes(tokens int64, documents bool) int64 {
	numbers := int64(2)
	if documents {
		numbers = 3
	}
	return numbers * int64(kernels.I32.Size()) * tokens
}

// Recent is what a run remembers of a step for the bundle of a later one, beside the ids of its batches, which are read again from their place
// where the run goes on from a checkpoint.
type Recent struct {
	Step     int64         `json:"step"`
	Cursor   batch.Cursor  `json:"cursor"` // of its batches
	Loss     metrics.Float `json:"loss"`
	GradNorm metrics.Float `json:"grad_norm"`
	Held     bool          `json:"held,omitempty"` // back: its update was not applied
}

// String is one line for people.
func (r Recent) String() string {
	text := fmt.Sprintf("step %d  loss %.6g  gradient norm %.6g", r.Step, float64(r.Loss), float64(r.GradNorm))
	if r.Held {
		text += "  held back"
	}
	return text
}

// ring holds the batches of the last steps and of the one at work: a set for each, oldest first. Sets are filled anew in turn, so nothing is
// copied, and nothing allocated once all have been filled.
type ring [][]*batch.Batch

// newRing is one of so many steps before the one at work.
func newRing(steps, micros int) ring {
	r := make(ring, steps+1)
	for i := range r {
		for range micros {
			r[i] = append(r[i], &batch.Batch{})
		}
	}
	return r
}

// turn gives out the oldest set, to be filled with the batches of the next step.
func (r ring) turn() []*batch.Batch {
	oldest := r[0]
	copy(r, r[1:])
	r[len(r)-1] = oldest
	return oldest
}

// before are the sets of the last n steps before the one at work, oldest first.
func (r ring) before(n int) [][]*batch.Batch { return r[len(r)-1-n : len(r)-1] }

// keepsRecent is how many steps a run remembers: none where it writes no bundle.
func (g Guard) keepsRecent() int {
	if g.Bundles == 0 {
		return 0
	}
	return RecentSteps
}

// remember takes a step that is done, whose batches are the newest of the ring, among the recent ones.
func (l *loop) remember(step int64, r Result) {
	if n := l.Train.Guard.keepsRecent(); n > 0 {
		l.state.Recent = push(l.state.Recent, Recent{step, l.state.Cursor, metrics.Float(r.Loss), metrics.Float(r.GradNorm), !r.Applied()}, n)
	}
}

// readRecent reads the batches of the steps before a checkpoint again. Where the feed does not give them from one place to the next up to the
// checkpoint's, as after a change of train.batch, they are forgotten: a bundle without them is better than one with others.
func (l *loop) readRecent(feed batch.Feed) error {
	list, now := l.state.Recent, l.state.Cursor
	list = list[max(len(list)-l.Train.Guard.keepsRecent(), 0):]
	l.state.Recent = nil
	for i, r := range list {
		if i == 0 {
			if err := feed.Seek(r.Cursor); err != nil {
				return fmt.Errorf("batches of step %d: %w", r.Step, err)
			}
		}
		if r.Step != l.state.Step-int64(len(list)-1-i) || !reflect.DeepEqual(feed.Cursor(), r.Cursor) {
			return nil
		}
		if err := l.take(feed); err != nil {
			return err
		}
	}
	if len(list) > 0 && reflect.DeepEqual(feed.Cursor(), now) {
		l.state.Recent = list
	}
	return nil
}
