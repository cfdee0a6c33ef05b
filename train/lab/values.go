package lab

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Values are numbers that JSON can hold whatever they are: one that is not finite is null there, and NaN when it comes back.
type Values []float64

// MarshalJSON implements [json.Marshaler].
func (v Values) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, x := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b.WriteString("null")
			continue
		}
		b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Values) UnmarshalJSON(text []byte) error {
	var list []*float64
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*v = make(Values, len(list))
	for i, x := range list {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}
