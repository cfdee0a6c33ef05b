package op_test

import (
	"fmt"
	"maps"
	"math"

	"prenorm/kernels"
	"prenorm/model/graph"
)

// cases are small graphs on odd shapes that together use every op with a gradient, and every attribute that changes the gradient.
func cases() map[string]func(p *problem) graph.Tensor {
	all := linearCases()
	for _, more := range []map[string]func(p *problem) graph.Tensor{normCases(), attentionCases(), elementwiseCases(), headCases()} {
		maps.Copy(all, more)
	}
	return all
}

func linearCases() map[string]func(p *problem) graph.Tensor {
	all := map[string]func(p *problem) graph.Tensor{}
	for _, c := range []kernels.MatMul{{}, {TransA: true}, {TransB: true}, {TransA: true, TransB: true}} {
		all[fmt.Sprintf("matmul A'=%v B'=%v", c.TransA, c.TransB)] = func(p *problem) graph.Tensor {
			a, b := []int{3, 5}, []int{5, 7}
			if c.TransA {
				a = []int{5, 3}
			}
			if c.TransB {
				b = []int{7, 5}
			}
			return p.head(p.Apply("y", c, p.x("a", a...), p.x("b", b...)))
		}
	}
	all["add bias"] = func(p *problem) graph.Tensor {
		return p.head(p.Apply("y", kernels.AddBias{}, p.x("x", 3, 5), p.x("b", 5)))
	}
	all["embed with a repeated token"] = func(p *problem) graph.Tensor {
		return p.head(p.Embed("y", p.ids("tokens", 2, 0, 2, 6, 2), p.x("table", 7, 3)))
	}
	for _, inverse := range []bool{false, true} {
		all[fmt.Sprintf("rope inverse=%v", inverse)] = func(p *problem) graph.Tensor {
			return p.head(p.Apply("y", kernels.Rope{Inverse: inverse}, p.x("x", 3, 12), p.ids("positions", 4, 0, 2), p.Constant("table", ropeTable(5, 6), 5, 6)))
		}
	}
	return all
}

// ropeTable is a table of cosines and sines of the shape [positions, dim].
func ropeTable(positions, dim int) []float64 {
	table := make([]float64, positions*dim)
	for i := range positions {
		for j := range dim / 2 {
			s, c := math.Sincos(float64(i) * math.Pow(0.3, float64(j)))
			table[i*dim+j], table[i*dim+dim/2+j] = c, s
		}
	}
	return table
}

func normCases() map[string]func(p *problem) graph.Tensor {
	all := map[string]func(p *problem) graph.Tensor{}
	for _, unit := range []bool{false, true} {
		for _, dim := range []int{9, 3} { // the whole row, and each of three heads
			all[fmt.Sprintf("rmsnorm dim=%d unit=%v", dim, unit)] = func(p *problem) graph.Tensor {
				return p.head(p.Apply("y", kernels.RMSNorm{Eps: 1e-2, UnitOffset: unit}, p.x("x", 5, 9), p.x("gain", dim)))
			}
			all[fmt.Sprintf("layernorm dim=%d unit=%v", dim, unit)] = func(p *problem) graph.Tensor {
				return p.head(p.Apply("y", kernels.LayerNorm{Eps: 1e-2, UnitOffset: unit}, p.x("x", 5, 9), p.x("gain", dim), p.x("bias", dim)))
			}
			all[fmt.Sprintf("batchnorm dim=%d unit=%v", dim, unit)] = func(p *problem) graph.Tensor {
				return p.head(p.Apply("y", kernels.BatchNorm{Eps: 1e-2, UnitOffset: unit}, p.x("x", 5, 9), p.x("gain", dim), p.x("bias", dim)))
			}
		}
	}
	for _, dim := range []int{9, 3, 1} {
		all[fmt.Sprintf("gate dim=%d", dim)] = func(p *problem) graph.Tensor {
			return p.head(p.Apply("y", kernels.Gate{}, p.x("x", 5, 9), p.x("g", dim)))
		}
		all[fmt.Sprintf("dyt dim=%d", dim)] = func(p *problem) graph.Tensor {
			return p.head(p.Apply("y", kernels.DyT{}, p.x("x", 5, 9), p.x("alpha", 1), p.x("gain", dim), p.x("bias", dim)))
		}
	}
	return all
}

