package main

import (
	"fmt"
	"io"
	"math"

	"prenorm/model/block"
)

func invRoot(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// explainBackward follows the gradient from the loss down.
func explainBackward(w io.Writer, p block.Placement) {
	fmt.Fprintf(w, "The gradient's way through a %s model, from the loss to the embedding\n", p.Name)
	fmt.Fprintln(w, "Shapes: n targets, C the width, V the vocabulary. Everything below is built by Gorgonia's Grad from the forward graph; these are its rules.")
	out := page{w}
	out.part("loss", `L = mean over targets of logsumexp(z) - z[target]`)
	out.part("  | to the logits z[n,V]", `dL/dz = (softmax(z) - onehot(target)) / n
an ignored target has a row of zeros; with a soft cap c each entry is also multiplied by 1 - (z/c)^2`)
	out.part("  | through the head W[V,C], z = y W'", `dL/dy = dL/dz W
dL/dW = (dL/dz)' y      added to the embedding's gradient where the two are tied`)
	out.part("  | through the end of the stack", endOfStack(p))
	out.part(fmt.Sprintf("  | through blocks N … 1 (%s)", p.Name), p.Diagram.Backward+"\n\n"+p.Backward)
	out.part("  | inside a branch", `J_F' of attention runs through the output projection, the weighted mean of values, softmax (whose rows' gradients sum to 0),
queries and keys; of the MLP through its last matrix, the activation's slope and its first matrices. Each matrix leaves dL/dW = g' h
behind: the gradient that arrives times what it read.`)
	out.part("  | through a norm, wherever one sits", `RMSNorm, y = g x/r with r = sqrt(mean(x^2) + eps):
  J_Norm' d = (g d - u mean(u g d)) / r    with u = x/r
It divides by the size r of its input and removes the part along the input: a large stream gets a small gradient.
LayerNorm also removes the mean of g d.`)
	out.part("embedding", beginOfStack(p)+`
dL/dE[v] = the sum of dL/dx_0 over the rows whose token is v; learned positions get the sum over sequences`)
}

// endOfStack says what lies between head and last block.
func endOfStack(p block.Placement) string {
	switch {
	case p.Name == "residual":
		return `y = x + Norm(r), two streams:
dL/dx_N = dL/dy          as it is
dL/dr_N = J_Norm' dL/dy  divided by the size of r`
	case p.FinalNorm:
		return `y = Norm(x_N):
dL/dx_N = J_Norm' dL/dy  divided by the size of the stream, which grows with depth in pre and its kin`
	}
	return `y = x_N, there is no final norm:
dL/dx_N = dL/dy`
}

// beginOfStack says what lies between first block and embedding.
func beginOfStack(p block.Placement) string {
	if p.Name == "residual" {
		return "x_0 = r_0 = the embedding: dL/dx_0 is the sum of both streams' gradients"
	}
	return "x_0 = the embedding"
}
