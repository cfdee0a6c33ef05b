package exec_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"prenorm/kernels"
	"prenorm/model/exec"
	"prenorm/model/graph"
)

// observed is a look at two values of a random graph, or at the first and the sum of both.
type observed struct {
	name string
	x, y graph.Tensor
	sum  bool
}

// look adds moments of all values of the graph and of their gradients, in pairs, and of some sums that nothing else needs.
func (r *random) look(t *testing.T) (looks []observed, named []exec.Named) {
	t.Helper()
	values := slices.Clone(r.pool)
	for _, n := range r.pool {
		if d := n.Deriv(); d != nil {
			values = append(values, d)
		}
	}
	for i, x := range values {
		o := observed{fmt.Sprintf("moments %d", i), x, values[r.IntN(len(values))], i%4 == 0}
		y := o.y
		if o.sum {
			y = r.Add(fmt.Sprintf("observed sum %d", i), x, y)
		}
		looks = append(looks, o)
		named = append(named, exec.Named{Name: o.name, Node: r.Apply(o.name, kernels.Moments{}, x, y)})
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return looks, named
}

// holds wants the moments of a look, of operands with the given values.
func (o observed) holds(t *testing.T, got, x, y []float64) {
	t.Helper()
	if o.sum {
		y = slices.Clone(y)
		floats.Add(y, x)
	}
	var want [4]float64
	for i := range x {
		want[0] += x[i] * x[i]
		want[1] += y[i] * y[i]
		want[2] += x[i] * y[i]
		want[3] = max(want[3], math.Abs(x[i]))
	}
	for i, w := range want {
		if e := math.Abs(got[i] - w); !(e <= 1e-6*(want[0]+want[1])) && !(e <= 1e-6*want[3]) {
			t.Errorf("%s: moment %d is %v, wants %v", o.name, i, got[i], w)
		}
	}
}

// TestObservedAndPasses looks at every value of random graphs and at every gradient: what else the program computes must keep its bits, and
// what is seen must be what watching the values shows, though many of them are such as the passes do away with or write over.
func TestObservedAndPasses(t *testing.T) {
	again := 0
	for seed := range graphs() {
		precision := []kernels.Precision{kernels.PrecisionFP32, kernels.PrecisionBF16}[seed/2%2]
		t.Run(fmt.Sprintf("%d/%s", seed, precision), func(t *testing.T) {
			r := newRandom(t, kernels.F32, uint64(seed), 3+seed%30)
			spec := r.spec(seed%2 == 0)
			spec.Outputs = spec.Outputs[:1] // the loss
			looks, named := r.look(t)
			be := opened(t, precision)
			plain := execute(t, be, spec, kernels.F32, memoryFor(t, spec, kernels.F32))
			watched := spec
			watched.Observed = named
			for i, o := range looks {
				for k, n := range []graph.Tensor{o.x, o.y} {
					watched.Outputs = append(slices.Clone(watched.Outputs), exec.Named{Name: fmt.Sprintf("value %d of look %d", k, i), Node: n})
				}
			}
			values := execute(t, be, watched, kernels.F32, memoryFor(t, watched, kernels.F32))
			spec.Observed = named
			got := execute(t, be, spec, kernels.F32, memoryFor(t, spec, kernels.F32))
			same(t, "looked at, results", got, plain)
			for i, o := range looks {
				o.holds(t, got[o.name], values[fmt.Sprintf("value 0 of look %d", i)], values[fmt.Sprintf("value 1 of look %d", i)])
			}
			p, err := exec.NewPlan(be, spec)
			if err != nil {
				t.Fatal(err)
			}
			spec.Observed = nil
			again += p.Launches() - len(named) - launches(t, be, spec, nil)
		})
	}
	if again < graphs()/2 {
		t.Errorf("%d values were computed once more in %d graphs: that tests too little", again, graphs())
	}
}
