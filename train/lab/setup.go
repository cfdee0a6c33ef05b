package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"prenorm/model"
	"prenorm/model/block"
)

// Variant is a placement with what a set-up changes about it.
type Variant struct {
	Name   string // the placement's, or one of the set-up's own
	Config model.Config
	// Factor multiplies a parameter's initial values, on top of what the configuration says; nil = 1.
	Factor func(layers int, name string) float64
}

// withLayers is the variant's configuration at a depth.
func (v Variant) withLayers(n int) model.Config {
	c := v.Config
	c.Layers = n
	return c
}

// factor is the factor at a depth.
func (v Variant) factor(layers int) func(name string) float64 {
	if v.Factor == nil {
		return nil
	}
	return func(name string) float64 { return v.Factor(layers, name) }
}

// Setup is a way to make models of placements that can be held against each other.
type Setup struct {
	Name     string
	About    string
	B, T     int
	variants func(base model.Config, name string) (Variant, bool)
	base     model.Config
	own      []string // names of variants beside the placements
	names    []string // the placements it has, nil = all

	headAsTable bool
}

// Names are the variants that the set-up knows.
func (s Setup) Names() []string {
	names := s.names
	if names == nil {
		names = block.Names()
	}
	return slices.Concat(names, s.own)
}

// Variant makes the variant of a name at a width, 0 = the set-up's own.
func (s Setup) Variant(name string, width int) (Variant, error) {
	base := s.base
	if width > 0 {
		base.Width = width
	}
	v, ok := s.variants(base, name)
	if !ok {
		return v, fmt.Errorf("set-up %s has no placement %q (has %s)", s.Name, name, strings.Join(s.Names(), ", "))
	}
	v.Name = name
	if s.headAsTable {
		v.Factor = headAsTable(v.Config, v.Factor)
	}
	return v, nil
}

// headAsTable draws the head of a Xavier model from N(0, 1/width), as the embedding.
func headAsTable(c model.Config, factor func(layers int, name string) float64) func(layers int, name string) float64 {
	return func(layers int, name string) float64 {
		switch {
		case name == "lm_head.weight" && c.Init.Kind == "xavier":
			return math.Sqrt(float64(c.Width+c.Vocab) / float64(2*c.Width))
		case factor == nil:
			return 1
		}
		return factor(layers, name)
	}
}

// Setups are the set-ups by name.
func Setups() map[string]Setup { return map[string]Setup{"norms": normsSetup(), "own": ownSetup()} }

// SetupNames lists them.
func SetupNames() []string { return slices.Sorted(maps.Keys(Setups())) }

// ownSetup gives each placement the initialisation that it asks for, in the default model.
func ownSetup() Setup {
	base := model.Default()
	base.Width, base.Heads, base.Vocab, base.Context, base.Tied = 64, 4, 256, 32, false
	return Setup{Name: "own", About: "RMSNorm, SwiGLU, RoPE, untied head, each placement with the initial values that it asks for", B: 4, T: 32, base: base,
		variants: func(base model.Config, name string) (Variant, bool) {
			_, ok := block.Lookup(name)
			return Variant{Config: base.WithPlacement(name)}, ok
		}}
}

// normsSetup is the common ground on which laws of depth are fitted: the same Xavier values everywhere (Glorot & Bengio 2010), so that slopes are
// the placements' own and not those of their initialisations. Residual writers are plain except where the variant's name says otherwise.
// Placements whose stream is normed after every addition start from a normed embedding.
func normsSetup() Setup {
	base := model.Default()
	base.Width, base.Heads, base.Vocab, base.Context, base.Tied = 64, 4, 256, 32, false
	base.MLP, base.Position.Kind = "gelu_tanh", "learned"
	base.Norm.Kind, base.Norm.Eps = "layernorm", 1e-5
	base.Init.Kind, base.Init.Residual = "xavier", "plain"
	return Setup{Name: "norms", About: "LayerNorm, GELU, learned positions, untied head, Xavier everywhere", B: 4, T: 32, base: base,
		variants: normsVariant, own: slices.Sorted(maps.Keys(normsVariants)), names: normsPlacements, headAsTable: true}
}

// normsPlacements are the placements that have laws.
var normsPlacements = []string{"post", "pre", "deepnorm", "residual", "sandwich", "olmo2", "mix", "lns", "hybrid", "subln", "b2t", "keel", "layerscale", "rezero"}

// normedEmbedding are the placements that start from a normed embedding.
var normedEmbedding = []string{"post", "deepnorm", "b2t", "keel", "residual"}

// normsVariants are what the set-up has beside the placements: a placement, and what is other about it.
var normsVariants = map[string]func(c model.Config) Variant{
	"pre+scaled": func(c model.Config) Variant { return Variant{Config: scaled(c.WithPlacement("pre"))} },
	"lns+scaled": func(c model.Config) Variant { return Variant{Config: scaled(c.WithPlacement("lns"))} },
	"dyt": func(c model.Config) Variant {
		c = c.WithPlacement("pre")
		c.Norm.Kind, c.Norm.Alpha = "dyt", []float64{0.8, 0.2}
		return Variant{Config: c}
	},
	// The published code of two comparisons multiplies by (8N)^(+1/4), and has the alpha of 32 blocks at every depth. The latter needs a placement
	// of its own; the factor alone shows what is lost.
	"deepnorm+up": func(c model.Config) Variant {
		c = c.WithPlacement("deepnorm")
		c.Norm.Embed = true
		return Variant{Config: c, Factor: func(layers int, name string) float64 {
			if p, _ := block.Lookup("deepnorm"); strings.HasPrefix(name, "layers.") {
				_, inside, _ := strings.Cut(strings.TrimPrefix(name, "layers."), ".")
				return math.Pow(p.Init(1, layers, inside), -2)
			}
			return 1
		}}
	},
}

func scaled(c model.Config) model.Config {
	c.Init.Residual = "scaled"
	return c
}

func normsVariant(base model.Config, name string) (Variant, bool) {
	if make, ok := normsVariants[name]; ok {
		return make(base), true
	}
	c := base.WithPlacement(name)
	c.Norm.Embed = slices.Contains(normedEmbedding, name)
	switch name {
	case "hybrid":
		c = scaled(c)
	case "olmo2":
		c.Attention.QKNorm = "full"
	}
	return Variant{Config: c}, slices.Contains(normsPlacements, name)
}
