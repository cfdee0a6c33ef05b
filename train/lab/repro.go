package lab

import (
	"context"
	"fmt"
	"slices"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
)

// Scale is how much a reproduction spends.
type Scale struct {
	Name    string
	Init    InitOptions // of set-up norms
	Bare    InitOptions // of set-up own: with and without residual connections
	Paths   PathsOptions
	Model   model.Config
	Train   train.Config
	Depths  []int     // of trained models, ascending
	Rates   []float64 // ascending
	Warmup  int       // the other warm-up beside none
	Warmed  []float64 // rates that are tried with it
	Seeds   []int64
	Shallow int     // blocks of the shallow comparison
	Deep    int     // blocks of the models that are looked into
	Rate    float64 // of those
	Early   int     // steps after which verdicts on training are taken as well; 0 = at the end alone
	Through int     // blocks that the straight path is followed through, beside those of Paths
}

// trainedBase is the model that is trained: that of set-up norms with the initial values that each placement asks for.
func trainedBase(width, context int) model.Config {
	c := normsSetup().base
	c.Width, c.Context, c.Init.Kind, c.Init.Residual = width, context, "auto", "auto"
	return c
}

func trainedBudget(steps, batch int) train.Config {
	t := train.Default()
	t.Steps, t.Batch, t.Schedule.Kind, t.Schedule.Warmup, t.Optimizer.WeightDecay = steps, batch, "constant", 0, 0
	return t
}

// initVariants are what laws and claims on untrained models are held against.
var initVariants = []string{"post", "pre", "pre+scaled", "deepnorm", "keel", "residual", "sandwich"}

// Quick is meant for minutes on two cores.
func Quick() Scale {
	s := Scale{Name: "quick", Init: DefaultInit(), Paths: DefaultPaths(), Model: trainedBase(32, 32), Train: trainedBudget(500, 4),
		Depths: []int{2, 4, 8, 12}, Rates: []float64{3e-4, 1e-3, 3e-3, 1e-2}, Warmup: 100, Warmed: []float64{1e-3, 3e-3}, Seeds: []int64{1, 2, 3},
		Shallow: 2, Deep: 12, Rate: 1e-3, Early: 300, Through: 24}
	s.Init.Variants = initVariants
	s.Bare = InitOptions{Setup: "own", Variants: []string{"pre", "noskip"}, Depths: []int{4, 8, 16, 32}, Widths: []int{32}, Seeds: []int64{1, 2}}
	return s
}

// Full is meant for a night.
func Full() Scale {
	s := Quick()
	s.Name, s.Early, s.Model, s.Train = "full", 0, trainedBase(64, 64), trainedBudget(2000, 8)
	s.Depths, s.Warmup, s.Seeds = []int{2, 4, 8, 12, 24}, 400, []int64{1, 2, 3, 4, 5}
	s.Rates = []float64{1e-4, 3e-4, 1e-3, 3e-3, 1e-2}
	s.Paths.Layers, s.Paths.Seeds, s.Init.Seeds = 12, []int64{1, 2, 3}, []int64{1, 2, 3, 4, 5, 6, 7, 8}
	s.Bare.Depths, s.Bare.Seeds = []int{4, 8, 16, 32, 64}, []int64{1, 2, 3, 4}
	return s
}

// evidence is everything that was measured.
type evidence struct {
	Scale
	text   *Text
	init   InitResult
	bare   InitResult
	paths  []Path
	deeper []Path          // the straight path alone, through more blocks
	grids  map[int][]Place // by depth, without warm-up and with it
	deep   map[string][]CellResult
	kinds  map[string][]Place // by kind of norm other than LayerNorm, for pre of Depths[1] blocks
	timing timing
	batch  []CellResult // BatchNorm
}

// deepVariants are the models that are looked into, by name.
func (s Scale) deepVariants() map[string]model.Config {
	all := map[string]model.Config{}
	c := s.Model
	c.Layers = s.Deep
	for _, name := range []string{"pre", "post", "deepnorm", "sandwich", "lns", "residual"} {
		all[name] = c.WithPlacement(name).Resolved()
	}
	plain := c.WithPlacement("pre").Resolved()
	plain.Init.Residual = "plain"
	all["pre plain"] = plain
	return all
}

// Backends opens what a reproduction runs on.
type Backends struct {
	Fast func() (kernels.Backend, error) // for measurements without training
	Ref  func() (kernels.Backend, error) // in float64
}

// Repro measures and returns the scorecard.
func Repro(ctx context.Context, s Scale, b Backends, r *Runner, log func(string)) (*Scorecard, error) {
	e := &evidence{Scale: s, text: r.Text, grids: map[int][]Place{}, deep: map[string][]CellResult{}, kinds: map[string][]Place{}}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"models before training", func() error { return e.untrained(ctx, b, log) }},
		{"paths of the gradient", func() error { return e.takeApart(ctx, b, log) }},
		{"the cost of norms", func() error { return e.time(b) }},
		{"training", func() error { return e.train(ctx, r) }},
	} {
		log(part.name + " …")
		if err := part.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return e.scorecard(), nil
}

