package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/block"
	"prenorm/train/metrics"
)

// TestInspectedStepsAreTheSame trains two steppers side by side, one of them inspected now and then: results, weights and moments have the same
// bits after every step.
func TestInspectedStepsAreTheSame(t *testing.T) {
	fast := cpu.New(2)
	defer fast.Close()
	narrow, err := ref.Open(kernels.Options{Precision: kernels.PrecisionBF16})
	if err != nil {
		t.Fatal(err)
	}
	for _, be := range []kernels.Backend{ref.New(), narrow, fast} {
		for _, placement := range []string{"pre", "post", "residual"} {
			for _, accumulate := range []int{1, 3} {
				c := small().WithPlacement(placement)
				c.Dropout = 0.1
				o := options(2, accumulate)
				plain := stepper(t, be, c, o)
				o.Inspect = true
				inspected := stepper(t, be, c, o)
				micros := split(testBatches(2*accumulate, func(i int) bool { return i%4 == 0 }), accumulate)
				for step := int64(1); step <= 6; step++ {
					want, err := plain.Step(context.Background(), step, 1e-3, micros)
					if err != nil {
						t.Fatal(err)
					}
					var have Result
					if step%2 == 0 || step == 5 {
						have, _, err = inspected.Inspect(context.Background(), step, 1e-3, micros)
					} else {
						have, err = inspected.Step(context.Background(), step, 1e-3, micros)
					}
					if err != nil {
						t.Fatal(err)
					}
					if have != want || !slices.Equal(plain.weights.Slab.All().F32(), inspected.weights.Slab.All().F32()) ||
						!slices.Equal(plain.moments[1].All().F32(), inspected.moments[1].All().F32()) {
						t.Fatalf("%s in %s, %s, %d micro-batches: step %d differs when inspected: %+v, %+v", be.Name(), kernels.PrecisionOf(be), placement, accumulate, step, have, want)
					}
				}
			}
		}
	}
}

// TestInspectedMatrices holds the figures of matrices against the weights before and after the update.
func TestInspectedMatrices(t *testing.T) {
	o := options(2, 2)
	o.Inspect = true
	s := stepper(t, ref.New(), small(), o)
	micros := split(testBatches(4, func(int) bool { return false }), 2)
	for step := int64(1); step <= 2; step++ {
		before := slices.Clone(s.weights.Slab.All().F32())
		_, r, err := s.Inspect(context.Background(), step, 1e-2, micros)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Matrices) != model.Decayed(s.weights.Table) || r.Step != step || r.Micro != 0 {
			t.Fatalf("%d matrices of %d, step %d, micro-batch %d", len(r.Matrices), model.Decayed(s.weights.Table), r.Step, r.Micro)
		}
		for i, m := range r.Matrices {
			weight, grad, update, at := 0.0, 0.0, 0.0, s.weights.Slab.Offset(i)
			after := s.weights.Slab.View(i).F32()
			for k, w := range after {
				g, d := float64(s.grads.View(i).F32()[k]), float64(w-before[at+k])
				weight, grad, update = weight+float64(w)*float64(w), grad+g*g, update+d*d
			}
			n := float64(len(after))
			for what, pair := range map[string][2]float64{"weight": {float64(m.Weight), math.Sqrt(weight / n)}, "gradient": {float64(m.Grad), math.Sqrt(grad / n)},
				"update": {float64(m.Update), math.Sqrt(update / n)}, "ratio": {float64(m.Ratio), math.Sqrt(update / weight)}} {
				if math.Abs(pair[0]-pair[1]) > 2e-5*pair[1] || !(pair[1] > 0) {
					t.Errorf("step %d, %s: %s %v, wants %v", step, m.Name, what, pair[0], pair[1])
				}
			}
		}
	}
}

