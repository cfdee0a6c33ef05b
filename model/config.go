// Package model is the decoder-only Transformer as a Gorgonia graph: embed, blocks, norm, head, loss.
package model

import "prenorm/model/block"

// Config describes a decoder-only Transformer. The yaml tags are the keys below `model:` in a run file.
type Config struct {
	Layers  int `yaml:"layers"`
	Width   int `yaml:"width"`    // C, the size of the residual stream
	Heads   int `yaml:"heads"`    // query heads
	KVHeads int `yaml:"kv_heads"` // key and value heads, a divisor of heads; 0 = heads
	HeadDim int `yaml:"head_dim"` // 0 = width/heads
	FFN     int `yaml:"ffn"`      // hidden size of the MLP; 0 = 4*width, or 8/3*width rounded up to a multiple of 32 for a gated MLP
	Context int `yaml:"context"`  // T, the longest sequence
	Vocab   int `yaml:"vocab"`    // 0 = the tokenizer's

	Norm      Norm      `yaml:"norm"`
	MLP       string    `yaml:"mlp"` // swiglu | geglu | gelu_tanh
	Position  Position  `yaml:"position"`
	Attention Attention `yaml:"attention"`
	Bias      string    `yaml:"bias"` // none | qkv | all (the head never has one)
	Tied      bool      `yaml:"tied"` // the head shares the embedding's matrix

	LogitSoftcap float64 `yaml:"logit_softcap"` // 0 = none
	EmbedScale   bool    `yaml:"embed_scale"`   // embeddings times sqrt(width)
	Dropout      float64 `yaml:"dropout"`       // after the embedding, the attention's and the MLP's output
	Init         Init    `yaml:"init"`
}

// Norm says which norm is used and where it sits.
type Norm struct {
	Kind       string    `yaml:"kind"`      // rmsnorm | layernorm | dyt | batchnorm (for demonstration only)
	Placement  string    `yaml:"placement"` // a name of model/block's registry
	Eps        float64   `yaml:"eps"`
	UnitOffset bool      `yaml:"unit_offset"` // the gain is stored as w and used as 1 + w (Gemma)
	Embed      bool      `yaml:"embed"`       // one more norm, on the embedding (Peri-LN, BLOOM)
	Alpha      []float64 `yaml:"alpha"`       // dyt: where the slopes start, one for all or {before attention, elsewhere}
	Momentum   float64   `yaml:"momentum"`    // batchnorm: how far running statistics move towards a batch's
}

// Position says how tokens know their place.
type Position struct {
	Kind    string    `yaml:"kind"`  // rope | learned
	Theta   []float64 `yaml:"theta"` // rope's base, one for every layer or a pattern repeated over the layers
	Scaling Scaling   `yaml:"scaling"`
}

// Scaling stretches RoPE to a longer context than the model was made for.
type Scaling struct {
	Kind     string  `yaml:"kind"`     // none | linear (positions divided by factor) | ntk (theta raised, "NTK-aware") | llama3 | yarn
	Factor   float64 `yaml:"factor"`   // >= 1
	Original int     `yaml:"original"` // the context before scaling (llama3, yarn)
	LowFreq  float64 `yaml:"low_freq"` // llama3: low_freq_factor; yarn: beta_slow
	HighFreq float64 `yaml:"high_freq"`
}

// Attention holds the options of every layer's attention.
type Attention struct {
	QKNorm  string  `yaml:"qk_norm"` // none | head (each head, before RoPE) | full (the whole projected width)
	Window  []int   `yaml:"window"`  // row i sees rows i-window+1 … i; 0 = all; one for every layer or a pattern repeated over the layers
	Scale   float64 `yaml:"scale"`   // 0 = 1/sqrt(head_dim)
	Softcap float64 `yaml:"softcap"` // 0 = none
}

// Init says how the parameters start.
type Init struct {
	Kind     string  `yaml:"kind"`     // auto (the placement's) | fan_in (normal, 1/sqrt(fan_in)) | xavier | gpt2 (normal, std)
	Std      float64 `yaml:"std"`      // of gpt2's normal
	Residual string  `yaml:"residual"` // auto (the placement's) | scaled (the matrices that write to the residual stream times 1/sqrt(2*layers)) | plain
}

// Default is the configuration that a run file is decoded onto: Pre-RMSNorm, SwiGLU, RoPE, tied embeddings.
func Default() Config {
	return Config{
		Layers: 4, Width: 128, Heads: 4, Context: 128,
		Norm:      Norm{Kind: "rmsnorm", Placement: "pre", Eps: 1e-5, Alpha: []float64{0.5}, Momentum: 0.1},
		MLP:       "swiglu",
		Position:  Position{Kind: "rope", Theta: []float64{10000}, Scaling: Scaling{Kind: "none", Factor: 1, LowFreq: 1, HighFreq: 4}},
		Attention: Attention{QKNorm: "none", Window: []int{0}},
		Bias:      "none",
		Tied:      true,
		Init:      Init{Kind: "auto", Std: 0.02, Residual: "auto"},
	}
}

// WithPlacement returns c with another placement, and with what that placement cannot do without: its number of layers, and no norm of queries
// and keys beside its own.
func (c Config) WithPlacement(name string) Config {
	c.Norm.Placement = name
	if p, ok := block.Lookup(name); ok {
		c.Layers = max(c.Layers, p.MinLayers)
		if p.OwnQKNorm {
			c.Attention.QKNorm = "none"
		}
	}
	return c
}
