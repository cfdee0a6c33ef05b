package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/block"
	"prenorm/train/optim"
)

// planter is a backend that spoils what one of its launches writes, each time that it runs.
type planter struct {
	kernels.Backend
	args   []kernels.Args // of every launch that was bound, in order
	launch int            // the one to be spoilt, -1 = none
	output int            // which of its outputs
	whole  bool           // all of its values, else the one in the middle
	value  float32
}

func plant(be kernels.Backend) *planter { return &planter{Backend: be, launch: -1} }

func (p *planter) Bind(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	run, err := p.Backend.Bind(c, a)
	n := len(p.args)
	p.args = append(p.args, a)
	return func() error {
		if err := run(); err != nil || n != p.launch {
			return err
		}
		return p.spoil(a.Out[p.output])
	}, err
}

func (p *planter) spoil(v kernels.View) error {
	if v.DType == kernels.BF16 {
		return overwrite(p, v, kernels.ToBF16(p.value))
	}
	return overwrite(p, v, p.value)
}

// overwrite sets one value of a view, or all of them.
func overwrite[E any](p *planter, v kernels.View, value E) error {
	x := make([]E, v.Len())
	if err := p.Download(x, v); err != nil {
		return err
	}
	from, to := len(x)/2, len(x)/2+1
	if p.whole {
		from, to = 0, len(x)
	}
	for i := from; i < to; i++ {
		x[i] = value
	}
	return p.Upload(v, x)
}

// kinds are models that together have every op of a training step.
func kinds() map[string]model.Config {
	all := map[string]model.Config{"plain": small()}
	for _, name := range block.Names() {
		all["placement "+name] = small().WithPlacement(name)
	}
	for _, kind := range []string{"layernorm", "dyt", "batchnorm"} {
		all[kind] = normed(kind)
	}
	gpt2 := normed("layernorm")
	gpt2.MLP, gpt2.Position.Kind, gpt2.Bias, gpt2.Dropout, gpt2.Tied = "gelu_tanh", "learned", "all", 0.2, false
	gemma := small()
	gemma.MLP, gemma.Norm.UnitOffset, gemma.EmbedScale, gemma.LogitSoftcap, gemma.Attention.Softcap, gemma.Attention.QKNorm = "geglu", true, true, 30, 50, "head"
	gemma.Attention.Window = []int{3, 0}
	all["gpt2"], all["gemma"] = gpt2, gemma
	return all
}

var layerNumber = regexp.MustCompile(`\d+`)

// TestPlantedNaNIsNamed plants NaN and infinity in the output of a launch of every kind, forward and backward, of every kind of model: the step
// is not applied, nothing has changed, and the launch is named.
func TestPlantedNaNIsNamed(t *testing.T) {
	for name, open := range map[string]func() kernels.Backend{"ref": func() kernels.Backend { return ref.New() }, "cpu": func() kernels.Backend { return cpu.New(1) }} {
		t.Run(name, func(t *testing.T) {
			done := map[string]bool{}
			for _, kind := range slices.Sorted(maps.Keys(kinds())) {
				be := plant(open())
				plantAll(t, kind, be, kinds()[kind], done)
				if err := be.Close(); err != nil {
					t.Error(err)
				}
			}
			if len(done) < 150 {
				t.Errorf("%d kinds of outputs were spoilt", len(done))
			}
		})
	}
}

// plantAll spoils the outputs of a model that are of a kind which is not done yet.
func plantAll(t *testing.T, kind string, be *planter, c model.Config, done map[string]bool) {
	s := stepper(t, be, c, options(2, 2))
	defer s.Free()
	steps := s.Plan().Steps()
	first := len(be.args) - len(steps) - 1 // the program is bound last, before the sum of losses
	forward := true
	micros := split(testBatches(4, func(i int) bool { return i%7 == 0 }), 2)
	for i, info := range steps {
		forward = forward && info.Kernel != "linear_cross_entropy.grad"
		for k := range info.Args.Out {
			key := fmt.Sprint(info.Kernel, k, forward, layerNumber.ReplaceAllString(info.Path, ""))
			if done[key] {
				continue
			}
			done[key] = true
			want := Finding{Path: info.Path, Pass: passBackward, Kernel: info.Kernel}
			if forward {
				want.Pass = passForward
			}
			be.launch, be.output = first+i, k
			for _, be.value = range []float32{float32(math.NaN()), float32(math.Inf(1))} {
				wantFinding(t, fmt.Sprintf("%s, %v in output %d of %s", kind, be.value, k, info), s, be, want, micros)
			}
		}
	}
	be.launch = -1
	wantHealthy(t, kind, s, micros)
}