func (e *evidence) untrained(ctx context.Context, b Backends, log func(string)) error {
	be, err := b.Fast()
	if err != nil {
		return err
	}
	defer be.Close()
	if e.init, err = Init(ctx, be, e.Init, func(string) {}); err != nil {
		return err
	}
	e.bare, err = Init(ctx, be, e.Bare, func(string) {})
	return err
}

func (e *evidence) takeApart(ctx context.Context, b Backends, log func(string)) error {
	be, err := b.Ref()
	if err != nil {
		return err
	}
	defer be.Close()
	if e.paths, err = Paths(ctx, be, e.Paths, func(string) {}); err != nil {
		return err
	}
	o := e.Paths
	o.Variants, o.Layers = []string{"pre", "post"}, e.Through
	e.deeper, err = StraightPaths(ctx, be, o)
	return err
}

// slot is where the result of a cell goes.
type slot struct {
	cell Cell
	keep func(CellResult)
}

// train trains all cells in one go, so that the machine is busy to the end.
func (e *evidence) train(ctx context.Context, r *Runner) error {
	slots := slices.Concat(e.gridSlots(), e.deepSlots(), e.kindSlots(), e.batchSlots())
	cells := make([]Cell, len(slots))
	for i, s := range slots {
		cells[i] = s.cell
	}
	results, err := r.Run(ctx, cells)
	if err != nil {
		return err
	}
	for i, result := range results {
		slots[i].keep(result)
	}
	return nil
}

// gridSlots are pre and post by depth, rate and warm-up.
func (e *evidence) gridSlots() []slot {
	var all []slot
	for _, depth := range e.Depths {
		g := Grid{Model: e.Model, Train: e.Train}
		g.Model.Layers = depth
		for _, placement := range []string{"pre", "post"} {
			for _, warmup := range []int{0, e.Warmup} {
				for _, rate := range e.Rates {
					if warmup > 0 && !slices.Contains(e.Warmed, rate) {
						continue
					}
					at := len(e.grids[depth])
					e.grids[depth] = append(e.grids[depth], Place{Placement: placement, Rate: rate, Warmup: warmup})
					all = append(all, e.placeSlots(g, placement, rate, warmup, func(r CellResult) {
						e.grids[depth][at].Runs = append(e.grids[depth][at].Runs, r)
					})...)
				}
			}
		}
	}
	return all
}

func (e *evidence) placeSlots(g Grid, placement string, rate float64, warmup int, keep func(CellResult)) []slot {
	var all []slot
	for _, seed := range e.Seeds {
		c := g.cell(placement, rate, warmup, seed)
		c.Label, c.Early = fmt.Sprintf("%d blocks %s", g.Model.Layers, c.Label), e.Early
		all = append(all, slot{c, keep})
	}
	return all
}

// deepSlots are the models that are looked into, all at one rate.
func (e *evidence) deepSlots() []slot {
	var all []slot
	variants := e.deepVariants()
	for _, name := range sortedKeys(variants) {
		for _, seed := range e.Seeds {
			c := Cell{Label: fmt.Sprintf("a look into %s seed %d", name, seed), Model: variants[name], Train: e.Train, Seed: seed, Blocks: true, Probe: true, Drop: true, Early: e.Early}
			c.Train.Optimizer.LR = e.Rate
			all = append(all, slot{c, func(r CellResult) { e.deep[name] = append(e.deep[name], r) }})
		}
	}
	return all
}

// rmsNorm is the kind of norm that is held against LayerNorm, with which the grid was trained.
const rmsNorm = "rmsnorm"

// kindSlots are pre with RMSNorm, at rates that the grid has, too.
func (e *evidence) kindSlots() []slot {
	var all []slot
	g := Grid{Model: e.Model, Train: e.Train}
	g.Model.Layers, g.Model.Norm.Kind = e.Depths[1], rmsNorm
	for _, rate := range e.Warmed {
		at := len(e.kinds[rmsNorm])
		e.kinds[rmsNorm] = append(e.kinds[rmsNorm], Place{Placement: "pre", Rate: rate})
		slots := e.placeSlots(g, "pre", rate, 0, func(r CellResult) { e.kinds[rmsNorm][at].Runs = append(e.kinds[rmsNorm][at].Runs, r) })
		for i := range slots {
			slots[i].cell.Label += " " + rmsNorm
		}
		all = append(all, slots...)
	}
	return all
}

// layerNormed are the places of the grid that [evidence.kindSlots] has beside them.
func (e *evidence) layerNormed() []Place {
	var places []Place
	for _, rate := range e.Warmed {
		places = append(places, e.place(e.Depths[1], "pre", rate, 0))
	}
	return places
}

// batchNorm is the kind of norm that takes its statistics over the batch.
const batchNorm = "batchnorm"

// batchSlots are pre with BatchNorm, at a rate at which the grid has LayerNorm.
func (e *evidence) batchSlots() []slot {
	g := Grid{Model: e.Model, Train: e.Train}
	g.Model.Layers, g.Model.Norm.Kind = e.Depths[1], batchNorm
	slots := e.placeSlots(g, "pre", e.Rate, 0, func(r CellResult) { e.batch = append(e.batch, r) })
	for i := range slots {
		slots[i].cell.Label, slots[i].cell.Statistics = slots[i].cell.Label+" "+batchNorm, true
	}
	return slots
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
