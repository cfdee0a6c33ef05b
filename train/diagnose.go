package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model/exec"
	"prenorm/train/metrics"
	"prenorm/train/profile"
)

// Finding is the first launch of a step with an output that is not finite.
type Finding struct {
	Path   string        `json:"path"`            // where in the model ("layers.7.self_attn.q_proj")
	Fused  []string      `json:"fused,omitempty"` // what is computed in the same launch
	Pass   string        `json:"pass"`            // forward, backward, or step for what follows both
	Kernel string        `json:"kernel"`
	Micro  int           `json:"micro"`     // the micro-batch, from 0; 0 in what follows all of them
	Value  metrics.Float `json:"value"`     // the first of the values that are not finite
	Index  int           `json:"index"`     // its place in the output
	Bad    int           `json:"nonfinite"` // how many there are
	Of     int           `json:"of"`        // among so many
}

// String says it in words.
func (f Finding) String() string {
	return fmt.Sprintf("%s (%s, %s): %d of %d values are not finite, the first is %v", f.Path, f.Pass, f.Kernel, f.Bad, f.Of, float64(f.Value))
}

// Same says whether two findings name one place.
func (f Finding) Same(g Finding) bool {
	return f.Path == g.Path && f.Pass == g.Pass && f.Kernel == g.Kernel && f.Micro == g.Micro
}

// Passes of a finding.
const (
	passForward  = "forward"
	passBackward = "backward"
	passStep     = "step"
)

// Size says how large the values of a tensor are. Those that are not finite count in NonFinite alone.
type Size struct {
	RMS       metrics.Float `json:"rms"`
	Max       metrics.Float `json:"max"` // of absolute values
	NonFinite int           `json:"nonfinite,omitempty"`
}

// LaunchSize is the size of what a launch of a step wrote first.
type LaunchSize struct {
	Path  string `json:"path"`
	Pass  string `json:"pass"`
	Micro int    `json:"micro,omitempty"`
	Size
}

// Diagnosis is what a step shows that is run launch by launch.
type Diagnosis struct {
	First    *Finding     `json:"first,omitempty"` // nil: every output is finite
	Launches []LaunchSize `json:"launches"`        // up to that one, in order
}

// Diagnose runs a step's passes once more, looking at what each launch writes, up to the first output that is not finite. What it computes has
// the bits that [Stepper.Step] had, as steps are deterministic; weights, moments and buffers stay as they are. It reads every output back to
// the host, and so takes far longer than a step.
func (s *Stepper) Diagnose(ctx context.Context, step int64, micros []*batch.Batch) (Diagnosis, error) {
	around := s.around
	defer s.Trace(around)
	s.Trace(nil)
	if err := s.launch(s.keep); err != nil {
		return Diagnosis{}, err
	}
	l := &looker{measurer: measurer{be: s.weights.Backend()}}
	err := s.look(ctx, step, micros, l)
	if errors.Is(err, errFound) {
		err = nil
	}
	s.Trace(nil)
	return l.Diagnosis, errors.Join(err, s.launch(s.restore))
}

// look runs the passes and the norm under the eyes of l.
func (s *Stepper) look(ctx context.Context, step int64, micros []*batch.Batch, l *looker) error {
	if err := s.begin(micros); err != nil {
		return err
	}
	s.Trace(l.look)
	for i, m := range micros {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.micro = i
		if err := s.run(s.plain, step, i, m); err != nil {
			return err
		}
	}
	l.micro = 0 // of all
	return s.launch(s.judge[:1])
}

// errFound ends a diagnosis.
var errFound = errors.New("found")

// looker looks at the outputs of launches.
type looker struct {
	measurer
	Diagnosis
	micro int
}

