package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"prenorm/kernels"
	"prenorm/model/block"
	"prenorm/model/graph"
)

// Param is a row of the parameter table: what a tensor is, how it starts, and whether it decays.
type Param struct {
	Name  string
	Shape []int
	Role  graph.Role
	Decay bool    // weight decay applies: tensors of two dimensions or more
	Mean  float64 // of the initial values
	Std   float64 // of the initial values; 0 = all are Mean
}

// Len is the number of elements.
func (p Param) Len() int { return kernels.Shaped(kernels.F32, p.Shape...).Len() }

// Table is the parameter table of a configuration, decayed tensors first: the order of slabs and checkpoints. The configuration must have a
// vocabulary.
func Table(c Config) ([]Param, error) {
	n, err := Build(c, Options{Mode: Logits, B: 1, T: 1})
	if err != nil {
		return nil, err
	}
	return n.Table(), nil
}

// Table is the parameter table of a network.
func (n *Net) Table() []Param {
	var decayed, rest []Param
	for _, p := range n.Graph.Params() {
		row := Param{Name: p.Name, Shape: p.Shape, Role: p.Role, Decay: len(p.Shape) >= 2}
		n.Config.start(&row)
		if row.Decay {
			decayed = append(decayed, row)
		} else {
			rest = append(rest, row)
		}
	}
	return append(decayed, rest...)
}

// Buffers is the table of what belongs to a network beside its parameters and is not trained.
func (n *Net) Buffers() []Param {
	var table []Param
	for _, p := range n.Graph.Buffers() {
		table = append(table, Param{Name: p.Name, Shape: p.Shape, Role: p.Role})
	}
	return table
}

// start fills in the distribution of a parameter's initial values:
//
//	fan_in  N(0, 1/fan_in); tables N(0, 1/width)
//	xavier  N(0, 2/(fan_in+fan_out)) (Glorot & Bengio 2010); tables N(0, 1/width)
//	gpt2    N(0, std²) for every matrix and table (GPT-2, whose width is 768 or more)
//
// The placement says which, and whether matrices that write to the residual stream are scaled by 1/sqrt(2·layers), unless init.kind and
// init.residual do; the placement's own factor comes on top. Gains start at 1 (at 0 where they are used as 1 + w), biases at 0.
func (c Config) start(p *Param) {
	placement, _ := block.Lookup(c.Norm.Placement)
	switch p.Role {
	case graph.Gain:
		p.Mean = 1
		return
	case graph.Slope:
		p.Mean = c.slope(p.Name)
		return
	case graph.Gate:
		p.Mean = placement.Gate(c.Layers)
		return
	case graph.UnitGain, graph.Bias:
		return
	}
	kind, writers := c.initial(placement)
	out, in := float64(p.Shape[0]), float64(p.Shape[1])
	switch {
	case kind == "gpt2":
		p.Std = c.Init.Std
	case p.Role == graph.Embedding || kind == "fan_in":
		p.Std = 1 / math.Sqrt(in)
	default:
		p.Std = math.Sqrt(2 / (in + out))
	}
	if p.Role == graph.ResidualWriter && writers == "scaled" {
		p.Std /= math.Sqrt(2 * float64(c.Layers))
	}
	if placement.Init != nil {
		if l, name, ok := blockOf(p.Name); ok {
			p.Std *= placement.Init(l, c.Layers, name)
		}
	}
}

// initial is the distribution of initial values and the scaling of residual writers, those of the placement where the configuration says
// auto.
func (c Config) initial(p block.Placement) (kind, writers string) {
	kind, writers = c.Init.Kind, c.Init.Residual
	if kind == "auto" {
		kind = p.Base
	}
	if writers == "auto" {
		writers = p.Writers
	}
	return kind, writers
}

// slope is where the slope of a DyT layer starts: before attention or elsewhere.
func (c Config) slope(name string) float64 {
	if strings.HasSuffix(name, ".attn_norm_in.alpha") {
		return c.Norm.Alpha[0]
	}
	return c.Norm.Alpha[len(c.Norm.Alpha)-1]
}

// blockOf splits "layers.0.self_attn.q_proj.weight" into block 1 and the name inside it.
func blockOf(name string) (l int, inside string, ok bool) {
	rest, ok := strings.CutPrefix(name, "layers.")
	if !ok {
		return 0, "", false
	}
	number, inside, ok := strings.Cut(rest, ".")
	l, err := strconv.Atoi(number)
	return l + 1, inside, ok && err == nil
}

// Initial draws the initial values of a parameter. They depend on the seed and the parameter's name and shape only, not on other parameters.
func (p Param) Initial(seed int64) []float32 {
	x := make([]float32, p.Len())
	if p.Role == graph.Running {
		for i := len(x) / 2; i < len(x); i++ {
			x[i] = 1
		}
		return x
	}
	if p.Std == 0 {
		for i := range x {
			x[i] = float32(p.Mean)
		}
		return x
	}
	h := fnv.New64a()
	fmt.Fprint(h, p.Name)
	name := h.Sum64()
	key := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for i := 0; i < len(x); i += 2 {
		r := kernels.Philox([4]uint32{uint32(i / 2), uint32(uint64(i/2) >> 32), uint32(name), uint32(name >> 32)}, key)
		a, b := gauss(r)
		x[i] = float32(p.Mean + p.Std*a)
		if i+1 < len(x) {
			x[i+1] = float32(p.Mean + p.Std*b)
		}
	}
	return x
}

// gauss turns 128 random bits into two standard normal numbers (Box & Muller 1958).
func gauss(r [4]uint32) (a, b float64) {
	u := (float64(uint64(r[0])<<21^uint64(r[1])>>11) + 0.5) / (1 << 53) // in (0, 1)
	v := float64(uint64(r[2])<<21^uint64(r[3])>>11) / (1 << 53)
	radius := math.Sqrt(-2 * math.Log(u))
	sin, cos := math.Sincos(2 * math.Pi * v)
	return radius * cos, radius * sin
}
