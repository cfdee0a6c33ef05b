package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels/ref"
	"prenorm/model/graph"
)

func initModel() Config {
	c := Default()
	c.Layers, c.Width, c.Heads, c.KVHeads, c.FFN, c.Context, c.Vocab, c.Tied = 8, 64, 4, 2, 160, 16, 509, false
	c.Norm.Kind, c.Bias, c.Position.Kind = "layernorm", "all", "learned"
	return c
}

func table(t *testing.T, c Config) map[string]Param {
	t.Helper()
	rows, err := Table(c)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Param{}
	for _, p := range rows {
		byName[p.Name] = p
	}
	return byName
}

// TestInitTable holds the standard deviations of the placement pre against the formulas worked out by hand.
func TestInitTable(t *testing.T) {
	quarter := 1 / math.Sqrt(2*8) // 8 layers
	for kind, want := range map[string]map[string]float64{
		"gpt2": {"embed_tokens.weight": 0.03, "embed_positions.weight": 0.03, "lm_head.weight": 0.03, "layers.3.self_attn.k_proj.weight": 0.03,
			"layers.3.self_attn.o_proj.weight": 0.03 * quarter, "layers.7.mlp.down_proj.weight": 0.03 * quarter, "layers.0.mlp.gate_proj.weight": 0.03},
		"fan_in": {"embed_tokens.weight": 1. / 8, "embed_positions.weight": 1. / 8, "lm_head.weight": 1. / 8, "layers.3.self_attn.k_proj.weight": 1. / 8,
			"layers.3.self_attn.o_proj.weight": quarter / 8, "layers.7.mlp.down_proj.weight": quarter / math.Sqrt(160), "layers.0.mlp.up_proj.weight": 1. / 8},
		"xavier": {"embed_tokens.weight": 1. / 8, "embed_positions.weight": 1. / 8, "lm_head.weight": math.Sqrt(2. / (509 + 64)), "layers.3.self_attn.k_proj.weight": math.Sqrt(2. / (32 + 64)),
			"layers.3.self_attn.o_proj.weight": quarter / 8, "layers.7.mlp.down_proj.weight": quarter * math.Sqrt(2./(160+64)), "layers.0.mlp.up_proj.weight": math.Sqrt(2. / (160 + 64))},
	} {
		c := initModel()
		c.Init.Kind, c.Init.Std = kind, 0.03
		scaled := table(t, c)
		c.Init.Residual = "plain"
		plain := table(t, c)
		for name, std := range want {
			if p, ok := scaled[name]; !ok || math.Abs(p.Std-std) > 1e-15 || p.Mean != 0 {
				t.Errorf("%s: %s has mean %v and deviation %v, want 0 and %v", kind, name, p.Mean, p.Std, std)
			}
			if strings.Contains(name, "o_proj") || strings.Contains(name, "down_proj") {
				std /= quarter
			}
			if p := plain[name]; math.Abs(p.Std-std) > 1e-15 {
				t.Errorf("%s, residual plain: %s has deviation %v, want %v", kind, name, p.Std, std)
			}
		}
		for name, p := range scaled {
			constant := map[graph.Role]float64{graph.Gain: 1, graph.UnitGain: 0, graph.Bias: 0}
			if mean, ok := constant[p.Role]; ok && (p.Mean != mean || p.Std != 0) {
				t.Errorf("%s: %s, a %v, has mean %v and deviation %v", kind, name, p.Role, p.Mean, p.Std)
			}
		}
	}
	c := initModel()
	c.Norm.UnitOffset = true
	if p := table(t, c)["norm.weight"]; p.Role != graph.UnitGain || p.Mean != 0 || p.Std != 0 {
		t.Errorf("a gain that is used as 1 + w starts as %+v", p)
	}
}

