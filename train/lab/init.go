package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prenorm/kernels"
)

// InitOptions say what is measured at initialisation.
type InitOptions struct {
	Setup    string // of [Setups]
	Variants []string
	Depths   []int
	Widths   []int // 0 = the set-up's
	Seeds    []int64
	Kind     string // of initial values: "" = the set-up's, or fan_in, xavier, gpt2
}

// DefaultInit are depths, widths and seeds of the measurement that laws were fitted to.
func DefaultInit() InitOptions {
	return InitOptions{Setup: "norms", Depths: []int{6, 12, 24, 48}, Widths: []int{0}, Seeds: []int64{1, 2, 3, 4}}
}

// Snapshot is one model before training.
type Snapshot struct {
	Variant string
	Layers  int
	Width   int
	Seed    int64
	Loss    float64
	Stream  []float64 // RMS of the stream after block l; 0 is the embedding
	Final   float64   // RMS of what the head reads
	Dual    float64   // RMS of the second stream after the last block, 0 where there is none
	Grad    []float64 // norm of the loss's gradient by the stream after block l
	Moved   float64   // distance of the stream after the last block from the embedding, over the latter's norm
	Lower   float64   // norm of the gradient by the second stream after the last block, 0 where there is none
	Down    []float64 // norm of the gradient of the MLP's last matrix of block l+1
}

// InitResult are all models that were looked at.
type InitResult struct {
	Options InitOptions
	Models  []Snapshot

	draws Draws
}

// Init draws models and runs one pass of each over random tokens, without training.
func Init(ctx context.Context, be kernels.Backend, o InitOptions, log func(string)) (InitResult, error) {
	setup, ok := Setups()[o.Setup]
	if !ok {
		return InitResult{}, fmt.Errorf("there is no set-up %q (have %v)", o.Setup, SetupNames())
	}
	r := InitResult{Options: o, draws: Draws{}}
	for _, name := range o.Variants {
		for _, width := range o.Widths {
			v, err := setup.Variant(name, width)
			if err != nil {
				return r, err
			}
			if o.Kind != "" {
				v.Config.Init.Kind = o.Kind
			}
			for _, layers := range o.Depths {
				models, err := r.measure(ctx, be, setup, v, layers)
				if err != nil {
					return r, fmt.Errorf("%s of %d layers: %w", name, layers, err)
				}
				r.Models = append(r.Models, models...)
			}
		}
		log(name)
	}
	return r, nil
}

// measure looks at one variant at one depth with every seed.
func (r InitResult) measure(ctx context.Context, be kernels.Backend, s Setup, v Variant, layers int) (out []Snapshot, err error) {
	p, err := NewProbe(be, v.withLayers(layers), ProbeOptions{B: s.B, T: s.T, DType: kernels.F32})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	for _, seed := range r.Options.Seeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := errors.Join(p.Draw(r.draws, seed, v.factor(layers)), p.RandomBatch(seed)); err != nil {
			return nil, err
		}
		snap, err := p.snapshot()
		if err != nil {
			return nil, err
		}
		snap.Variant, snap.Seed = v.Name, seed
		out = append(out, snap)
	}
	return out, nil
}

// snapshot runs a pass and sums its values up.
func (p *Probe) snapshot() (s Snapshot, err error) {
	s = Snapshot{Layers: p.Config.Layers, Width: p.Config.Width}
	if s.Loss, err = p.Run(); err != nil {
		return s, err
	}
	var first []float64
	for l := range p.Config.Layers + 1 {
		x, err := p.Value(stream(l))
		if err != nil {
			return s, err
		}
		if l == 0 {
			first = x
		}
		s.Stream, s.Moved = append(s.Stream, rms(x)), distance(x, first)/norm(first)
		if x, err = p.Value("grad." + stream(l)); err != nil {
			return s, err
		}
		s.Grad = append(s.Grad, norm(x))
	}
	for l := range p.Config.Layers {
		x, err := p.Gradient(fmt.Sprintf("layers.%d.mlp.down_proj.weight", l))
		if err != nil {
			return s, err
		}
		s.Down = append(s.Down, norm(x))
	}
	x, err := p.Value("final")
	s.Final = rms(x)
	if dual, missing := p.Value(fmt.Sprintf("layers.%d.dual", p.Config.Layers-1)); missing == nil {
		s.Dual = rms(dual)
		lower, err := p.Value(fmt.Sprintf("grad.layers.%d.dual", p.Config.Layers-1))
		if err != nil {
			return s, err
		}
		s.Lower = norm(lower)
	}
	return s, err
}

