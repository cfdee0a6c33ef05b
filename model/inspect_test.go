package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// TestInspectingChangesNoBit runs every placement with and without observation, in either precision: loss and gradients have the same bits,
// and the plain program has no step more than before.
func TestInspectingChangesNoBit(t *testing.T) {
	for name, c := range placed() {
		for _, precision := range []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16} {
			t.Run(fmt.Sprintf("%s/%s", name, precision), func(t *testing.T) { testInspecting(t, c, precision) })
		}
	}
}

func testInspecting(t *testing.T, c Config, precision kernels.Precision) {
	be, err := ref.Open(kernels.Options{Precision: precision})
	if err != nil {
		t.Fatal(err)
	}
	for _, accumulate := range []bool{false, true} {
		o := Options{B: 2, T: 5}
		plain := newRunOn(t, be, nil, c, o, accumulate)
		o.Inspect = true
		inspecting := newRunOn(t, be, nil, c, o, accumulate)
		if a, b := plain.step(t), inspecting.step(t); a != b {
			t.Errorf("loss %v, inspected %v", a, b)
		}
		if !slices.Equal(floats(plain.grads.All()), floats(inspecting.grads.All())) {
			t.Error("gradients differ when inspected")
		}
		if more := inspecting.program.Plan().Launches() - plain.program.Plan().Launches(); more < 6*c.Layers {
			t.Errorf("%d launches more, wants 3 for each sub-layer at least", more)
		}
		if narrow := slices.ContainsFunc(plain.program.Plan().Steps(), func(s exec.StepInfo) bool { return kernels.Narrow(s.Args) }); narrow != (precision == kernels.PrecisionBF16) {
			t.Errorf("values in bfloat16: %v", narrow)
		}
	}
}

// TestObservationNeedsLittleMemory wants values to be looked at while they are there, and not to be kept for it.
func TestObservationNeedsLittleMemory(t *testing.T) {
	c := Default()
	c.Layers, c.Width, c.Context, c.Vocab = 6, 32, 64, 50
	o := Options{B: 4, T: 64}
	plain := newRun(t, c, o, false).program.Plan().Bytes()
	o.Inspect = true
	inspecting := newRun(t, c, o, false).program.Plan().Bytes()
	stream := 4 * 4 * 64 * 32
	if more := inspecting - plain; more > 2*stream+36*64 {
		t.Errorf("%d bytes, inspected %d: %d more, a tensor of the stream has %d", plain, inspecting, more, stream)
	}
}

// tapped is a run with every tap of every fork.
func tapped(t *testing.T, c Config, dtype kernels.DType) (*run, func(name string) []float64) {
	o := Options{B: 2, T: 5, Inspect: true, DType: dtype}
	net, err := Build(c, o)
	if err != nil {
		t.Fatal(err)
	}
	var taps []string
	for _, tap := range net.Graph.Taps() {
		taps = append(taps, tap.Name)
	}
	r := newRun(t, c, o, false, taps...)
	r.step(t)
	return r, func(name string) []float64 {
		if !slices.Contains(taps, name) {
			return nil
		}
		v, err := r.program.View(name)
		if err != nil {
			t.Fatal(err)
		}
		return floats(v)
	}
}

// TestGradientParts wants the gradient of the stream at every fork to be the sum of its straight part and that of the branch. With pre the
// straight part is the very gradient behind the sub-layer, and the sum is exact.
func TestGradientParts(t *testing.T) {
	for name, c := range placed() {
		r, tap := tapped(t, c, kernels.F64)
		for _, f := range r.net.Graph.Forks() {
			in, out := tap(f.Name+".in_grad"), tap(f.Name+".out_grad")
			straight, branch := tap(f.Name+".skip_grad"), tap(f.Name+".branch_grad")
			if (straight == nil) != (c.Norm.Placement == "noskip") || branch == nil && !strings.HasSuffix(f.Name, ".r") {
				t.Errorf("%s, %s: a part of the gradient is missing", name, f.Name)
				continue
			}
			exact := c.Norm.Placement == "pre"
			if exact && !slices.Equal(straight, out) {
				t.Errorf("%s, %s: the straight part is not the gradient behind the sub-layer", name, f.Name)
			}
			for i, want := range in {
				got := at(straight, i) + at(branch, i)
				if d := math.Abs(got - want); d > 1e-14*(math.Abs(at(straight, i))+math.Abs(at(branch, i))) || exact && d != 0 {
					t.Fatalf("%s, %s: element %d of the gradient is %v, its parts add up to %v", name, f.Name, i, want, got)
				}
			}
		}
	}
}

func at(x []float64, i int) float64 {
	if x == nil {
		return 0
	}
	return x[i]
}

// TestStraightPath pins where the stream parts: which placements hand the gradient on as it is, and which rescale it.
func TestStraightPath(t *testing.T) {
	identity := []string{"pre", "sandwich", "peri", "olmo2", "lns", "subln", "layerscale", "rezero", "none", "hybrid"}
	for name, c := range placed() {
		placement := c.Norm.Placement
		if c.Norm.Kind != "rmsnorm" || !strings.HasPrefix(name, "placement ") {
			continue
		}
		_, tap := tapped(t, c, kernels.F64)
		straight, out := tap("layers.1.mlp.skip_grad"), tap("layers.1.mlp.out_grad")
		want := slices.Contains(identity, placement) || placement == "mix"
		if placement != "noskip" && slices.Equal(straight, out) != want {
			t.Errorf("%s: the straight part is the gradient behind the sub-layer: %v, wants %v", placement, !want, want)
		}
		if placement == "deepnorm" || placement == "keel" {
			x, y := tap("layers.1.mlp.in"), tap("layers.0.mlp.out")
			if !slices.Equal(tap("layers.1.attn.in"), y) || x == nil {
				t.Errorf("%s: a block's stream is not what the block before it gave", placement)
			}
		}
	}
}

// TestObservations holds the moments against those of the tapped tensors.
func TestObservations(t *testing.T) {
	for name, c := range placed() {
		r, tap := tapped(t, c, kernels.F64)
		for _, f := range r.net.Graph.Forks() {
			for what, pair := range map[string][2]string{graph.AtStream: {"in", "branch"}, graph.AtOut: {"out", "out_grad"}, graph.AtGradient: {"skip_grad", "branch_grad"}} {
				x, y := tap(f.Name+"."+pair[0]), tap(f.Name+"."+pair[1])
				if x == nil {
					x = y
				}
				if y == nil {
					y = x
				}
				var want [4]float64
				for i := range x {
					want[0] += x[i] * x[i]
					want[1] += y[i] * y[i]
					want[2] += x[i] * y[i]
					want[3] = max(want[3], math.Abs(x[i]))
				}
				v, err := r.program.View(f.Name + "." + what)
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range floats(v) {
					if math.Abs(got-want[i]) > 1e-12*(want[0]+want[1]) {
						t.Errorf("%s, %s.%s: moment %d is %v, wants %v", name, f.Name, what, i, got, want[i])
					}
				}
			}
		}
	}
}