func attentionCases() map[string]func(p *problem) graph.Tensor {
	all := map[string]func(p *problem) graph.Tensor{}
	base := kernels.Attention{Heads: 2, KVHeads: 2, HeadDim: 3, T: 5, Scale: 0.7}
	for name, change := range map[string]func(*kernels.Attention){
		"plain":   func(*kernels.Attention) {},
		"grouped": func(c *kernels.Attention) { c.Heads = 6 },
		"window":  func(c *kernels.Attention) { c.Window = 2 },
		"softcap": func(c *kernels.Attention) { c.Softcap = 1.5 },
		"all":     func(c *kernels.Attention) { c.Heads, c.Window, c.Softcap = 4, 3, 2 },
	} {
		for _, documents := range []bool{false, true} {
			c := base
			change(&c)
			all[fmt.Sprintf("attention %s documents=%v", name, documents)] = func(p *problem) graph.Tensor {
				in := []graph.Tensor{p.x("q", 10, c.Heads*3), p.x("k", 10, c.KVHeads*3), p.x("v", 10, c.KVHeads*3)}
				if documents {
					in = append(in, p.ids("documents", 0, 0, 1, 1, 1, 2, 3, 3, 3, 3))
				}
				return p.head(p.Apply("y", c, in...))
			}
		}
	}
	return all
}

func elementwiseCases() map[string]func(p *problem) graph.Tensor {
	all := map[string]func(p *problem) graph.Tensor{}
	for _, kind := range []string{"gelu_tanh", "silu"} {
		all["activation "+kind] = func(p *problem) graph.Tensor {
			return p.head(p.Apply("y", kernels.Activation{Kind: kind}, p.x("x", 3, 5)))
		}
		all["gated "+kind] = func(p *problem) graph.Tensor {
			return p.head(p.Apply("y", kernels.GatedActivation{Kind: kind}, p.x("gate", 3, 5), p.x("up", 3, 5)))
		}
	}
	all["scale"] = func(p *problem) graph.Tensor { return p.head(p.Scale("y", p.x("x", 3, 5), -1.7)) }
	all["dropout"] = func(p *problem) graph.Tensor {
		return p.head(p.Apply("y", kernels.Dropout{Rate: 0.4, Site: 3}, p.x("x", 3, 7), p.ids("counter", 1, 2, 3, 4)))
	}
	all["gradient scale one"] = func(p *problem) graph.Tensor {
		return p.head(p.Apply("y", kernels.GradScale{}, p.x("x", 3, 5), p.Constant("t", []float64{1}, 1)))
	}
	all["add"] = func(p *problem) graph.Tensor { return p.head(p.Add("y", p.x("x", 3, 5), p.x("z", 3, 5))) }
	all["one node read four times"] = func(p *problem) graph.Tensor {
		h := p.Apply("h", kernels.Activation{Kind: "silu"}, p.x("x", 3, 5))
		y := p.Add("a", h, p.Scale("s", h, 0.3))
		y = p.Add("b", y, p.Apply("r", kernels.RMSNorm{Eps: 1e-2}, h, p.x("gain", 5)))
		return p.head(p.Apply("g", kernels.GatedActivation{Kind: "gelu_tanh"}, y, h))
	}
	all["one node added to itself"] = func(p *problem) graph.Tensor {
		x := p.x("x", 3, 5)
		return p.head(p.Apply("act", kernels.Activation{Kind: "gelu_tanh"}, p.Add("y", x, x)))
	}
	return all
}

func headCases() map[string]func(p *problem) graph.Tensor {
	all := map[string]func(p *problem) graph.Tensor{}
	for _, softcap := range []float64{0, 2} {
		for name, targets := range map[string][]int32{"targets": {0, 6, 3}, "ignored targets": {5, -100, 5}} {
			all[fmt.Sprintf("head %s softcap=%g", name, softcap)] = func(p *problem) graph.Tensor {
				return p.LinearCrossEntropy(p.x("x", 3, 5), p.x("w", 7, 5), p.ids("targets", targets...), p.Constant("normaliser", []float64{2.5}, 1), softcap)
			}
		}
	}
	all["tied embedding and head"] = func(p *problem) graph.Tensor {
		w := p.x("w", 7, 5)
		h := p.Apply("act", kernels.Activation{Kind: "silu"}, p.Embed("embed", p.ids("tokens", 2, 0, 2, 6), w))
		return p.LinearCrossEntropy(h, w, p.ids("targets", 0, 2, -1, 5), p.Constant("normaliser", []float64{3}, 1), 1.5)
	}
	return all
}
