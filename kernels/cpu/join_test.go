package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// products are calls on one x that each have another matrix: with few rows and with many, plain and packed, with what is added, and of sizes that are
// worth helpers and that are not.
func products(t *testing.T, b *Backend, r *rand.Rand, m, k int) (calls []kernels.BoundCall) {
	t.Helper()
	x := noise(r, m, k)
	for i, n := range []int{200, 7, 333, 64, 1} {
		w := noise(r, n, k)
		in := []kernels.View{x, w}
		var c kernels.Call = kernels.MatMul{TransB: true}
		switch i {
		case 0:
			c, in = kernels.MatMul{TransB: true, Bias: true, Residual: true}, append(in, noise(r, n), noise(r, m, n))
		case 2:
			words := kernels.PackInt8.Packed(n, k)
			for j := range words {
				words[j] = kernels.View{Shape: words[j].Shape, DType: words[j].DType, Host: make([]byte, words[j].Bytes())}
			}
			must(t, b, kernels.PackWeights{Packing: kernels.PackInt8}, kernels.Args{Out: words, In: []kernels.View{w}})
			c, in = kernels.PackedMatMul{Packing: kernels.PackInt8}, slices.Concat([]kernels.View{x}, words)
		}
		calls = append(calls, bound(t, b, c, in))
	}
	return calls
}

// bound is a call with fresh outputs and workspace.
func bound(t *testing.T, b *Backend, c kernels.Call, in []kernels.View) kernels.BoundCall {
	t.Helper()
	out, _, err := c.Infer(in)
	if err != nil {
		t.Fatal(err)
	}
	a := kernels.Args{In: in}
	for _, v := range out {
		a.Out = append(a.Out, fresh(v))
	}
	n, err := b.Workspace(c, a)
	if err != nil {
		t.Fatal(err)
	}
	a.Work = kernels.View{Shape: []int{n}, DType: kernels.I8, Host: garbage(n)}
	return kernels.BoundCall{Call: c, Args: a}
}

// TestJointLaunches wants calls side by side to write the bits that they write one after the other, at every launch. The race detector sees tasks of
// one that touch what another writes.
func TestJointLaunches(t *testing.T) {
	everyBackend(t, func(t *testing.T, b *Backend) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range [][2]int{{1, 384}, {1, 32}, {3, 160}, {8, 32}, {9, 416}, {64, 800}} {
			calls := products(t, b, r, s[0], s[1])
			var want [][]byte
			for _, c := range calls {
				if !b.Joins(c.Call, c.Args) {
					t.Fatalf("%v does not join", c.Args.Out)
				}
				must(t, b, c.Call, c.Args)
				want = append(want, bytes.Clone(c.Args.Out[0].Host))
			}
			run, err := b.BindJoint(calls)
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				for _, c := range calls {
					copy(c.Args.Out[0].Host, garbage(len(c.Args.Out[0].Host)))
				}
				if err := run(); err != nil {
					t.Fatal(err)
				}
				for i, c := range calls {
					if !bytes.Equal(c.Args.Out[0].Host, want[i]) {
						t.Fatalf("%v, call %d of %d workers: other bits than alone", s, i, b.workers())
					}
				}
			}
			if n := testing.AllocsPerRun(3, func() { _ = run() }); n != 0 && b.tier.name != "go" { // whose functions do so themselves
				t.Errorf("a joint launch allocates %g times", n)
			}
		}
	})
}

// TestJointLaunchesJoinOnce wants the pool to be asked once for products that read their matrices where they lie.
func TestJointLaunchesJoinOnce(t *testing.T) {
	b := New(2)
	defer func() { _ = b.Close() }()
	calls := products(t, b, rand.New(rand.NewPCG(3, 4)), 1, 384)
	run, err := b.BindJoint(calls)
	if err != nil {
		t.Fatal(err)
	}
	before := b.pool.turn.Load()
	if err := run(); err != nil || b.pool.turn.Load() != before+1 {
		t.Errorf("%d loops for %d calls, %v", b.pool.turn.Load()-before, len(calls), err)
	}
}

// TestJointLaunchesKeepStages wants what a product packs to be packed before any task reads it: the pool is asked twice, whatever stands beside.
func TestJointLaunchesKeepStages(t *testing.T) {
	b := New(2)
	defer func() { _ = b.Close() }()
	r := rand.New(rand.NewPCG(3, 4))
	const m, k = 40, 4 * crowded
	x := noise(r, m, k)
	var calls []kernels.BoundCall
	for _, n := range []int{2 * nearCols, 200} { // rows of x at such distances are packed for many columns
		calls = append(calls, bound(t, b, kernels.MatMul{TransB: true}, []kernels.View{x, noise(r, n, k)}))
	}
	run, err := b.BindJoint(calls)
	if err != nil {
		t.Fatal(err)
	}
	before := b.pool.turn.Load()
	if err := run(); err != nil || b.pool.turn.Load() != before+2 {
		t.Errorf("%d loops for a product that packs and one that does not, want 2, %v", b.pool.turn.Load()-before, err)
	}
}

// TestJointLaunchesRefuse wants dependent calls, calls that do more than run loops and what Bind refuses to be refused.
func TestJointLaunchesRefuse(t *testing.T) {
	b := New(2)
	defer func() { _ = b.Close() }()
	r := rand.New(rand.NewPCG(3, 4))
	square := noise(r, 8, 8)
	one := bound(t, b, kernels.MatMul{TransB: true}, []kernels.View{square, noise(r, 8, 8)})
	behind := bound(t, b, kernels.MatMul{TransB: true}, []kernels.View{one.Args.Out[0], noise(r, 8, 8)})
	norm := bound(t, b, kernels.Scale{Factor: 2}, []kernels.View{square})
	bare := bound(t, b, kernels.MatMul{TransB: true}, []kernels.View{noise(r, 9, 8), noise(r, 8, 8)})
	bare.Args.Work = kernels.View{}
	for want, calls := range map[string][]kernels.BoundCall{"at the same time": {one, behind}, "ask Joins": {one, norm}, "ask Workspace": {one, bare}} {
		if _, err := b.BindJoint(calls); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if b.Joins(norm.Call, norm.Args) {
		t.Error("scale joins")
	}
	long := bound(t, b, kernels.MatMul{TransB: true}, []kernels.View{noise(r, joinRows+1, 8), noise(r, 8, 8)})
	if b.Joins(long.Call, long.Args) {
		t.Errorf("a product of %d rows joins", joinRows+1)
	}
}
