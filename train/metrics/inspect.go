package metrics

// KindInspect is the kind of [Inspect] records.
const KindInspect = "inspect"

// Inspect shows the residual stream, its gradient and the matrices at one update. Figures of the stream are those of one micro-batch, in the
// forward and backward pass before the update; those of matrices are of the whole step.
type Inspect struct {
	Step      int64      `json:"step"`
	Micro     int        `json:"micro"` // the micro-batch that was looked at, from 0
	Sublayers []Sublayer `json:"sublayers"`
	Matrices  []Matrix   `json:"matrices"`
}

// Sublayer is the stream at one sub-layer, from where it parts into the straight path and the branch to where both have met again. Sizes are
// root mean squares over the elements of all rows. A part that there is not is 0.
type Sublayer struct {
	Name       string `json:"name"`        // layers.0.attn
	In         Float  `json:"in"`          // the stream where it parts
	Out        Float  `json:"out"`         // the stream behind the sub-layer
	Max        Float  `json:"max"`         // the largest absolute value in it
	Branch     Float  `json:"branch"`      // what the branch adds
	Ratio      Float  `json:"ratio"`       // branch/in
	Cosine     Float  `json:"cosine"`      // between the two
	Grad       Float  `json:"grad"`        // the loss's gradient by the stream behind the sub-layer
	Straight   Float  `json:"straight"`    // the part of the gradient by the stream before it that came along the straight path
	Through    Float  `json:"through"`     // the part that came through the branch
	GradCosine Float  `json:"grad_cosine"` // between the two
}

// Matrix is a matrix of weights around the update. Sizes are root mean squares.
type Matrix struct {
	Name   string `json:"name"`
	Weight Float  `json:"weight"` // after the update
	Grad   Float  `json:"grad"`   // before clipping
	Update Float  `json:"update"` // the difference that the update made
	Ratio  Float  `json:"ratio"`  // update/weight
}

func (Inspect) kind() string  { return KindInspect }
func (r Inspect) step() int64 { return r.Step }