// Depth sums up the models of one variant, width and depth over seeds.
type Depth struct {
	Layers  int
	Last    Spread // gradient norm of the last block's MLP matrix
	Stream  Spread // RMS of the stream after the last block, of the second one where there are two
	First   Spread // the first block's gradient over the last one's
	Uneven  Spread // the largest gradient of a block over the smallest
	Streams []float64
	Downs   []float64
}

// Depths sums up one variant at one width, by depth.
func (r InitResult) Depths(variant string, width int) []Depth {
	var all []Depth
	for _, layers := range r.Options.Depths {
		var last, size, first, uneven []float64
		d := Depth{Layers: layers, Streams: make([]float64, layers+1), Downs: make([]float64, layers)}
		for _, m := range r.Models {
			if m.Variant != variant || m.Layers != layers || width > 0 && m.Width != width {
				continue
			}
			last = append(last, m.Down[layers-1])
			size = append(size, m.Size())
			first = append(first, m.Down[0]/m.Down[layers-1])
			uneven = append(uneven, slices.Max(m.Down)/slices.Min(m.Down))
			for i, v := range m.Stream {
				d.Streams[i] += v / float64(len(r.Options.Seeds))
			}
			for i, v := range m.Down {
				d.Downs[i] += v / float64(len(r.Options.Seeds))
			}
		}
		if len(last) > 0 {
			d.Last, d.Stream, d.First, d.Uneven = SpreadOf(last...), SpreadOf(size...), SpreadOf(first...), SpreadOf(uneven...)
			all = append(all, d)
		}
	}
	return all
}

// Size is the RMS of the stream after the last block: of the second one, which no norm touches, where there are two.
func (m Snapshot) Size() float64 {
	if m.Dual > 0 {
		return m.Dual
	}
	return m.Stream[m.Layers]
}

// Slopes are the exponents of depth of the last block's gradient and of the stream's size.
func Slopes(depths []Depth) (gradient, size float64) {
	var n, g, s []float64
	for _, d := range depths {
		n, g, s = append(n, float64(d.Layers)), append(g, d.Last.Mean), append(s, d.Stream.Mean)
	}
	return Slope(n, g), Slope(n, s)
}

// checkVariants returns the first model of a set-up that cannot be built.
func checkVariants(setup string, variants []string, widths, depths []int) error {
	for _, name := range variants {
		for _, width := range widths {
			v, err := Setups()[setup].Variant(name, width)
			if err != nil {
				return err
			}
			for _, layers := range depths {
				if err := v.withLayers(layers).Problems().Err(); err != nil {
					return fmt.Errorf("%s of %d layers: %w", name, layers, err)
				}
			}
		}
	}
	return nil
}

// Check returns the first option that cannot be.
func (o InitOptions) Check() error {
	if len(o.Depths) == 0 {
		return fmt.Errorf("no depths are given")
	}
	for i, d := range o.Depths {
		if d < 1 || d > 1000 || i > 0 && d <= o.Depths[i-1] {
			return fmt.Errorf("depths %v: want numbers of blocks from 1 to 1000 in ascending order", o.Depths)
		}
	}
	for _, w := range o.Widths {
		if heads := Setups()[o.Setup].base.Heads; w != 0 && (w < heads || w%(2*heads) != 0) {
			return fmt.Errorf("width %d: wants a multiple of %d", w, 2*heads)
		}
	}
	switch o.Kind {
	case "", "fan_in", "xavier", "gpt2":
		return checkVariants(o.Setup, o.Variants, o.Widths, o.Depths)
	}
	return fmt.Errorf("initial values %q: want fan_in, xavier or gpt2", o.Kind)
}
