package train

// Room is what a run needs of the machine, as far as it is known when the machine is asked for it.
type Room struct {
	Vocab int   // of the model; 0 = not known yet
	Text  int64 // bytes of text whose shard is not on disk yet
	Held  int64 // bytes of a checkpoint in memory, which are given back before the first step
	Step  int64 // updates done
}

// Falls is how often something of an interval falls on the updates after step, up to the last one, on which everything falls.
func Falls(every int, step, steps int64) int64 {
	if step >= steps {
		return 0
	}
	if every <= 0 {
		return 1
	}
	n := steps/int64(every) - step/int64(every)
	if steps%int64(every) != 0 {
		n++
	}
	return n
}

// More is how many checkpoints there will be at most at one time beyond the number there is, on the way from one step to another, where
// validation comes every so many steps. A checkpoint that goes does so once the next is whole. What the clock saves beside an interval in steps
// is not counted: it changes the number only where all are kept.
func (c Checkpoint) More(step, steps, there int64, validation int) int64 {
	saves := Falls(c.Every, step, steps)
	if c.Every == 0 && c.Minutes > 0 {
		saves = max(steps-step, 0)
	}
	if c.KeepBest > 0 && validation > 0 && (c.Every == 0 || validation%c.Every != 0) {
		saves = min(saves+Falls(validation, step, steps), max(steps-step, 0))
	}
	most := there + saves
	if c.Keep > 0 {
		kept := int64(c.Keep) + int64(c.KeepBest) + 1
		if c.KeepEvery > 0 {
			kept += steps / int64(c.KeepEvery)
		}
		most = min(most, kept)
	}
	return max(most-there, 0)
}
