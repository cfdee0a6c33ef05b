package lab

import (
	"fmt"
	"math"
)

// Outcome says in a word how a training run went.
type Outcome string

// Outcomes of training runs.
const (
	Trains   Outcome = "trains"
	Plateau  Outcome = "unigram" // sits at the entropy of the tokens' frequencies: nothing but these was learned
	FellBack Outcome = "fell back"
	Jumped   Outcome = "jumped" // the loss rose tenfold from its best and stayed
	Diverged Outcome = "diverged"
	Slow     Outcome = "slow" // above the unigram entropy and still falling: too few steps for this rate
)

// outcomesNote is what pages say of the outcomes; its numbers are those of the bands below.
var outcomesNote = fmt.Sprintf("Outcomes, by the mean training loss at a run's end (its last tenth, 20 steps at least): trains: below the unigram entropy of the text. "+
	"slow: above it by none of what follows, as a rule because it still falls. unigram: within %g nats below it and %g above it and flat, so that nothing but the tokens' frequencies was learned. "+
	"fell back: more than %g nats above the run's best. jumped: ten times the run's best. diverged: not finite, or more than 1 nat above log(vocabulary). "+
	"All but trains and slow count as failed.", plateauBelow, plateauAbove, backBy)

// Failed says whether a run is none to use.
func (o Outcome) Failed() bool { return o != Trains && o != Slow }

// Bands of the outcomes, in nats.
const (
	plateauBelow = 0.12 // how far below the unigram entropy a loss still counts as sitting there; batches of a run differ by about as much
	plateauAbove = 0.3
	flat         = 0.06 // what the mean loss of two neighbouring sixths of a run may differ by
	backBy       = 0.35 // how far above its best a run that fell back ends
)

// tail is the number of steps at a run's end that its final loss is the mean over.
func tail(steps int) int { return max(1, min(steps, max(steps/10, 20))) }

// Final is the mean loss over the last tenth of a run, 20 steps at least.
func Final(losses []float64) float64 {
	if len(losses) == 0 {
		return math.NaN()
	}
	return mean(losses[len(losses)-tail(len(losses)):])
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// best is the lowest mean over as many steps as [Final] takes.
func best(losses []float64) float64 {
	n, low := tail(len(losses)), math.Inf(1)
	for i := n; i <= len(losses); i++ {
		low = min(low, mean(losses[i-n:i]))
	}
	return low
}

// OutcomeOf judges the losses of a run of the given number of steps on a text.
func OutcomeOf(losses []float64, steps int, t *Text) Outcome {
	if len(losses) < steps || steps == 0 || math.IsNaN(losses[len(losses)-1]) || math.IsInf(losses[len(losses)-1], 0) {
		return Diverged
	}
	final, lowest, uniform := Final(losses), best(losses), math.Log(float64(t.Vocab))
	sixth := max(1, steps/6)
	later, earlier := mean(losses[steps-sixth:]), mean(losses[max(0, steps-2*sixth):max(1, steps-sixth)])
	switch {
	case final >= 10*lowest:
		return Jumped
	case final > uniform+1:
		return Diverged
	case final > t.Unigram-plateauBelow && final < t.Unigram+plateauAbove && math.Abs(later-earlier) < flat:
		return Plateau
	case final > lowest+backBy:
		return FellBack
	case final > t.Unigram:
		return Slow
	}
	return Trains
}
