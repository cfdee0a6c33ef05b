package graph

import (
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/model/op"
)

// path of the call that made a node.
func path(t *testing.T, n Tensor) string {
	t.Helper()
	o, ok := n.Op().(*op.Op)
	if !ok {
		t.Fatalf("%v is no node of ours", n)
	}
	return o.Path()
}

func TestUniquePaths(t *testing.T) {
	s := New(kernels.F32).Root()
	x := s.Input("x", 3, 5)
	got := map[string]bool{}
	for _, name := range []string{"sum#3", "sum", "sum", "sum", "sum#2", "sum", "sum#3"} {
		y := s.Add(name, x, x)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		if p := path(t, y); got[p] {
			t.Errorf("path %s was given twice", p)
		} else {
			got[p] = true
		}
	}
	if !got["sum"] || !got["sum#2"] || !got["sum#3"] {
		t.Errorf("paths %v", got)
	}
}

// TestMergedNodes wants Gorgonia's merging of two nodes to be the graph's error. No two names give one path, so that the record of the
// first is taken away here.
func TestMergedNodes(t *testing.T) {
	g := New(kernels.F32)
	s := g.Root()
	x := s.Input("x", 3, 5)
	s.Add("sum", x, x)
	delete(g.paths, "sum")
	if y := s.Add("sum", x, x); y != nil || g.Err() == nil || !strings.HasPrefix(g.Err().Error(), "sum: ") {
		t.Errorf("two nodes were merged and the graph's error is %v", g.Err())
	}
}

func TestFirstErrorSticks(t *testing.T) {
	g := New(kernels.F32)
	s := g.Root().At("layers.0")
	x := s.Input("x", 3, 5)
	s.Add("first", x, s.Input("y", 3, 4))
	first := g.Err()
	if first == nil || !strings.HasPrefix(first.Error(), "layers.0.first: ") {
		t.Fatalf("error %v", first)
	}
	s.Failf("second", "another")
	if z := s.Linear("l", Matrix, s.RMSNorm("n", x, 5, 1e-5, false), 7, true); z != nil {
		t.Error("a node was built after an error")
	}
	if len(g.Backward(x)) != 0 || g.Err() != first {
		t.Errorf("the first error was %v and became %v", first, g.Err())
	}
}

func TestVariablesDeclaredTwice(t *testing.T) {
	g := New(kernels.F32)
	s := g.Root()
	if a, b := s.Param("w", Matrix, 3, 5), s.Param("w", Matrix, 3, 5); a != b || len(g.Params()) != 1 {
		t.Error("one name and shape gives two variables")
	}
	if s.Param("w", Matrix, 5, 3) != nil || g.Err() == nil || !strings.Contains(g.Err().Error(), "declared twice") {
		t.Errorf("one name with two shapes gives the error %v", g.Err())
	}
	g = New(kernels.F32)
	if g.Root().Param("w", Matrix, 0, 3) != nil || g.Err() == nil {
		t.Error("a size of 0 passes")
	}
}

// TestUnusedParameter wants a parameter that the loss does not depend on to be an error that names it.
func TestUnusedParameter(t *testing.T) {
	g := New(kernels.F32)
	s := g.Root()
	s.Param("layers.0.unused", Matrix, 3, 5)
	loss := s.LinearCrossEntropy(s.Param("x", Matrix, 3, 5), s.Param("w", Head, 7, 5), s.IntInput("targets", 3), s.Input("normaliser", 1), 0)
	if g.Backward(loss) != nil || g.Err() == nil {
		t.Fatal("the gradient of an unused parameter passes")
	}
	if !strings.Contains(g.Err().Error(), "layers.0.unused") {
		t.Errorf("the error does not name the parameter: %v", g.Err())
	}
}
