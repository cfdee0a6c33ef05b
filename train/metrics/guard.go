package metrics

// KindGuard is the kind of [Guard] records.
const KindGuard = "guard"

// actionStop is the Action of a step that ended the run.
const actionStop = "stop"

// Guard tells of a step whose loss or gradient was not finite or a spike, and which was not applied for that.
type Guard struct {
	Step     int64  `json:"step"`    // the step that was not applied
	Attempt  int64  `json:"attempt"` // the same; files of earlier versions have in step the one before it where the run stopped
	Cause    string `json:"cause"`
	Action   string `json:"action"` // stop, skip or rewind
	Loss     Float  `json:"loss"`
	GradNorm Float  `json:"grad_norm"`
	LR       Float  `json:"lr"`
	First    string `json:"first,omitempty"`  // the first op whose output was not finite, by its path
	Pass     string `json:"pass,omitempty"`   // of that: forward, backward or step
	To       int64  `json:"to"`               // rewind: the step whose weights and moments are back
	Scale    Float  `json:"scale,omitempty"`  // rewind: what the learning rate is multiplied by from here on
	Bundle   string `json:"bundle,omitempty"` // the file in the run's folder that holds the step
}

func (Guard) kind() string  { return KindGuard }
func (r Guard) step() int64 { return r.Step }