// look is an [Around] that ends at the first output that is not finite.
func (l *looker) look(step exec.StepInfo, run func() error) error {
	if err := run(); err != nil || step.Kernel == profile.Upload || step.Kernel == profile.Download {
		return err
	}
	pass := passForward
	switch {
	case step.Backward():
		pass = passBackward
	case slices.Contains(ownPaths, step.Path):
		pass = passStep
	}
	for i, v := range slices.Concat(step.Args.Out, step.Args.Aux) {
		m, err := l.measure(v)
		if err != nil {
			return fmt.Errorf("look at %s: %w", step.Path, err)
		}
		if i == 0 {
			l.Launches = append(l.Launches, LaunchSize{step.Path, pass, l.micro, m.Size})
		}
		if m.NonFinite > 0 {
			l.First = &Finding{Path: step.Path, Fused: step.Fused, Pass: pass, Kernel: step.Kernel, Micro: l.micro,
				Value: metrics.Float(m.value), Index: m.index, Bad: m.NonFinite, Of: v.Len()}
			return errFound
		}
	}
	return nil
}

// ownPaths are the launches of the step that belong to neither pass.
var ownPaths = []string{pathLossSum, pathNorm}

// measurer measures tensors on any backend.
type measurer struct {
	be    kernels.Backend
	words []float32 // copies of what is measured
	half  []uint16
}

// measured is the size of a tensor and the first value in it that is not finite.
type measured struct {
	Size
	value float64
	index int
}

// measure reads a view. Integers have no size.
func (m *measurer) measure(v kernels.View) (measured, error) {
	n := v.Len()
	switch v.DType {
	case kernels.F32:
		m.words = slices.Grow(m.words[:0], n)[:n]
		if err := m.be.Download(m.words, v); err != nil {
			return measured{}, err
		}
		return measure(n, func(i int) float32 { return m.words[i] }), nil
	case kernels.BF16:
		m.half = slices.Grow(m.half[:0], n)[:n]
		if err := m.be.Download(m.half, v); err != nil {
			return measured{}, err
		}
		return measure(n, func(i int) float32 { return kernels.FromBF16(m.half[i]) }), nil
	}
	return measured{}, nil
}

// measure sums up n values.
func measure(n int, at func(i int) float32) measured {
	out := measured{index: -1}
	squares, largest := 0.0, 0.0
	for i := range n {
		x := float64(at(i))
		if notFinite(x) {
			if out.NonFinite++; out.NonFinite == 1 {
				out.value, out.index = x, i
			}
			continue
		}
		squares += x * x
		largest = max(largest, math.Abs(x))
	}
	out.RMS, out.Max = short(math.Sqrt(squares/float64(max(n-out.NonFinite, 1)))), short(largest)
	return out
}

// TensorSize is the size of a parameter, of its gradient and of its moments.
type TensorSize struct {
	Name    string          `json:"name"`
	Weight  Size            `json:"weight"`
	Grad    *Size           `json:"grad,omitempty"` // before clipping; nil for what has none
	Moments map[string]Size `json:"moments,omitempty"`
}

// spoiled names the tensors that hold values which are not finite, or have moments that do.
func spoiled(list []TensorSize) (names []string) {
	for _, t := range list {
		bad := t.Weight.NonFinite
		for _, m := range t.Moments {
			bad += m.NonFinite
		}
		if bad > 0 {
			names = append(names, t.Name)
		}
	}
	return names
}

// Sizes measures every parameter and buffer, with the gradient that the last step left.
func (s *Stepper) Sizes() ([]TensorSize, error) {
	m := measurer{be: s.weights.Backend()}
	var failed error
	size := func(v kernels.View) Size {
		x, err := m.measure(v)
		failed = errors.Join(failed, err)
		return x.Size
	}
	var list []TensorSize
	for i, p := range s.weights.Table {
		grad := size(s.grads.View(i))
		t := TensorSize{Name: p.Name, Weight: size(s.weights.Slab.View(i)), Grad: &grad, Moments: map[string]Size{}}
		for k, name := range s.MomentNames() {
			t.Moments[name] = size(s.moments[k].View(i))
		}
		list = append(list, t)
	}
	for i, p := range s.weights.BufferTable {
		list = append(list, TensorSize{Name: p.Name, Weight: size(s.weights.Buffers.View(i))})
	}
	return list, failed
}
