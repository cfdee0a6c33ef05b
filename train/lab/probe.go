package lab

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
)

// Probe runs one forward and backward pass of a model and shows its streams, their gradients and those of its parameters. It has weights of its
// own, in float64 where the backend computes in it.
type Probe struct {
	Config  model.Config // resolved
	B, T    int
	be      kernels.Backend
	dtype   kernels.DType
	table   []model.Param
	index   map[string]int
	weights *exec.Slab
	grads   *exec.Slab
	running *exec.Slab // statistics of batch norms, which the pass moves and does not read
	buffers []model.Param
	program *exec.Program
}

// ProbeOptions shape a probe.
type ProbeOptions struct {
	B, T        int
	DType       kernels.DType // F64 needs the ref backend
	BranchScale bool          // see [model.Options]
}

// NewProbe compiles the pass. Its weights are zero until they are drawn or set.
func NewProbe(be kernels.Backend, c model.Config, o ProbeOptions) (*Probe, error) {
	net, err := model.Build(c, model.Options{Mode: model.Train, B: o.B, T: o.T, DType: o.DType, BranchScale: o.BranchScale})
	if err != nil {
		return nil, err
	}
	var taps []string
	for _, t := range net.Graph.Taps() {
		taps = append(taps, t.Name)
		if net.Reached(t.Name) {
			taps = append(taps, model.GradPrefix+t.Name)
		}
	}
	plan, err := net.Plan(be, false, taps...)
	if err != nil {
		return nil, err
	}
	p := &Probe{Config: net.Config, B: o.B, T: o.T, be: be, dtype: o.DType, table: net.Table(), index: map[string]int{}}
	for i, row := range p.table {
		p.index[row.Name] = i
	}
	if err := p.bind(plan, net.Buffers()); err != nil {
		return nil, errors.Join(err, p.Free())
	}
	return p, nil
}

func (p *Probe) bind(plan *exec.Plan, buffers []model.Param) error {
	p.buffers = buffers
	var err error
	if p.weights, err = model.NewSlab(p.be, p.dtype, p.table); err != nil {
		return err
	}
	if p.grads, err = model.NewSlab(p.be, p.dtype, p.table); err != nil {
		return err
	}
	if p.running, err = model.NewSlab(p.be, p.dtype, buffers); err != nil {
		return err
	}
	external := p.weights.Views("")
	maps.Copy(external, p.running.Views(""))
	for name, v := range p.grads.Views(model.GradPrefix) {
		external[name] = v
	}
	p.program, err = plan.Bind(external)
	return err
}

// Draws keep standard normal numbers by seed and parameter, so that models which differ in scale alone are not drawn anew.
type Draws map[string][]float32

// of are the standard normal numbers behind a parameter's initial values.
func (d Draws) of(row model.Param, seed int64) []float32 {
	row.Mean, row.Std = 0, 1
	key := fmt.Sprint(seed, row.Name, row.Shape)
	if d[key] == nil {
		d[key] = row.Initial(seed)
	}
	return d[key]
}

// Draw gives every parameter its initial values. factor multiplies those of a parameter, nil for none.
func (p *Probe) Draw(d Draws, seed int64, factor func(name string) float64) error {
	for i, row := range p.table {
		x := make([]float32, row.Len())
		scale := row.Std
		if factor != nil {
			scale *= factor(row.Name)
		}
		if row.Std > 0 {
			for k, v := range d.of(row, seed) {
				x[k] = float32(scale * float64(v))
			}
		}
		if row.Mean != 0 {
			for k := range x {
				x[k] += float32(row.Mean)
			}
		}
		if err := p.set(i, x); err != nil {
			return err
		}
	}
	return nil
}

// Load takes the weights from a source.
func (p *Probe) Load(from model.Source) error {
	for i, row := range p.table {
		x, _, ok, err := from(row.Name)
		if err == nil && (!ok || len(x) != row.Len()) {
			err = fmt.Errorf("it is missing or of another shape")
		}
		if err != nil {
			return fmt.Errorf("probe: %s: %w", row.Name, err)
		}
		if err := p.set(i, x); err != nil {
			return err
		}
	}
	return nil
}

func (p *Probe) set(i int, x []float32) error { return p.be.Upload(p.weights.View(i), p.typed(x)) }

// typed is x in the probe's type.
func (p *Probe) typed(x []float32) any {
	if p.dtype != kernels.F64 {
		return x
	}
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

// SetBatch sets tokens and targets.
func (p *Probe) SetBatch(tokens, targets []int32) error {
	n := 0
	for _, t := range targets {
		if t >= 0 {
			n++
		}
	}
	return errors.Join(p.program.Set(model.InTokens, tokens), p.program.Set(model.InTargets, targets),
		p.program.Set(model.InNormaliser, p.typed([]float32{float32(max(n, 1))})))
}

// RandomBatch sets tokens and targets that have nothing to do with each other.
func (p *Probe) RandomBatch(seed int64) error {
	random := rand.New(rand.NewPCG(uint64(seed), 0x1ab))
	tokens, targets := make([]int32, p.B*p.T), make([]int32, p.B*p.T)
	for i := range tokens {
		tokens[i], targets[i] = int32(random.IntN(p.Config.Vocab)), int32(random.IntN(p.Config.Vocab))
	}
	return p.SetBatch(tokens, targets)
}

// SetBranch sets what the gradient through branches is multiplied by.
func (p *Probe) SetBranch(t float64) error {
	if p.dtype == kernels.F64 {
		return p.program.Set(model.InBranch, []float64{t})
	}
	return p.program.Set(model.InBranch, []float32{float32(t)})
}

// Run does the pass and returns the loss.
func (p *Probe) Run() (float64, error) {
	if err := p.program.Run(); err != nil {
		return 0, err
	}
	loss, err := p.Value(model.OutLoss)
	if err != nil {
		return 0, err
	}
	return loss[0], nil
}

// Value is a tap of the last pass, or the loss's gradient by it: "layers.0.stream", "grad.layers.0.stream".
func (p *Probe) Value(name string) ([]float64, error) {
	v, err := p.program.View(name)
	if err != nil {
		return nil, err
	}
	return p.read(v)
}

// Gradient is the gradient of a parameter in the last pass.
func (p *Probe) Gradient(name string) ([]float64, error) {
	i, ok := p.index[name]
	if !ok {
		return nil, fmt.Errorf("probe: the model has no parameter %s", name)
	}
	return p.read(p.grads.View(i))
}

func (p *Probe) read(v kernels.View) ([]float64, error) {
	x := make([]float64, v.Len())
	if v.DType == kernels.F64 {
		return x, p.be.Download(x, v)
	}
	narrow := make([]float32, len(x))
	err := p.be.Download(narrow, v)
	for i, f := range narrow {
		x[i] = float64(f)
	}
	return x, err
}

// stream names the tap of the stream after block l, counted from 1; 0 is the embedding.
func stream(l int) string {
	if l == 0 {
		return "embedding"
	}
	return fmt.Sprintf("layers.%d.stream", l-1)
}

// Free releases the memory.
func (p *Probe) Free() error {
	var err error
	if p.program != nil {
		err = p.program.Free()
	}
	for _, s := range []*exec.Slab{p.weights, p.grads, p.running} {
		if s != nil {
			err = errors.Join(err, s.Free())
		}
	}
	return err
}
