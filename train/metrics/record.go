// Package metrics keeps what a run measures: the file metrics.jsonl, one JSON object a line, and the progress shown while it trains.
package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Kinds of records, the value of the key "kind".
const (
	KindTrain  = "train"
	KindEval   = "eval"
	KindSample = "sample"
	KindNote   = "note"
)

// Record is a line of the file: [Train], [Eval], [Sample], [Inspect], [Guard], [Lines] or [Note].
type Record interface {
	kind() string
	step() int64
}

// Train is measured over the updates since the record before. TokensPerSecond and Seconds depend on the clock; all else is a function
// of the run.
type Train struct {
	Step            int64 `json:"step"`   // updates done, from 1
	Tokens          int64 `json:"tokens"` // tokens trained on since the run's start
	Loss            Float `json:"loss"`   // nats a token
	LR              Float `json:"lr"`     // of this update
	GradNorm        Float `json:"grad_norm"`
	Clip            Float `json:"clip"`         // factor that the gradient was multiplied by, 1 = not clipped
	TokensPerSecond Float `json:"tokens_per_s"` // over the latest updates
	Seconds         Float `json:"seconds"`      // spent training since the run's start, up to a stop as far as it was recorded
}

// Eval is the validation after an update.
type Eval struct {
	Step        int64 `json:"step"`
	Loss        Float `json:"loss"` // nats a token
	Perplexity  Float `json:"perplexity"`
	BitsPerByte Float `json:"bits_per_byte"`
	Tokens      int64 `json:"tokens"` // tokens read
	// Sources are those of a run with several; then Loss and BitsPerByte are the means of theirs by their weights.
	Sources []EvalSource `json:"sources,omitempty"`
}

// EvalSource is the validation on one of several texts.
type EvalSource struct {
	Name        string `json:"name"`
	Weight      Float  `json:"weight"`
	Loss        Float  `json:"loss"` // nats a token
	BitsPerByte Float  `json:"bits_per_byte"`
	Tokens      int64  `json:"tokens"` // tokens read
}

// Sample is text sampled after an update.
type Sample struct {
	Step int64  `json:"step"`
	Text string `json:"text"`
}

// Note is a remark on the run. One that depends on when a run was stopped makes a resumed run's file differ from an uninterrupted one's.
type Note struct {
	Step int64  `json:"step"`
	Text string `json:"text"`
}

func (Train) kind() string   { return KindTrain }
func (Eval) kind() string    { return KindEval }
func (Sample) kind() string  { return KindSample }
func (Note) kind() string    { return KindNote }
func (r Train) step() int64  { return r.Step }
func (r Eval) step() int64   { return r.Step }
func (r Sample) step() int64 { return r.Step }
func (r Note) step() int64   { return r.Step }

// Float is a number that JSON can hold even when it is not finite: NaN and the infinities are the strings "NaN", "+Inf" and "-Inf".
type Float float64

// MarshalJSON implements [json.Marshaler].
func (f Float) MarshalJSON() ([]byte, error) {
	switch x := float64(f); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 0):
		return fmt.Appendf(nil, `"%+v"`, x), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Float) UnmarshalJSON(data []byte) error {
	switch text := string(data); text {
	case `"NaN"`, `"+Inf"`, `"-Inf"`:
		x, err := strconv.ParseFloat(text[1:len(text)-1], 64)
		*f = Float(x)
		return err
	}
	return json.Unmarshal(data, (*float64)(f))
}

// encode returns a record as one line, keys in the order of its struct.
func encode(r Record) ([]byte, error) {
	var rest bytes.Buffer
	e := json.NewEncoder(&rest)
	e.SetEscapeHTML(false) // sampled text stays readable
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	line := fmt.Appendf(nil, `{"kind":%q,`, r.kind())
	return append(line, rest.Bytes()[1:]...), nil
}

// head is what every line has.
type head struct {
	Kind string `json:"kind"`
	Step *int64 `json:"step"`
}

// decodeHead reads the kind and step of a line.
func decodeHead(line []byte) (kind string, step int64, err error) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return "", 0, err
	}
	if h.Kind == "" || h.Step == nil {
		return "", 0, errors.New("has no kind or no step")
	}
	return h.Kind, *h.Step, nil
}

// decode reads a whole line. A kind that is not known, as a newer version may write, is no record and no error.
func decode(line []byte) (Record, error) {
	kind, _, err := decodeHead(line)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindTrain:
		return decodeAs[Train](line)
	case KindEval:
		return decodeAs[Eval](line)
	case KindSample:
		return decodeAs[Sample](line)
	case KindInspect:
		return decodeAs[Inspect](line)
	case KindLines:
		return decodeAs[Lines](line)
	case KindGuard:
		return decodeAs[Guard](line)
	case KindNote:
		return decodeAs[Note](line)
	}
	return nil, nil
}

func decodeAs[R Record](line []byte) (Record, error) {
	var r R
	err := json.Unmarshal(line, &r)
	return r, err
}
