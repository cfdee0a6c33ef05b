package metrics

import "fmt"

// gaps looks for records of updates that are missing in the middle of a file. A logging interval may change within a run, but then more than
// one of the new width follows: an interval that is wider than the one before it and the one after it has lost a record.
type gaps struct {
	last, width, before int64 // the last step, the interval that ends there, and the one before that; 0 where there is none
	found               int
	first               int64 // the step before the first of them
}

// see takes the step of the next record.
func (g *gaps) see(step int64) {
	width := step - g.last
	if g.before > 0 && g.width > g.before && g.width > width {
		if g.found++; g.found == 1 {
			g.first = g.last - g.width
		}
	}
	g.last, g.width, g.before = step, width, g.width
}

// held takes a step that was passed over, and so has no record of an update, where that is the one due next.
func (g *gaps) held(step int64) {
	if step-g.last == g.width {
		g.see(step)
	}
}

// String warns of them.
func (g gaps) String() string {
	if g.found == 0 {
		return ""
	}
	return fmt.Sprintf("warning: metrics: records of updates seem to be missing in %s, the first after step %d: the run goes on, its curve has a hole",
		plural(g.found, "place"), g.first)
}