// TestPlacementsOwnStart holds the standard deviations that a placement gives by itself against its paper's, worked out by hand for 8 blocks of
// width 64 with an MLP of 160 columns and 2 of 4 heads for keys: those of queries, values and the two matrices that write to the stream, as factors
// on the base, which is 1/sqrt(fan_in) or sqrt(2/(fan_in+fan_out)).
func TestPlacementsOwnStart(t *testing.T) {
	one, scaled := [4]float64{1, 1, 1, 1}, [4]float64{1, 1, 0.25, 0.25} // 1/sqrt(2·8)
	branches := func(f float64) [4]float64 { return [4]float64{1, f, f, f} }
	names := [4]string{"layers.5.self_attn.q_proj.weight", "layers.5.self_attn.v_proj.weight", "layers.5.self_attn.o_proj.weight", "layers.5.mlp.down_proj.weight"}
	fanIn := [4]float64{1. / 8, 1. / 8, 1. / 8, 1 / math.Sqrt(160)}
	xavier := [4]float64{math.Sqrt(2. / 128), math.Sqrt(2. / 96), math.Sqrt(2. / 128), math.Sqrt(2. / 224)}
	want := map[string]struct{ base, factor [4]float64 }{
		"pre": {fanIn, scaled}, "sandwich": {fanIn, scaled}, "hybrid": {fanIn, scaled}, "none": {fanIn, scaled},
		"peri": {fanIn, one}, "olmo2": {fanIn, one}, "mix": {fanIn, one}, "lns": {fanIn, one}, "keel": {fanIn, one}, "layerscale": {fanIn, one}, "rezero": {fanIn, one},
		"post": {xavier, one}, "residual": {xavier, one}, "noskip": {xavier, one},
		"deepnorm": {xavier, branches(math.Pow(64, -0.25))}, "b2t": {xavier, branches(1 / math.Sqrt(8))}, "subln": {xavier, branches(math.Sqrt(math.Log(16)))},
	}
	if len(want) != len(Placements()) {
		t.Errorf("%d placements of %d", len(want), len(Placements()))
	}
	for placement, w := range want {
		rows := table(t, initModel().WithPlacement(placement))
		for i, name := range names {
			if got, std := rows[name].Std, w.base[i]*w.factor[i]; math.Abs(got-std) > 1e-15 {
				t.Errorf("%s: %s starts with deviation %.4f, want %.4f", placement, name, got, std)
			}
		}
	}
	gates := map[string]map[string]float64{"layerscale": {"layers.5.attn_scale": 0.1, "layers.5.mlp_scale": 0.1}, "rezero": {"layers.5.attn_gate": 0, "layers.5.mlp_gate": 0}}
	for placement, gates := range gates {
		rows := table(t, initModel().WithPlacement(placement))
		for name, mean := range gates {
			if p, ok := rows[name]; !ok || p.Mean != mean || p.Std != 0 {
				t.Errorf("%s: %s starts as %+v, want %g", placement, name, p, mean)
			}
		}
	}
}

// TestHybridNormsHeads wants hybrid to norm queries, keys and values head by head, and olmo2 to have norms on the branches' outputs alone.
func TestHybridNormsHeads(t *testing.T) {
	norms := func(placement string) map[string][]int {
		found := map[string][]int{}
		for name, p := range table(t, initModel().WithPlacement(placement)) {
			if rest, ok := strings.CutPrefix(name, "layers.3."); ok && p.Role == graph.Gain {
				found[strings.TrimSuffix(rest, ".weight")] = p.Shape
			}
		}
		return found
	}
	for placement, want := range map[string]map[string][]int{
		"hybrid": {"self_attn.q_norm": {16}, "self_attn.k_norm": {16}, "self_attn.v_norm": {16}, "mlp_norm_in": {64}},
		"olmo2":  {"attn_norm_out": {64}, "mlp_norm_out": {64}},
	} {
		if got := norms(placement); !maps.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%s has the norms %v, want %v", placement, got, want)
		}
	}
}

// TestInitialStatistics holds what is drawn for each parameter against its row of the table: mean, deviation, fourth moment and the
// correlation of neighbours, each to five deviations of its own for that many normal numbers.
func TestInitialStatistics(t *testing.T) {
	for name, p := range table(t, initModel()) {
		x := p.Initial(11)
		n := float64(len(x))
		if p.Std == 0 {
			if slices.ContainsFunc(x, func(v float32) bool { return float64(v) != p.Mean }) {
				t.Errorf("%s is not %v throughout", name, p.Mean)
			}
			continue
		}
		var sum, squares, fourth, pairs float64
		for i, v := range x {
			z := (float64(v) - p.Mean) / p.Std
			sum, squares, fourth = sum+z, squares+z*z, fourth+z*z*z*z
			if i > 0 {
				pairs += z * (float64(x[i-1]) - p.Mean) / p.Std
			}
		}
		for what, f := range map[string]struct{ got, want, deviation float64 }{
			"mean": {sum / n, 0, 1 / math.Sqrt(n)}, "variance": {squares / n, 1, math.Sqrt(2 / n)},
			"fourth moment": {fourth / n, 3, math.Sqrt(96 / n)}, "correlation": {pairs / n, 0, 1 / math.Sqrt(n)},
		} {
			if math.Abs(f.got-f.want) > 5*f.deviation {
				t.Errorf("%s %v: %s %.4f, want %v ± %.4f", name, p.Shape, what, f.got, f.want, f.deviation)
			}
		}
	}
}

