package train

import (
	"fmt"
	"strings"
)

// advice says what can be done about a step that ended a run: nothing that is done already. limited is for a run whose policy passes over such
// steps, and has passed over as many as it may.
func (c Config) advice(spike, limited bool) string {
	ways := []string{"Lower train.optimizer.lr", "lengthen train.schedule.warmup"}
	if c.Clip == 0 {
		ways = append(ways, "set train.clip")
	}
	if spike {
		ways = append(ways, fmt.Sprintf("raise train.guard.sigma (%g)", c.Guard.Sigma))
	}
	switch {
	case limited:
		ways = append(ways, fmt.Sprintf("raise train.guard.limit (%d)", c.Guard.Limit))
	case c.Guard.Policy == GuardStop:
		ways = append(ways, "have such steps passed over by train.guard.policy=skip or rewind")
	}
	return strings.Join(ways[:len(ways)-1], ", ") + ", or " + ways[len(ways)-1] + ", then go on with the changed key given by --set"
}

// exhausted says why the guard's policy is not followed at a step, "" where it is: too many steps were held back, or they do not cease whatever
// comes after the copy that is gone back to.
func (g *GuardState) exhausted(step int64, c Guard) string {
	switch {
	case c.Policy == GuardStop:
		return ""
	case g.full(step, c):
		return fmt.Sprintf(", after %s held back within %d (train.guard.limit)", inWords(len(recent(g.Held, step, c.Window)), "other step"), c.Window)
	case c.Policy == GuardRewind && g.Good.Rewinds >= c.Limit:
		return fmt.Sprintf(", after %s to the copy of step %d, with no better one since (train.guard.limit)", inWords(g.Good.Rewinds, "rewind"), g.Good.Step)
	}
	return ""
}

// summary says at a run's end what the guard has cost it, "" for nothing.
func (g *GuardState) summary() string {
	if g == nil || g.Total == 0 {
		return ""
	}
	text := fmt.Sprintf("guard: of the run's steps so far, %d held back", g.Total)
	if lost := g.Unapplied - g.Total; lost > 0 {
		text += fmt.Sprintf(" and %s before them lost to rewinds", inWords(int(lost), "update"))
	}
	return text
}
