package sample

import (
	"math"

	"prenorm/configs/problem"
)

// Options say how the next id is chosen. The zero value is greedy. The filters work in this fixed order, which is that of Hugging Face's
// transformers:
//
//	penalty, temperature, top-k, top-p, min-p, renormalise, draw
//
// Each filter keeps the first ids of one ranking: larger logit first, the lower id first where logits are equal. So exactly top_k ids are
// kept however many are tied, and a filter that keeps every id changes nothing.
type Options struct {
	// Temperature divides the logits, 0 to 100. 0 takes the first id of the ranking and draws nothing.
	Temperature float64
	// TopK keeps the k likeliest ids (Fan et al., arXiv 1805.04833). 0 keeps all.
	TopK int
	// TopP keeps the fewest likeliest ids whose probabilities, renormalised after top-k, sum to at least p (nucleus sampling, Holtzman et
	// al., arXiv 1904.09751). 0 and 1 keep all.
	TopP float64
	// MinP keeps the ids that are at least p times as likely as the likeliest (Nguyen et al., arXiv 2407.01082). 0 keeps all.
	MinP float64
	// RepetitionPenalty divides the positive logits of ids seen before and multiplies their negative ones (CTRL, Keskar et al., arXiv
	// 1909.05858). It does so once for an id however often it was seen. 0 and 1 change nothing, below 1 favours repetition.
	RepetitionPenalty float64
	// Seed starts the random numbers.
	Seed int64
}

// Problems returns every rule that o breaks, by the name that a command-line flag or a run file gives to the option.
func (o Options) Problems() problem.List {
	var l problem.List
	l.Within("temperature", o.Temperature, problem.Interval{Low: 0, High: 100})
	l.Whole("top_k", o.TopK, 0, math.MaxInt32)
	l.Within("top_p", o.TopP, problem.Interval{Low: 0, High: 1})
	l.Within("min_p", o.MinP, problem.Interval{Low: 0, High: 1, OpenHigh: true})
	if allowed := (problem.Interval{Low: 0.01, High: 100}); o.RepetitionPenalty != 0 && !allowed.Contains(o.RepetitionPenalty) {
		l.Addf("repetition_penalty", "%s is out of range (%s, 1 = no penalty)", problem.Number(o.RepetitionPenalty), allowed)
	}
	return l
}
