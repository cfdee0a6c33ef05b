package train

import "testing"

// TestMoreCheckpoints counts checkpoints that a policy will hold at one time.
func TestMoreCheckpoints(t *testing.T) {
	for _, test := range []struct {
		policy            Checkpoint
		step, steps       int64
		there, validation int
		want              int64
	}{
		{Checkpoint{Every: 10, Keep: 2}, 0, 100, 0, 0, 3},                                // two and the next
		{Checkpoint{Every: 10, Keep: 2}, 0, 100, 3, 0, 0},                                // they are there
		{Checkpoint{Every: 10, Keep: 2}, 90, 100, 2, 0, 1},                               // the last
		{Checkpoint{Every: 10}, 0, 100, 0, 0, 10},                                        // all are kept
		{Checkpoint{Every: 30}, 0, 100, 0, 0, 4},                                         // and that of the end
		{Checkpoint{Keep: 2}, 0, 100, 0, 0, 1},                                           // the end alone
		{Checkpoint{Keep: 2, Minutes: 1}, 0, 100, 0, 0, 3},                               // the clock alone
		{Checkpoint{Every: 10, Keep: 2, KeepBest: 2}, 0, 100, 0, 10, 5},                  // best and newest apart
		{Checkpoint{Every: 50, Keep: 0, KeepBest: 1}, 0, 100, 0, 10, 12},                 // validations save too
		{Checkpoint{Every: 10, Keep: 1, KeepEvery: 20}, 0, 100, 0, 0, 7},                 // five that stay
		{Checkpoint{Every: 10, Keep: 2, KeepBest: 1, KeepEvery: 50}, 100, 100, 4, 10, 0}, // nothing is left to do
	} {
		if got := test.policy.More(test.step, test.steps, int64(test.there), test.validation); got != test.want {
			t.Errorf("%+v: %d more checkpoints", test, got)
		}
	}
}
