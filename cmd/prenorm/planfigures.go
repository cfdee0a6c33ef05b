package main

import (
	"fmt"
	"strings"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/sample"
	"prenorm/train"
	"prenorm/train/optim"
)

// plan is what a run takes. Its figures come from the code that lays out and compiles what training allocates.
type plan struct {
	Name        string     `json:"name"`
	Device      string     `json:"device"`
	Precision   string     `json:"precision"`
	Vocab       int        `json:"vocab"`
	VocabSource string     `json:"vocab_source"` // model.vocab, tokenizer, text or assumed
	Parameters  parameters `json:"parameters"`
	Memory      memory     `json:"memory"`
	Tokens      tokens     `json:"tokens"`
	Arithmetic  arithmetic `json:"flops"`
	Tensors     []tensor   `json:"tensors,omitempty"`

	table, buffers []model.Param
}

type parameters struct {
	Total   int64  `json:"total"`
	Tensors int    `json:"tensors"`
	Roles   []role `json:"roles"`
}

// role sums up the parameters of one role.
type role struct {
	Role    string `json:"role"`
	Tensors int    `json:"tensors"`
	Values  int64  `json:"values"`
}

// memory is in bytes. All of Total lives at the same time.
type memory struct {
	Weights    int64  `json:"weights"`
	Gradients  int64  `json:"gradients"`
	Moments    int64  `json:"moments"`
	Optimizer  string `json:"-"`      // the moments in words
	Train      int64  `json:"train"`  // arena of the training program, and the update's own buffers
	Eval       int64  `json:"eval"`   // arena of the validation program
	Sample     int64  `json:"sample"` // arenas of prefill and decoding, and the cache
	Cache      int64  `json:"cache"`  // of keys and values, part of Sample
	Total      int64  `json:"total"`
	Saving     int64  `json:"saving"`     // the copy of the state on the host, from which checkpoints are written
	Background bool   `json:"background"` // the copy is held throughout, and checkpoints are written while training goes on
	Rewind     int64  `json:"rewind"`     // the copy on the host that train.guard goes back to, 0 for none; a checkpoint is larger by as much
	Recent     int64  `json:"recent"`     // the batches of the last steps on the host, for bundles
	Bundling   int64  `json:"bundling"`   // the copy of the state on the host while a bundle is written, 0 where the state is on the host itself
	State      int64  `json:"state"`      // weights, buffers and moments, which a checkpoint holds on disk
	Bundle     int64  `json:"bundle"`     // on disk, of a step that is held back, but for the text and a few kilobytes
}

type tokens struct {
	Step int64 `json:"step"`
	Run  int64 `json:"run"`
}

type arithmetic struct {
	ForwardToken float64 `json:"forward_token"`
	TrainToken   float64 `json:"train_token"`
	Step         float64 `json:"step"`
	Run          float64 `json:"run"`
}

// tensor is a row of the parameter table.
type tensor struct {
	Name   string  `json:"name"`
	Shape  []int   `json:"shape"`
	Values int64   `json:"values"`
	Role   string  `json:"role"`
	Mean   float64 `json:"mean"` // of the initial values
	Std    float64 `json:"std"`
	Decay  bool    `json:"decay"`
}

// planOf plans a run whose vocabulary is known.
func planOf(be kernels.Backend, run configs.Run) (*plan, error) {
	c, t, closed := run.Model, run.Train, !run.Data.Cross
	p := &plan{Name: run.Name, Device: be.Name(), Precision: string(kernels.PrecisionOf(be)), Vocab: c.Vocab}
	training, table, buffers, err := compile(be, c, model.Options{Mode: model.Train, B: t.Batch, T: c.Context, Documents: closed}, t.Accumulate > 1)
	if err != nil {
		return nil, err
	}
	validation, _, _, err := compile(be, c, model.Options{Mode: model.Eval, B: t.Batch, T: c.Context, Documents: closed}, false)
	if err != nil {
		return nil, err
	}
	p.table, p.buffers = table, buffers
	p.countParameters()
	slab := layout(table)
	p.Memory.Weights, p.Memory.Gradients = slab, slab
	if len(buffers) > 0 { // of batch norms, with a copy for steps that are given up
		p.Memory.Weights += 2 * layout(buffers)
	}
	p.Memory.Eval = int64(validation.Bytes())
	if err := p.planUpdate(be, run, slab); err != nil {
		return nil, err
	}
	if err := p.planTraining(be, run, training); err != nil {
		return nil, err
	}
	if err := p.planSampling(be, c); err != nil {
		return nil, err
	}
	m := &p.Memory
	m.Total = m.Weights + m.Gradients + m.Moments + m.Train + m.Eval + m.Sample
	m.planSaving(run.Checkpoint, !kernels.OnDevice(be))
	pass := int64(t.Batch) * int64(c.Context)
	p.Tokens.Step = pass * int64(t.Accumulate)
	p.Tokens.Run = p.Tokens.Step * int64(t.Steps)
	a := &p.Arithmetic
	a.ForwardToken, a.TrainToken = float64(validation.FLOPs())/float64(pass), float64(training.FLOPs())/float64(pass)
	a.Step, a.Run = a.TrainToken*float64(p.Tokens.Step), a.TrainToken*float64(p.Tokens.Run)
	return p, nil
}

