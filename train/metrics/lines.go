package metrics

// KindLines is the kind of [Lines] records.
const KindLines = "lines"

// Lines are what predictors that know little reach on the validation text, in nats a token: the lines of reference of every loss; of
// several texts the means by their weights. A run's file has them once, from the first session that measured them. Package data/baseline
// defines them.
type Lines struct {
	Step    int64 `json:"step"`    // updates done before that session
	Uniform Float `json:"uniform"` // ln V: all ids are as likely
	Unigram Float `json:"unigram"` // frequencies of the training text's tokens
	Bigram  Float `json:"bigram"`  // frequencies of tokens behind the one before
}

func (Lines) kind() string  { return KindLines }
func (r Lines) step() int64 { return r.Step }
