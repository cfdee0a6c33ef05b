package baseline

import "math"

// level is how far, in nats, a loss may be from a line and still be at it.
const level = 0.05

// Stand says in words where a loss, in nats a token, stands among the lines. A loss that is no number stands nowhere: "".
func (l Lines) Stand(loss float64) string {
	at := func(line float64) bool { return math.Abs(loss-line) <= level }
	switch {
	case math.IsNaN(loss) || math.IsInf(loss, 0):
		return ""
	case l.Bigram < l.Unigram-level && at(l.Bigram):
		return "at the bigram level: about what the token before alone tells"
	case l.Bigram < l.Unigram-level && loss < l.Bigram:
		return "below the bigram level: more context than the token before is used"
	case at(l.Unigram):
		return "at the unigram level: context is not used yet"
	case loss < l.Unigram && l.Bigram < l.Unigram-level:
		return "below the unigram level, above the bigram level: context is used, but tells less than the token before could"
	case loss < l.Unigram:
		return "below the unigram level: context is used"
	case at(l.Uniform):
		return "at ln V: all tokens are as likely, nothing is learned yet"
	case loss < l.Uniform:
		return "above the unigram level: not even the tokens' frequencies are learned yet"
	}
	return "above ln V: worse than holding all tokens for as likely"
}
