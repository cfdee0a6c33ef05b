package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prenorm/configs/problem"
	"prenorm/model/block"
)

// Placements lists the norm placements that a run file may name.
var Placements = block.Names

// The words that a run file may use.
var (
	normKinds     = []string{"rmsnorm", "layernorm", "dyt", "batchnorm"}
	mlpKinds      = []string{"swiglu", "geglu", "gelu_tanh"}
	positionKinds = []string{"rope", "learned"}
	scalingKinds  = []string{"none", "linear", "ntk", "llama3", "yarn"}
	qkNormKinds   = []string{"none", "head", "full"}
	biasKinds     = []string{"none", "qkv", "all"}
	initKinds     = []string{"auto", "fan_in", "xavier", "gpt2"}
	residualKinds = []string{"auto", "scaled", "plain"}
)

// The bounds keep every product of two sizes, and of three with the batch, inside 63 bits.
const (
	maxLayers  = 1000
	maxWidth   = 1 << 16
	maxHeads   = 1 << 12
	maxHeadDim = maxWidth
	maxFFN     = 1 << 19
	maxContext = 1 << 20
	maxVocab   = 1 << 24
)

var (
	notNegative = problem.Interval{Low: 0, High: 1e6}
	probability = problem.Interval{Low: 0, High: 1, OpenHigh: true}
)

// Problems returns every rule of a model's configuration that c breaks. Keys are relative to the section `model:`.
func (c Config) Problems() problem.List {
	var l problem.List
	c.checkSizes(&l)
	c.checkHeads(&l)
	c.checkNorm(&l)
	c.checkPosition(&l)
	c.checkAttention(&l)
	l.OneOf("mlp", c.MLP, mlpKinds...)
	l.OneOf("bias", c.Bias, biasKinds...)
	l.Within("logit_softcap", c.LogitSoftcap, notNegative)
	l.Within("dropout", c.Dropout, probability)
	l.OneOf("init.kind", c.Init.Kind, initKinds...)
	l.Within("init.std", c.Init.Std, problem.Interval{Low: 0, High: 10, OpenLow: true})
	l.OneOf("init.residual", c.Init.Residual, residualKinds...)
	return l
}

func (c Config) checkSizes(l *problem.List) {
	l.Whole("layers", c.Layers, 1, maxLayers)
	l.Whole("width", c.Width, 1, maxWidth)
	l.Whole("heads", c.Heads, 1, maxHeads)
	l.Whole("kv_heads", c.KVHeads, 0, maxHeads)
	l.Whole("head_dim", c.HeadDim, 0, maxHeadDim)
	l.Whole("ffn", c.FFN, 0, maxFFN)
	l.Whole("context", c.Context, 1, maxContext)
	l.Whole("vocab", c.Vocab, 0, maxVocab)
	if c.Vocab == 1 {
		l.Addf("vocab", "1 leaves nothing to predict (2 or more, or 0 for the tokenizer's)")
	}
}

// checkHeads looks at the sizes that must fit each other. It says nothing where a size is already out of its own range.
func (c Config) checkHeads(l *problem.List) {
	if !inRange(c.Heads, maxHeads) || !inRange(c.Width, maxWidth) {
		return
	}
	if c.KVHeads > 0 && c.KVHeads <= maxHeads && c.Heads%c.KVHeads != 0 {
		divides := func(n int) bool { return c.Heads%n == 0 }
		l.Addf("kv_heads", "%d does not divide heads %d%s", c.KVHeads, c.Heads, try(c.KVHeads, c.Heads, divides))
	}
	rope := c.Position.Kind == "rope"
	if c.HeadDim != 0 {
		if rope && c.HeadDim > 0 && c.HeadDim%2 != 0 {
			l.Addf("head_dim", "%d is odd and rope turns pairs of features (try %d)", c.HeadDim, c.HeadDim+1)
		}
		return
	}
	fits := func(n int) bool { return c.Width%n == 0 && !(rope && c.Width/n%2 != 0) }
	switch {
	case c.Width%c.Heads != 0:
		l.Addf("heads", "%d does not divide width %d%s", c.Heads, c.Width, try(c.Heads, c.Width, fits))
	case !fits(c.Heads):
		l.Addf("heads", "%d leaves each head %d features of width %d, an odd number, and rope turns pairs%s",
			c.Heads, c.Width/c.Heads, c.Width, try(c.Heads, c.Width, fits))
	}
}

func (c Config) checkNorm(l *problem.List) {
	l.OneOf("norm.kind", c.Norm.Kind, normKinds...)
	l.OneOf("norm.placement", c.Norm.Placement, Placements()...)
	l.Within("norm.eps", c.Norm.Eps, problem.Interval{Low: 0, High: 1e-2, OpenLow: true})
	if c.Norm.Kind == "batchnorm" {
		l.Within("norm.momentum", c.Norm.Momentum, problem.Interval{Low: 0, High: 1, OpenLow: true})
	}
	if n := len(c.Norm.Alpha); n < 1 || n > 2 {
		l.Addf("norm.alpha", "has %d values (one, or two: before attention, elsewhere)", n)
	}
	for i, alpha := range c.Norm.Alpha {
		if allowed := (problem.Interval{Low: 0, High: 100, OpenLow: true}); !allowed.Contains(alpha) {
			l.Addf("norm.alpha", "%s%s is out of range (%s)", entry(i, len(c.Norm.Alpha)), problem.Number(alpha), allowed)
		}
	}
	if c.Norm.Kind == "dyt" && c.Norm.UnitOffset {
		l.Addf("norm.unit_offset", "true has no meaning for kind dyt, whose gain is used as it is (false)")
	}
	c.checkPlacement(l)
}