// compile plans one program.
func compile(be kernels.Backend, c model.Config, o model.Options, accumulate bool) (program *exec.Plan, table, buffers []model.Param, err error) {
	net, err := model.Build(c, o)
	if err != nil {
		return nil, nil, nil, err
	}
	program, err = net.Plan(be, accumulate)
	return program, net.Table(), net.Buffers(), err
}

// layout is the size of a slab of the table, in bytes.
func layout(table []model.Param) int64 {
	lengths := make([]int, len(table))
	for i, p := range table {
		lengths[i] = p.Len()
	}
	return slabBytes(lengths)
}

func slabBytes(lengths []int) int64 {
	return int64(exec.LayoutOf(kernels.F32, lengths).Size) * int64(kernels.F32.Size())
}

// planUpdate plans what follows the backward pass: the optimizer's moments and the norm's workspace.
func (p *plan) planUpdate(be kernels.Backend, run configs.Run, slab int64) error {
	o := run.Train.Optimizer
	opt, err := optim.New(o.Kind, optim.Config{Betas: o.Betas, Eps: o.Eps, Momentum: o.Momentum})
	if err != nil {
		return err
	}
	moments := opt.State()
	norm, err := be.Workspace(kernels.GlobalNorm{}, kernels.Args{Out: []kernels.View{kernels.Shaped(kernels.F32, 1)},
		In: []kernels.View{kernels.Shaped(kernels.F32, int(slab)/kernels.F32.Size())}})
	if err != nil {
		return err
	}
	p.Memory.Train += int64(train.StepBytes + norm)
	p.Memory.Moments = slab * int64(len(moments))
	p.Memory.State = train.HeldBytes(p.table, p.buffers, len(moments))
	p.Memory.Saving = p.Memory.State
	p.Memory.planGuard(run, kernels.OnDevice(be))
	p.Memory.Optimizer = fmt.Sprintf("%s's %s", o.Kind, strings.Join(moments, " and "))
	return nil
}

// planGuard counts what a guard takes, on top of Total, of a run, whose state is on a device of its own or not.
func (m *memory) planGuard(run configs.Run, device bool) {
	t := run.Train
	if t.Guard.Policy == train.GuardRewind {
		m.Rewind = m.State
	}
	if t.Guard.Bundles > 0 {
		tokens := int64(t.Batch) * int64(run.Model.Context) * int64(max(t.Accumulate, 1))
		m.Recent = train.RecentBytes(tokens, !run.Data.Cross)
		if device {
			m.Bundling = m.State
		}
		m.Bundle = m.State + m.Recent + train.BatchBytes(tokens, !run.Data.Cross)
	}
}

// planSaving says how the copy of the state is used that checkpoints are written from. Where training waits, state on the host needs none.
func (m *memory) planSaving(c train.Checkpoint, host bool) {
	taken := m.Rewind + m.Recent
	if host {
		taken += m.Total
	}
	m.Background, _ = c.InBackground(m.Saving, taken)
	if !m.Background && host {
		m.Saving = 0
	}
}

// planTraining plans the memory of the training program, and of the one that inspects steps in the same arena.
func (p *plan) planTraining(be kernels.Backend, run configs.Run, training *exec.Plan) error {
	c, t := run.Model, run.Train
	if t.Inspect.Every == 0 {
		p.Memory.Train += int64(training.Bytes())
		return nil
	}
	inspecting, _, _, err := compile(be, c, model.Options{Mode: model.Train, B: t.Batch, T: c.Context, Documents: !run.Data.Cross, Inspect: true}, t.Accumulate > 1)
	if err != nil {
		return err
	}
	results, work, err := train.InspectResults(be, p.table)
	p.Memory.Train += int64(train.InspectBytes(training, inspecting, int(p.Memory.Gradients)) + results + work)
	return err
}

// planSampling plans the programs of prefill and decoding and their cache.
func (p *plan) planSampling(be kernels.Backend, c model.Config) error {
	for _, rows := range []int{min(sample.DefaultPrefill, c.Context), 1} {
		net, err := model.Build(c, model.Options{Mode: model.Cached, B: 1, T: rows})
		if err != nil {
			return err
		}
		program, err := net.Plan(be, false)
		if err != nil {
			return err
		}
		p.Memory.Sample += int64(program.Bytes())
		var lengths []int
		for _, s := range net.Graph.States() {
			lengths = append(lengths, kernels.Shaped(kernels.F32, s.Node.Shape()...).Len())
		}
		p.Memory.Cache = slabBytes(lengths)
	}
	choice, err := sample.ChoiceBytes(be, c.Vocab)
	p.Memory.Sample += p.Memory.Cache + int64(choice)
	return err
}

// countParameters sums up the table by role, in the order of first appearance.
func (p *plan) countParameters() {
	at := map[string]int{}
	p.Parameters.Tensors = len(p.table)
	for _, row := range p.table {
		name := row.Role.String()
		i, ok := at[name]
		if !ok {
			i = len(p.Parameters.Roles)
			at[name] = i
			p.Parameters.Roles = append(p.Parameters.Roles, role{Role: name})
		}
		p.Parameters.Roles[i].Tensors++
		p.Parameters.Roles[i].Values += int64(row.Len())
		p.Parameters.Total += int64(row.Len())
	}
}

// tensors is the parameter table for people and for JSON.
func (p *plan) tensors() []tensor {
	list := make([]tensor, len(p.table))
	for i, row := range p.table {
		list[i] = tensor{row.Name, row.Shape, int64(row.Len()), row.Role.String(), row.Mean, row.Std, row.Decay}
	}
	return list
}
