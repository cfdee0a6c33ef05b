package lab

import (
	"context"
	"errors"
	"fmt"

	"prenorm/kernels"
)

// MostPathBlocks is the number of blocks up to which paths can be told apart in float64: beyond it rounding drowns the coefficients.
const MostPathBlocks = 12

// PathsOptions say which models are looked at.
type PathsOptions struct {
	Setup    string
	Variants []string
	Layers   int
	Width    int // 0 = the set-up's
	B, T     int
	Seeds    []int64
}

// DefaultPaths is a model that float64 takes seconds for.
func DefaultPaths() PathsOptions {
	return PathsOptions{Setup: "norms", Variants: []string{"pre", "pre+scaled", "post", "deepnorm", "keel", "residual", "sandwich"}, Layers: 6, Width: 32, B: 2, T: 32, Seeds: []int64{1, 2}}
}

// Check returns the first model that cannot be built.
func (o PathsOptions) Check() error {
	return checkVariants(o.Setup, o.Variants, []int{o.Width}, []int{o.Layers})
}

// Path says by how many branches one model's gradient comes down to the embedding. The gradient with every branch's Jacobian multiplied by t is a
// polynomial in t, as a path that passes k branches is multiplied by t^k; its coefficients are the sums over all paths of k branches.
type Path struct {
	Variant  string
	Layers   int
	Seed     int64
	Norms    []float64 // of the k-th coefficient
	Shares   []float64 // part of the whole gradient along itself that comes by paths of k branches; they sum to 1
	Whole    float64   // norm of the whole gradient by the embedding
	Straight []float64 // norm of the gradient of the straight path by the stream after block l; 0 is the embedding
	Full     []float64 // norm of the whole gradient by the stream after block l

	Condition float64 // of the recovery
	SumError  float64 // of the coefficients' sum against the whole gradient, relative
	ZeroError float64 // of the coefficient of k = 0 against the gradient with all branches cut, relative to the whole
	TopError  float64 // of the straight path's gradient at the embedding against that after the last block, relative to the latter
}

// Paths takes gradients of models before training apart. The backend must compute in float64 and have the call gradscale.
func Paths(ctx context.Context, be kernels.Backend, o PathsOptions, log func(string)) ([]Path, error) {
	if o.Layers < 1 || o.Layers > MostPathBlocks {
		return nil, fmt.Errorf("%d blocks: paths can be told apart for 1 to %d", o.Layers, MostPathBlocks)
	}
	setup, ok := Setups()[o.Setup]
	if !ok {
		return nil, fmt.Errorf("there is no set-up %q (have %v)", o.Setup, SetupNames())
	}
	var all []Path
	draws, recovery := Draws{}, NewRecovery(2*o.Layers)
	for _, name := range o.Variants {
		v, err := setup.Variant(name, o.Width)
		if err != nil {
			return nil, err
		}
		paths, err := pathsBy(ctx, be, o, v, draws, func(p *Probe) (Path, error) { return p.path(ctx, recovery) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, paths...)
		log(name)
	}
	return all, nil
}

// StraightPaths follows the straight path of models before training, with all branches cut: of each Path it has Straight and TopError. It goes through
// any number of blocks, as nothing is recovered.
func StraightPaths(ctx context.Context, be kernels.Backend, o PathsOptions) ([]Path, error) {
	var all []Path
	draws := Draws{}
	for _, name := range o.Variants {
		v, err := Setups()[o.Setup].Variant(name, o.Width)
		if err != nil {
			return nil, err
		}
		paths, err := pathsBy(ctx, be, o, v, draws, func(p *Probe) (Path, error) {
			out := Path{Layers: p.Config.Layers}
			_, err := p.straight(&out)
			return out, err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, paths...)
	}
	return all, nil
}

// pathsBy measures one variant with every seed.
func pathsBy(ctx context.Context, be kernels.Backend, o PathsOptions, v Variant, draws Draws, measure func(*Probe) (Path, error)) (all []Path, err error) {
	p, err := NewProbe(be, v.withLayers(o.Layers), ProbeOptions{B: o.B, T: o.T, DType: kernels.F64, BranchScale: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	for _, seed := range o.Seeds {
		if err := errors.Join(p.Draw(draws, seed, v.factor(o.Layers)), p.RandomBatch(seed), ctx.Err()); err != nil {
			return nil, err
		}
		path, err := measure(p)
		if err != nil {
			return nil, err
		}
		path.Variant, path.Seed = v.Name, seed
		all = append(all, path)
	}
	return all, nil
}

// gradient runs a pass with branches' Jacobians multiplied by t and returns the gradient by the embedding.
func (p *Probe) gradient(t float64) ([]float64, error) {
	if err := p.SetBranch(t); err != nil {
		return nil, err
	}
	if _, err := p.Run(); err != nil {
		return nil, err
	}
	return p.Value("grad." + stream(0))
}

// norms are the norms of the last pass' gradients by the stream after each block, from the embedding on, and the last of those gradients. Where a
// gradient does not exist, as in a second stream that alone reaches the head, it is left at zero.
func (p *Probe) norms() (all, top []float64, err error) {
	all = make([]float64, p.Config.Layers+1)
	for l := range all {
		if top, err = p.Value("grad." + stream(l)); err != nil {
			return nil, nil, err
		}
		all[l] = norm(top)
	}
	return all, top, nil
}

// straight runs a pass with all branches cut and returns the gradient by the embedding.
func (p *Probe) straight(out *Path) ([]float64, error) {
	cut, err := p.gradient(0)
	if err != nil {
		return nil, err
	}
	norms, top, err := p.norms()
	if err != nil {
		return nil, err
	}
	out.Straight, out.TopError = norms, distance(cut, top)/norm(top)
	return cut, nil
}

// path takes one model's gradient apart.
func (p *Probe) path(ctx context.Context, r Recovery) (Path, error) {
	out := Path{Layers: p.Config.Layers, Condition: r.Condition}
	values := make([][]float64, len(r.Nodes))
	for j, t := range r.Nodes {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		var err error
		if values[j], err = p.gradient(t); err != nil {
			return out, err
		}
	}
	parts := r.Coefficients(values)
	cut, err := p.straight(&out)
	if err != nil {
		return out, err
	}
	whole, err := p.gradient(1)
	if err != nil {
		return out, err
	}
	if out.Full, _, err = p.norms(); err != nil {
		return out, err
	}
	out.Whole = norm(whole)
	sum := make([]float64, len(whole))
	for _, part := range parts {
		out.Norms = append(out.Norms, norm(part))
		out.Shares = append(out.Shares, dot(part, whole)/dot(whole, whole))
		for i, x := range part {
			sum[i] += x
		}
	}
	out.SumError = distance(sum, whole) / out.Whole
	out.ZeroError = distance(parts[0], cut) / out.Whole
	return out, nil
}

// distance is the norm of the difference.
func distance(x, y []float64) float64 {
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	return norm(d)
}
