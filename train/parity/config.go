// Package parity compares the model with figures of an independent implementation: logits, loss, every gradient, and a trajectory of AdamW
// steps, from a safetensors file that describes its own model.
package parity

import (
	"bytes"
	"encoding/json"
	"fmt"

	"prenorm/model"
)

// fileConfig is the metadata entry "config" of a file. Keys that are not there are off.
type fileConfig struct {
	Vocab        int     `json:"vocab"`
	Width        int     `json:"width"`
	Layers       int     `json:"layers"`
	Heads        int     `json:"heads"`
	KVHeads      int     `json:"kv_heads"`
	HeadDim      int     `json:"head_dim"`
	FFN          int     `json:"ffn"`
	T            int     `json:"T"`
	B            int     `json:"B"`
	Norm         string  `json:"norm"`
	Eps          float64 `json:"eps"`
	Placement    string  `json:"placement"`
	MLP          string  `json:"mlp"`
	Pos          string  `json:"pos"`
	RopeTheta    float64 `json:"rope_theta"`
	Bias         bool    `json:"bias"`
	Tied         bool    `json:"tied"`
	QKNorm       string  `json:"qk_norm"`
	Window       int     `json:"window"`
	AttnSoftcap  float64 `json:"attn_softcap"`
	FinalSoftcap float64 `json:"final_softcap"`
	UnitOffset   bool    `json:"unit_offset"`
	EmbedScale   bool    `json:"embed_scale"`
	EmbedNorm    bool    `json:"embed_norm"`
	Ignore       bool    `json:"ignore"` // some targets are negative; nothing to configure
}

// decodeConfig reads the model's description, and refuses a key that it does not know: a model that is not understood cannot be compared.
func decodeConfig(text string) (fileConfig, error) {
	var c fileConfig
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("metadata entry config: %w", err)
	}
	if c.B <= 0 || c.T <= 0 || c.B > maxRows || c.T > maxRows {
		return c, fmt.Errorf("metadata entry config: B = %d and T = %d must be between 1 and %d", c.B, c.T, maxRows)
	}
	return c, nil
}

// maxRows bounds what a file can make the program allocate.
const maxRows = 1 << 16

// model is the configuration in the model's own terms.
func (c fileConfig) model() (model.Config, error) {
	m := model.Default()
	m.Layers, m.Width, m.Heads, m.KVHeads, m.HeadDim, m.FFN = c.Layers, c.Width, c.Heads, c.KVHeads, c.HeadDim, c.FFN
	m.Context, m.Vocab = c.T, c.Vocab
	m.Norm = model.Norm{Kind: c.Norm, Placement: c.Placement, Eps: c.Eps, UnitOffset: c.UnitOffset, Embed: c.EmbedNorm, Alpha: m.Norm.Alpha}
	m.MLP, m.Tied, m.EmbedScale, m.LogitSoftcap = c.MLP, c.Tied, c.EmbedScale, c.FinalSoftcap
	m.Position.Kind = c.Pos
	if c.RopeTheta != 0 {
		m.Position.Theta = []float64{c.RopeTheta}
	}
	m.Attention.Window, m.Attention.Softcap = []int{c.Window}, c.AttnSoftcap
	if c.QKNorm != "" {
		m.Attention.QKNorm = c.QKNorm
	}
	m.Bias = "none"
	if c.Bias {
		m.Bias = "all"
	}
	m = m.Resolved()
	return m, m.Problems().Err()
}

// adamw is the metadata entry "adamw".
type adamw struct {
	LR          float64      `json:"lr"`
	Betas       []float64    `json:"betas"`
	Eps         float64      `json:"eps"`
	WeightDecay float64      `json:"weight_decay_matrices"`
	Clip        float64      `json:"clip"`
	Steps       [][2]float64 `json:"loss_and_gradnorm"`
}

func decodeAdamW(text string) (*adamw, error) {
	var a adamw
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, fmt.Errorf("metadata entry adamw: %w", err)
	}
	if len(a.Betas) != 2 || len(a.Steps) == 0 {
		return nil, fmt.Errorf("metadata entry adamw: needs two betas and at least one step, has %d and %d", len(a.Betas), len(a.Steps))
	}
	return &a, nil
}