// checkPlacement looks at what the placement asks of the rest.
func (c Config) checkPlacement(l *problem.List) {
	p, ok := block.Lookup(c.Norm.Placement)
	if !ok {
		return
	}
	if c.Layers >= 1 && c.Layers < p.MinLayers {
		l.Addf("norm.placement", "%s needs %d layers and the model has %d (more layers, or another placement)", p.Name, p.MinLayers, c.Layers)
	}
	if p.OwnQKNorm && c.Attention.QKNorm != "none" {
		l.Addf("attention.qk_norm", "%s, and placement %s norms queries and keys itself (none)", c.Attention.QKNorm, p.Name)
	}
}

func (c Config) checkPosition(l *problem.List) {
	l.OneOf("position.kind", c.Position.Kind, positionKinds...)
	c.checkPattern(l, "position.theta", len(c.Position.Theta))
	for i, theta := range c.Position.Theta {
		if allowed := (problem.Interval{Low: 0, High: 1e12, OpenLow: true}); !allowed.Contains(theta) {
			l.Addf("position.theta", "%s%s is out of range (%s)", entry(i, len(c.Position.Theta)), problem.Number(theta), allowed)
		}
	}
	s := c.Position.Scaling
	l.OneOf("position.scaling.kind", s.Kind, scalingKinds...)
	l.Within("position.scaling.factor", s.Factor, problem.Interval{Low: 1, High: 1e6})
	l.Whole("position.scaling.original", s.Original, 0, maxContext)
	l.Within("position.scaling.low_freq", s.LowFreq, problem.Interval{Low: 0, High: 1e6, OpenLow: true})
	l.Within("position.scaling.high_freq", s.HighFreq, problem.Interval{Low: 0, High: 1e6, OpenLow: true})
	c.checkScaling(l, s)
}

// checkScaling looks at the keys of position.scaling that depend on each other.
func (c Config) checkScaling(l *problem.List, s Scaling) {
	switch s.Kind {
	case "none":
		if s.Factor > 1 {
			l.Addf("position.scaling.factor", "%s does nothing with kind none (1, or one of the kinds %s)",
				problem.Number(s.Factor), strings.Join(scalingKinds[1:], ", "))
		}
		return
	case "llama3", "yarn":
		if s.Original == 0 {
			l.Addf("position.scaling.original", "0 is no context and kind %s needs the one from before scaling (try %d)", s.Kind, max(c.Context, 1))
		}
		if s.LowFreq > 0 && s.HighFreq > 0 && s.LowFreq >= s.HighFreq {
			l.Addf("position.scaling.high_freq", "%s is not above low_freq %s", problem.Number(s.HighFreq), problem.Number(s.LowFreq))
		}
	}
	if c.Position.Kind == "learned" && slices.Contains(scalingKinds, s.Kind) {
		l.Addf("position.scaling.kind", "%s scales rope and position.kind is learned (none, or position.kind rope)", s.Kind)
	}
}

func (c Config) checkAttention(l *problem.List) {
	a := c.Attention
	l.OneOf("attention.qk_norm", a.QKNorm, qkNormKinds...)
	c.checkPattern(l, "attention.window", len(a.Window))
	for i, window := range a.Window {
		if window < 0 || window > maxContext {
			l.Addf("attention.window", "%s%d is out of range (0 to %d)", entry(i, len(a.Window)), window, maxContext)
		}
	}
	l.Within("attention.scale", a.Scale, notNegative)
	l.Within("attention.softcap", a.Softcap, notNegative)
}

// checkPattern looks at the length of a list that is repeated over the layers.
func (c Config) checkPattern(l *problem.List, key string, length int) {
	if length == 0 {
		l.Addf(key, "is empty (one value for every layer, or a pattern repeated over the layers)")
	} else if c.Layers >= 1 && length > c.Layers {
		l.Addf(key, "has %d values for %d layers (at most one a layer)", length, c.Layers)
	}
}

// entry names element i of a list of n in front of its value, and nothing for a list of one.
func entry(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("value %d: ", i+1)
}

func inRange(n, high int) bool { return n >= 1 && n <= high }

// try proposes the nearest numbers below and above n, up to limit, that fit.
func try(n, limit int, fits func(int) bool) string {
	var found []string
	for below := min(n-1, limit); below >= 1; below-- {
		if fits(below) {
			found = append(found, fmt.Sprint(below))
			break
		}
	}
	for above := n + 1; above <= limit; above++ {
		if fits(above) {
			found = append(found, fmt.Sprint(above))
			break
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (try " + strings.Join(found, " or ") + ")"
}

// Gated reports whether the MLP multiplies two projections (swiglu, geglu), which has three matrices in place of two.
func (c Config) Gated() bool { return c.MLP == "swiglu" || c.MLP == "geglu" }

// Resolved returns c with the sizes that follow from others written out: kv_heads, head_dim and ffn. A vocab of 0 stays until the
// tokenizer is known, an attention.scale of 0 keeps meaning 1/sqrt(head_dim).
func (c Config) Resolved() Config {
	if c.KVHeads == 0 {
		c.KVHeads = c.Heads
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Width / c.Heads
	}
	if c.FFN == 0 && c.Width <= math.MaxInt32 {
		c.FFN = 4 * c.Width
		if c.Gated() {
			c.FFN = (8*c.Width + 95) / 96 * 32 // 8/3 of the width, rounded up to a multiple of 32
		}
	}
	return c
}
