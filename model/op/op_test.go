package op_test

import (
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/model/graph"
	"prenorm/model/op"
)

// TestFanOut wants the case of a node with many readers to hold Gorgonia's own addition, which the executor recognises by its type.
func TestFanOut(t *testing.T) {
	p := newProblem(1)
	p.loss = cases()["one node read four times"](p)
	p.compile(t)
	sums := 0
	for _, n := range p.Expr().AllNodes() {
		switch n.Op().(type) {
		case *op.Op, *op.Pick, nil:
		default:
			if n.Shape().TotalSize() > 1 {
				sums++
			}
		}
	}
	if sums != 3 {
		t.Errorf("four gradients of one node are summed by %d additions of Gorgonia's, want 3", sums)
	}
}

// TestNoRule wants a graph that is to be differentiated through an op without a rule to be refused.
func TestNoRule(t *testing.T) {
	p := newProblem(1)
	y := p.Apply("capped", kernels.Softcap{Cap: 2}, p.x("x", 3, 5))
	if grads := p.Backward(p.head(y)); grads != nil || p.Err() == nil {
		t.Fatalf("a gradient was built through softcap, which has no rule: %v", p.Err())
	}
	if message := p.Err().Error(); !strings.Contains(message, "backward") {
		t.Errorf("the error does not say that the backward pass failed: %v", message)
	}
}

// TestMerged wants a second node of the same path, call and inputs to be an error, for Gorgonia gives the first in its place.
func TestMerged(t *testing.T) {
	for name, call := range map[string]kernels.Call{"one output": kernels.Add{}, "two outputs": kernels.GatedActivationGrad{Kind: "silu"}} {
		t.Run(name, func(t *testing.T) {
			p := newProblem(1)
			x := p.x("x", 3, 5)
			in := []graph.Tensor{x, x, x}[:map[string]int{"add": 2, "gated.grad": 3}[call.Kernel()]]
			if _, err := op.ApplyMulti("here", call, in...); err != nil {
				t.Fatal(err)
			}
			_, err := op.ApplyMulti("here", call, in...)
			if err == nil || !strings.HasPrefix(err.Error(), "here: ") || !strings.Contains(err.Error(), "path of its own") {
				t.Errorf("the second node at the path gives the error %v", err)
			}
			if _, err := op.ApplyMulti("there", call, in...); err != nil {
				t.Errorf("a node of another path: %v", err)
			}
		})
	}
}

// TestMissingInput wants an error with the path in place of a panic.
func TestMissingInput(t *testing.T) {
	p := newProblem(1)
	if _, err := op.Apply("layers.0.sum", kernels.Add{}, p.x("x", 3, 5), nil); err == nil || !strings.Contains(err.Error(), "layers.0.sum: input 1 of add is missing") {
		t.Errorf("a missing input gives the error %v", err)
	}
	if _, err := op.Apply("layers.0.sum", kernels.Add{}, p.x("x", 3, 5), p.x("y", 5, 3)); err == nil || !strings.HasPrefix(err.Error(), "layers.0.sum: add: ") {
		t.Errorf("inputs that do not fit give the error %v", err)
	}
}
