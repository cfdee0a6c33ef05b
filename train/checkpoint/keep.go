package checkpoint

import (
	"fmt"
	"slices"
)

// Keep says which checkpoints of a run are kept. Any one reason is enough.
type Keep struct {
	Newest int     // so many of the newest; < 1 = all there are
	Every  int64   // those of steps that are a multiple of this; 0 = none
	Best   []int64 // those of these steps, whose weights had the least validation loss, best first
}

// Reasons are why a checkpoint is kept, in words; none where it may go. rank counts those that are newer, from 0.
func (k Keep) Reasons(rank int, step int64) []string {
	var why []string
	switch {
	case k.Newest < 1:
		why = append(why, "all are kept")
	case rank == 0:
		why = append(why, "newest")
	case rank < k.Newest:
		why = append(why, fmt.Sprintf("among the newest %d", k.Newest))
	}
	switch at := slices.Index(k.Best, step); {
	case at == 0:
		why = append(why, "best validation loss")
	case at > 0:
		why = append(why, fmt.Sprintf("validation loss number %d", at+1))
	}
	if k.Every > 0 && step%k.Every == 0 {
		why = append(why, fmt.Sprintf("every %d steps", k.Every))
	}
	return why
}
