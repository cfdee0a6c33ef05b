package lab

import (
	"fmt"
	"math"
	"strings"

	"prenorm/train/metrics"
)

// reading is one criterion of a row, with the verdict by it.
type reading struct {
	by      string // completes "holds when …"
	verdict Verdict
}

// strictness orders verdicts: a row that is read in several ways has the lowest.
var strictness = map[Verdict]int{Fails: 0, CannotTell: 1, Holds: 2}

// weaker is the verdict that says less for a claim.
func weaker(a, b Verdict) Verdict {
	if strictness[b] < strictness[a] {
		return b
	}
	return a
}

// strictest is the verdict of a row that is read in several ways, the one that says least for the claim, and a note that names them all.
func strictest(readings ...reading) (Verdict, string) {
	verdict := Holds
	words := make([]string, len(readings))
	for i, r := range readings {
		verdict = weaker(verdict, r.verdict)
		words[i] = fmt.Sprintf("%s: %s", r.by, r.verdict)
	}
	return verdict, "read in several ways, the verdict is the least favourable: " + strings.Join(words, "; ")
}

// early is the evidence that the same runs gave after Early steps, nil where nothing was measured then. As rates are constant after a warm-up, it is
// that of runs which end there. Losses without a block are not in it.
func (e *evidence) early() *evidence {
	if e.Early == 0 {
		return nil
	}
	then := *e
	then.Train.Steps = e.Early
	then.grids, then.kinds, then.deep = map[int][]Place{}, map[string][]Place{}, map[string][]CellResult{}
	for depth, places := range e.grids {
		then.grids[depth] = e.earlyPlaces(places)
	}
	for kind, places := range e.kinds {
		then.kinds[kind] = e.earlyPlaces(places)
	}
	for name, runs := range e.deep {
		then.deep[name] = e.earlyRuns(runs)
	}
	return &then
}

func (e *evidence) earlyPlaces(places []Place) []Place {
	out := make([]Place, len(places))
	for i, p := range places {
		out[i] = p
		out[i].Runs = e.earlyRuns(p.Runs)
	}
	return out
}

func (e *evidence) earlyRuns(runs []CellResult) []CellResult {
	out := make([]CellResult, len(runs))
	for i, r := range runs {
		n := min(e.Early, len(r.Losses))
		r.Losses, r.Norms, r.Blocks = r.Losses[:n], r.Norms[:min(n, len(r.Norms))], r.Blocks[:min(n, len(r.Blocks))]
		r.Val, r.After, r.Dropped, r.Reached = r.EarlyVal, r.Early, nil, n
		r.Outcome, r.FinalRun = OutcomeOf(r.Losses, e.Early, e.text), metrics.Float(Final(r.Losses))
		if n < e.Early {
			r.FinalRun = metrics.Float(math.NaN())
		}
		out[i] = r
	}
	return out
}

// atBoth is a row at the end of training, with the verdict after fewer steps where that was measured: training was made longer after results had been
// seen, so a claim that holds at one length alone does not count as holding.
func (e *evidence) atBoth(early *evidence, row func(*evidence) Row) Row {
	r := row(e)
	if early == nil {
		return r
	}
	then := row(early)
	also := fmt.Sprintf("after %d steps of the same runs: %s", early.Train.Steps, then.Verdict)
	if then.Verdict != r.Verdict {
		also += fmt.Sprintf(" (%s), after all %d: %s; the verdict is the less favourable", then.Measured, e.Train.Steps, r.Verdict)
	}
	if r.Note != "" {
		r.Note += "; "
	}
	r.Note, r.Verdict = r.Note+also, weaker(r.Verdict, then.Verdict)
	return r
}