// setState brings back what [Stepper.state] copied.
func (s *Stepper) setState(x [][]float32) {
	copy(s.weights.Slab.All().F32(), x[0])
	for i, m := range s.moments {
		copy(m.All().F32(), x[1+i])
	}
	if s.weights.Buffers != nil {
		copy(s.weights.Buffers.All().F32(), x[1+len(s.moments)])
	}
}

// wantFinding wants the step to be held back and its cause to be found.
func wantFinding(t *testing.T, what string, s *Stepper, be *planter, want Finding, micros []*batch.Batch) {
	t.Helper()
	before := s.state()
	be.whole = false
	r := step(t, s, 1, micros...)
	if r.Applied() { // one value may be dropped
		be.whole = true
		s.setState(before)
		r = step(t, s, 1, micros...)
	}
	if r.Applied() && (want.Kernel == "batchnorm.update" || math.IsInf(float64(be.value), 0)) {
		s.setState(before)
		return // running statistics are not read in training; and a bound, such as that of tanh, makes infinity finite
	}
	if r.Applied() || !slices.EqualFunc(before, s.state(), equalBits) {
		t.Fatalf("%s: the step gives %+v, and something changed", what, r)
	}
	d, err := s.Diagnose(context.Background(), 1, micros)
	if err != nil || d.First == nil || !d.First.Same(want) || d.First.Bad < 1 || !slices.EqualFunc(before, s.state(), equalBits) {
		t.Fatalf("%s: found %v, %v, wants %v", what, d.First, err, want)
	}
	if last := d.Launches[len(d.Launches)-1]; last.Path != want.Path {
		t.Errorf("%s: the list of launches ends at %s", what, last.Path)
	}
}

// wantHealthy wants nothing to be found in a step that is well, and every launch to be listed.
func wantHealthy(t *testing.T, what string, s *Stepper, micros []*batch.Batch) {
	t.Helper()
	before := s.state()
	d, err := s.Diagnose(context.Background(), 1, micros)
	if err != nil || d.First != nil || !slices.EqualFunc(before, s.state(), equalBits) {
		t.Errorf("%s: found %v in a step that is well, %v", what, d.First, err)
	}
	if want := 2*(s.Plan().Launches()+1) + 1; len(d.Launches) != want {
		t.Errorf("%s: %d launches are listed, wants %d", what, len(d.Launches), want)
	}
	if r := step(t, s, 1, micros...); !r.Applied() {
		t.Errorf("%s: the step alone gives %+v", what, r)
	}
}

// TestPlantedAroundThePasses plants NaN in the loss and the norm themselves.
func TestPlantedAroundThePasses(t *testing.T) {
	be := plant(ref.New())
	s := stepper(t, be, small(), options(2, 2))
	micros := split(testBatches(4, func(int) bool { return false }), 2)
	be.value = float32(math.NaN())
	for path, list := range map[string][]bound{pathNorm: s.judge[:1], pathLossSum: s.plain.addLoss} {
		be.launch = slices.IndexFunc(be.args, func(a kernels.Args) bool {
			return a.Out[0].Address() == list[0].args.Out[0].Address() && len(a.In) == len(list[0].args.In)
		})
		if path == pathLossSum {
			be.launch = len(be.args) - 1
		}
		wantFinding(t, path, s, be, Finding{Path: path, Pass: passStep, Kernel: list[0].info.Kernel}, micros)
	}
}

// TestLimits wants a step above a limit to change nothing, one at the limit to be applied, and the optimizer to count applied steps alone.
func TestLimits(t *testing.T) {
	for _, kind := range optim.Kinds() {
		o := options(2, 1)
		o.Optimizer.Kind = kind
		micros := split(testBatches(2, func(int) bool { return false }), 1)
		plain := stepper(t, ref.New(), small(), o)
		want := step(t, plain, 1, micros...)
		loss, norm := float32(want.Loss), float32(want.GradNorm)
		below := func(x float32) float32 { return math.Nextafter32(x, 0) }
		for _, l := range []Limits{{below(loss), math.MaxFloat32}, {math.MaxFloat32, below(norm)}, {0, 0}} {
			s := stepper(t, ref.New(), small(), o)
			before := s.state()
			s.Limit(l, 0)
			if r := step(t, s, 1, micros...); r.Applied() || !r.Finite() || r.Loss != want.Loss || r.GradNorm != want.GradNorm || !slices.EqualFunc(before, s.state(), equalBits) {
				t.Errorf("%s: above %+v the step gives %+v, and something changed", kind, l, r)
			}
			s.Limit(Limits{loss, norm}, 1)
			if r := step(t, s, 2, micros...); r != want || !slices.EqualFunc(plain.state(), s.state(), equalBits) {
				t.Errorf("%s: at its limits, after a step that was held back, the step gives %+v, wants that of a first step, %+v", kind, r, want)
			}
		}
	}
}
