package graph

import (
	"prenorm/kernels"
	"prenorm/model/op"
)

// Scope adds nodes below a path, such as "layers.3.self_attn".
type Scope struct {
	*Graph
	path string
}

// Root is the scope without a path.
func (g *Graph) Root() Scope { return Scope{g, ""} }

// At returns the scope below name.
func (s Scope) At(name string) Scope { return Scope{s.Graph, s.name(name)} }

func (s Scope) name(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "." + name
}

// Param declares a trained variable; declared again it is the same variable.
func (s Scope) Param(name string, role Role, shape ...int) Tensor {
	n, isNew := s.variable(s.name(name), s.dtype, shape)
	if isNew {
		s.params = append(s.params, Param{s.name(name), shape, role, n})
	}
	return n
}

// Input declares a variable of floating-point values that the caller sets.
func (s Scope) Input(name string, shape ...int) Tensor { return s.input(name, s.dtype, nil, shape) }

// IntInput declares a variable of int32 that the caller sets.
func (s Scope) IntInput(name string, shape ...int) Tensor {
	return s.input(name, kernels.I32, nil, shape)
}

// IntConstant declares a variable of int32 that the program sets once; the caller may set it again.
func (s Scope) IntConstant(name string, data []int32, shape ...int) Tensor {
	return s.input(name, kernels.I32, data, shape)
}

// Constant declares a variable of floating-point values that the program sets once.
func (s Scope) Constant(name string, data []float64, shape ...int) Tensor {
	if s.dtype == kernels.F64 {
		return s.input(name, s.dtype, data, shape)
	}
	narrow := make([]float32, len(data))
	for i, v := range data {
		narrow[i] = float32(v)
	}
	return s.input(name, s.dtype, narrow, shape)
}

func (s Scope) input(name string, dtype kernels.DType, data any, shape []int) Tensor {
	n, isNew := s.variable(s.name(name), dtype, shape)
	if isNew {
		s.inputs = append(s.inputs, Input{s.name(name), n, data})
	}
	return n
}

// State declares a variable whose memory the caller owns and which a program may change in place.
func (s Scope) State(name string, shape ...int) Tensor {
	n, isNew := s.variable(s.name(name), s.dtype, shape)
	if isNew {
		s.states = append(s.states, Input{Name: s.name(name), Node: n})
	}
	return n
}

// Buffer declares a variable that is not trained and yet belongs to the model; declared again it is the same variable.
func (s Scope) Buffer(name string, role Role, shape ...int) Tensor {
	n, isNew := s.variable(s.name(name), s.dtype, shape)
	if isNew {
		s.buffers = append(s.buffers, Param{s.name(name), shape, role, n})
	}
	return n
}

// Effect declares a node that changes a buffer in place.
func (s Scope) Effect(name string, n Tensor) {
	if s.err == nil {
		s.effects = append(s.effects, Tap{s.name(name), n})
	}
}

// Tap makes a node watchable by name and returns it.
func (s Scope) Tap(name string, n Tensor) Tensor {
	if s.err == nil {
		s.taps = append(s.taps, Tap{s.name(name), n})
	}
	return n
}

// Apply adds a node for a kernel call with one output.
func (s Scope) Apply(name string, call kernels.Call, in ...Tensor) Tensor {
	if s.err != nil {
		return nil
	}
	n, err := op.Apply(s.unique(s.name(name)), call, in...)
	if err != nil {
		if s.Graph.err == nil {
			s.Graph.err = err // op errors carry their path
		}
		return nil
	}
	return n
}