// TestInitialIndependence wants a parameter's values to depend on the seed, its name and its shape, and on no other parameter.
func TestInitialIndependence(t *testing.T) {
	c := initModel()
	c.Init.Residual = "plain" // which would depend on the number of layers
	here := table(t, c)
	c.Layers, c.Vocab, c.Bias, c.Norm.Kind, c.Tied = 3, 77, "none", "rmsnorm", true
	there := table(t, c)
	drawn := map[float32]string{}
	for name, p := range here {
		if p.Std == 0 {
			continue
		}
		x := p.Initial(11)
		if q, ok := there[name]; ok && slices.Equal(p.Shape, q.Shape) && !slices.Equal(x, q.Initial(11)) {
			t.Errorf("%s depends on the rest of the model", name)
		}
		if !slices.Equal(x, p.Initial(11)) || slices.Equal(x, p.Initial(12)) || slices.Equal(x, p.Initial(11+1<<32)) {
			t.Errorf("%s does not follow the seed", name)
		}
		if other, ok := drawn[x[0]]; ok {
			t.Errorf("%s and %s start alike", name, other)
		}
		drawn[x[0]] = name
	}
	w, err := NewWeights(ref.New(), initModel())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Initialise(11); err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Table {
		if got, err := w.Values(i); err != nil || !slices.Equal(got, p.Initial(11)) {
			t.Errorf("the slab's %s differs from its initial values (%v)", p.Name, err)
		}
	}
}

// TestTableOrder wants decayed tensors first, which are those of two dimensions and more, and the same table in every mode.
func TestTableOrder(t *testing.T) {
	for name, c := range placed() {
		rows, err := Table(c)
		if err != nil {
			t.Fatal(err)
		}
		n := Decayed(rows)
		for i, p := range rows {
			if p.Decay != (len(p.Shape) >= 2) || p.Decay != (i < n) {
				t.Errorf("%s: row %d of %d decayed, %s %v, decays: %v", name, i, n, p.Name, p.Shape, p.Decay)
			}
		}
		for _, o := range []Options{{B: 2, T: 5}, {Mode: Eval, B: 2, T: 5}, {Mode: Cached, B: 2, T: 1}, {B: 1, T: 3, Documents: true}} {
			net, err := Build(c, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(rows, net.Table(), func(p, q Param) bool {
				return p.Name == q.Name && slices.Equal(p.Shape, q.Shape) && p.Role == q.Role && p.Std == q.Std && p.Mean == q.Mean
			}) {
				t.Errorf("%s: the table of mode %v is another", name, o.Mode)
			}
		}
	}
}

// TestSlabLayout wants the tensors of a slab apart, each on a cache line, and the decayed ones to be one range.
func TestSlabLayout(t *testing.T) {
	w, err := NewWeights(ref.New(), initModel())
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Table {
		for k := range w.Slab.View(i).F32() {
			w.Slab.View(i).F32()[k] = float32(i + 1)
		}
	}
	count := make([]int, len(w.Table)+1)
	for _, v := range w.Slab.All().F32() {
		count[int(v)]++
	}
	for i, p := range w.Table {
		if count[i+1] != p.Len() {
			t.Errorf("%s has %d elements in the slab, want %d", p.Name, count[i+1], p.Len())
		}
	}
	n := Decayed(w.Table)
	if n == 0 || n == len(w.Table) {
		t.Fatal("the model lacks a kind of parameter")
	}
	for _, v := range w.Slab.Range(0, n).F32() {
		if int(v) > n {
			t.Fatal("the range of decayed tensors reaches into the rest")
		}
	}
	for _, v := range w.Slab.Range(n, len(w.Table)).F32() {
		if v != 0 && int(v) <= n {
			t.Fatal("the range of the rest reaches into the decayed tensors")
		}
	}
}
