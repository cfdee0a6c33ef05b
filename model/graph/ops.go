package graph

import (
	"prenorm/kernels"
)

// The methods below add one node each. Shapes: N rows of a flattened [B, T] batch, C columns; W[out,in] of a linear layer.

// Embed is y[N,C] = rows tokens[N] of table[V,C].
func (s Scope) Embed(name string, tokens, table Tensor) Tensor {
	return s.Apply(name, kernels.Embed{}, tokens, table)
}

// Linear is y[N,out] = x[N,in] Wᵀ, with the parameter name.weight[out,in] and, if asked for, name.bias[out].
func (s Scope) Linear(name string, role Role, x Tensor, out int, bias bool) Tensor {
	if s.err != nil {
		return nil
	}
	l := s.At(name)
	y := l.Apply("matmul", kernels.MatMul{TransB: true}, x, l.Param("weight", role, out, x.Shape()[1]))
	if bias {
		y = l.Apply("addbias", kernels.AddBias{}, y, l.Param("bias", Bias, out))
	}
	return y
}

// Logits is z[N,V] = x[N,C] Wᵀ for a head W[V,C], capped by softcap when that is positive.
func (s Scope) Logits(x, w Tensor, softcap float64) Tensor {
	z := s.Apply("logits", kernels.MatMul{TransB: true}, x, w)
	if softcap > 0 {
		z = s.Apply("logits.softcap", kernels.Softcap{Cap: softcap}, z)
	}
	return z
}

// Add is the element-wise sum of two tensors of one shape.
func (s Scope) Add(name string, x, y Tensor) Tensor { return s.Apply(name, kernels.Add{}, x, y) }

// Scale is factor·x.
func (s Scope) Scale(name string, x Tensor, factor float64) Tensor {
	return s.Apply(name, kernels.Scale{Factor: factor}, x)
}

// RMSNorm normalises runs of dim columns of x[N,C], with the parameter name.weight[dim].
func (s Scope) RMSNorm(name string, x Tensor, dim int, eps float64, unitOffset bool) Tensor {
	l := s.At(name)
	return l.Apply("rmsnorm", kernels.RMSNorm{Eps: eps, UnitOffset: unitOffset}, x, l.gain(dim, unitOffset))
}

// LayerNorm normalises runs of dim columns of x[N,C], with the parameters name.weight[dim] and name.bias[dim].
func (s Scope) LayerNorm(name string, x Tensor, dim int, eps float64, unitOffset bool) Tensor {
	l := s.At(name)
	return l.Apply("layernorm", kernels.LayerNorm{Eps: eps, UnitOffset: unitOffset}, x, l.gain(dim, unitOffset), l.Param("bias", Bias, dim))
}

// BatchNorm normalises columns, modulo dim, of x[N,C], with the parameters name.weight[dim] and name.bias[dim] and the buffer
// name.running[2,dim]: in training by statistics over all rows, which move the buffer, and else by those in the buffer.
func (s Scope) BatchNorm(name string, x Tensor, dim int, eps float64, unitOffset, training bool, momentum float64) Tensor {
	l := s.At(name)
	gain, bias, running := l.gain(dim, unitOffset), l.Param("bias", Bias, dim), l.Buffer("running", Running, 2, dim)
	if !training {
		return l.Apply("batchnorm", kernels.BatchNormInference{Eps: eps, UnitOffset: unitOffset}, x, gain, bias, running)
	}
	l.Effect("running.update", l.Apply("running.update", kernels.BatchNormUpdate{Momentum: momentum}, running, x))
	return l.Apply("batchnorm", kernels.BatchNorm{Eps: eps, UnitOffset: unitOffset}, x, gain, bias)
}

// DyT is gain tanh(alpha x) + bias over runs of dim columns of x[N,C], with the parameters name.alpha[1], name.weight[dim] and name.bias[dim].
func (s Scope) DyT(name string, x Tensor, dim int) Tensor {
	l := s.At(name)
	return l.Apply("dyt", kernels.DyT{}, x, l.Param("alpha", Slope, 1), l.Param("weight", Gain, dim), l.Param("bias", Bias, dim))
}

// Gated is the parameter name[dim] times x[N,C], see [kernels.Gate].
func (s Scope) Gated(name string, x Tensor, dim int) Tensor {
	return s.Apply(name+".gated", kernels.Gate{}, x, s.Param(name, Gate, dim))
}

func (s Scope) gain(dim int, unitOffset bool) Tensor {
	if unitOffset {
		return s.Param("weight", UnitGain, dim)
	}
	return s.Param("weight", Gain, dim)
}

// LinearCrossEntropy is the mean loss of the head W[V,C] over rows x[N,C], see [kernels.LinearCrossEntropy].
func (s Scope) LinearCrossEntropy(x, w, targets, normaliser Tensor, softcap float64) Tensor {
	return s.Apply("loss", kernels.LinearCrossEntropy{Softcap: softcap}, x, w, targets, normaliser)
}