// TestInspectedStream wants the figures of the stream to fit each other, for every placement.
func TestInspectedStream(t *testing.T) {
	for _, placement := range block.Names() {
		o := options(3, 1)
		o.Inspect = true
		c := small().WithPlacement(placement)
		s := stepper(t, ref.New(), c, o)
		if err := s.weights.Initialise(3); err != nil { // none does not bear larger ones
			t.Fatal(err)
		}
		_, r, err := s.Inspect(context.Background(), 1, 1e-3, split(testBatches(3, func(int) bool { return false }), 1))
		if err != nil {
			t.Fatal(err)
		}
		want := 2 * c.Layers
		if placement == "residual" {
			want *= 2
		}
		if len(r.Sublayers) != want {
			t.Fatalf("%s: %d sub-layers, wants %d", placement, len(r.Sublayers), want)
		}
		for _, x := range r.Sublayers {
			if !(x.In > 0 && x.Out > 0 && x.Max >= x.Out && x.Grad > 0) || x.Cosine < -1 || x.Cosine > 1 || x.GradCosine < -1 || x.GradCosine > 1 {
				t.Errorf("%s: %+v", placement, x)
			}
			if math.Abs(float64(x.Ratio*x.In-x.Branch)) > 1e-4*float64(x.Branch) {
				t.Errorf("%s, %s: ratio %v of %v and %v", placement, x.Name, x.Ratio, x.Branch, x.In)
			}
			if (x.Straight == 0) != (placement == "noskip") {
				t.Errorf("%s, %s: straight %v", placement, x.Name, x.Straight)
			}
			if placement == "pre" && x.Straight != x.Grad {
				t.Errorf("%s: %v came straight of %v", x.Name, x.Straight, x.Grad)
			}
			if placement == "pre" { // x + F: squares of the sum
				square := func(v metrics.Float) float64 { return float64(v) * float64(v) }
				sum := math.Sqrt(square(x.In) + square(x.Branch) + 2*float64(x.Cosine*x.In*x.Branch))
				if math.Abs(sum-float64(x.Out)) > 1e-4*sum {
					t.Errorf("%s: in %v and branch %v with cosine %v give %v, out is %v", x.Name, x.In, x.Branch, x.Cosine, sum, x.Out)
				}
			}
		}
	}
}

// TestInspectionIsGivenUp ends a step between micro-batches and goes on.
func TestInspectionIsGivenUp(t *testing.T) {
	o := options(2, 2)
	plain := stepper(t, ref.New(), small(), o)
	o.Inspect = true
	s := stepper(t, ref.New(), small(), o)
	micros := split(testBatches(4, func(int) bool { return false }), 2)
	if _, _, err := s.Inspect(&stopAfter{context.Background(), 1}, 1, 1e-3, micros); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	have, err := s.Step(context.Background(), 1, 1e-3, micros)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := plain.Step(context.Background(), 1, 1e-3, micros); err != nil || have != want {
		t.Errorf("after an inspection that was given up: %+v, wants %+v (%v)", have, want, err)
	}
	if _, _, err := plain.Inspect(context.Background(), 1, 1e-3, micros); err == nil || !strings.Contains(err.Error(), "not made to be inspected") {
		t.Errorf("error %v", err)
	}
}

// TestInspectionLeavesNothing frees all that it took.
func TestInspectionLeavesNothing(t *testing.T) {
	be := &counting{Backend: ref.New()}
	o := options(2, 1)
	o.Inspect = true
	w, err := model.NewWeights(be, small())
	if err != nil {
		t.Fatal(err)
	}
	held := be.open
	s, err := NewStepper(w, o)
	if err != nil {
		t.Fatal(err)
	}
	micros := split(testBatches(2, func(int) bool { return false }), 1)
	for step := int64(1); step < 4; step++ {
		if _, _, err := s.Inspect(context.Background(), step, 1e-3, micros); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Free(); err != nil || be.open != held {
		t.Errorf("%d arenas are left of %d (%v)", be.open-held, be.total, err)
	}
}

// TestInspectionChangesNoRun trains with and without inspection and compares the checkpoints; the records are of the steps asked for.
func TestInspectionChangesNoRun(t *testing.T) {
	j := tinyJob(t)
	var steps []int64
	for _, r := range recordsOf(t, j) {
		if seen, ok := r.(metrics.Inspect); ok {
			steps = append(steps, seen.Step)
		}
	}
	if !slices.Equal(steps, []int64{1, 4, 8, 12, 13}) {
		t.Errorf("inspected %v", steps)
	}
	without := j
	without.Dir = filepath.Join(t.TempDir(), "run")
	without.Train.Inspect.Every = 0
	for _, r := range recordsOf(t, without) {
		if _, ok := r.(metrics.Inspect); ok {
			t.Error("inspected without being asked")
		}
	}
	have, want := result(t, j.Dir), result(t, without.Dir)
	for name, content := range want {
		if name != MetricsFile && have[name] != content {
			t.Errorf("%s differs from that of a run without inspection", name)
		}
	}
}
