package op

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"prenorm/kernels"
	"prenorm/kernels/ref"
)

// Do implements [G.Op]: it runs the reference kernel into new memory.
func (o *Op) Do(in ...G.Value) (G.Value, error) {
	r := o.result()
	if len(r.Shape) > 0 {
		v := tensor.New(tensor.Of(TensorType(r.DType)), tensor.WithShape(r.Shape...))
		return o.UsePreallocDo(v, in...)
	}
	switch r.DType {
	case kernels.F32:
		d := make([]float32, 1)
		err := o.run([]kernels.View{kernels.HostView(d)}, in)
		return G.NewF32(d[0]), err
	case kernels.F64:
		d := make([]float64, 1)
		err := o.run([]kernels.View{kernels.HostView(d)}, in)
		return G.NewF64(d[0]), err
	}
	return nil, fmt.Errorf("%s: a scalar of %v", o.path, r.DType)
}

// UsePreallocDo implements [G.UsePreallocDoer].
func (o *Op) UsePreallocDo(prealloc G.Value, in ...G.Value) (G.Value, error) {
	flat, err := viewOfValue(prealloc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.path, err)
	}
	out := make([]kernels.View, len(o.out))
	offset := 0
	for i, v := range o.out {
		out[i] = v
		out[i].Host = flat.Host[offset : offset+v.Bytes() : offset+v.Bytes()]
		offset += v.Bytes()
	}
	return prealloc, o.run(out, in)
}

func (o *Op) run(out []kernels.View, in []G.Value) error {
	a := kernels.Args{Out: out}
	for i, v := range in {
		w, err := viewOfValue(v)
		if err != nil {
			return fmt.Errorf("%s: input %d: %w", o.path, i, err)
		}
		w.Shape = o.in[i].Shape
		a.In = append(a.In, w)
	}
	be := ref.New()
	n, err := be.Workspace(o.call, a)
	if err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	arena, err := be.NewArena(n)
	if err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	a.Work = arena.View(0, kernels.I8, n)
	launch, err := be.Bind(o.call, a)
	if err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	if err := launch(); err != nil {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	return nil
}

// viewOfValue wraps a Gorgonia value without copying it, except that scalars are copied.
func viewOfValue(v G.Value) (kernels.View, error) {
	shape := []int(v.Shape())
	switch d := v.Data().(type) {
	case []float32:
		return kernels.HostView(d, shape...), nil
	case []float64:
		return kernels.HostView(d, shape...), nil
	case []int32:
		return kernels.HostView(d, shape...), nil
	case float32:
		return kernels.HostView([]float32{d}), nil
	case float64:
		return kernels.HostView([]float64{d}), nil
	}
	return kernels.View{}, fmt.Errorf("value of type %T", v.Data())
}
