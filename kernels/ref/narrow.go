package ref

import "prenorm/kernels"

// shadow is a BF16 view and its float32 twin.
type shadow struct {
	narrow []uint16
	wide   []float32
}

// bindNarrow binds a call that has BF16 views: its float32 kernel runs between conversions of what it reads and what it writes, so results
// are those of float32 rounded once.
func (k kernel) bindNarrow(c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	var read, written []shadow
	in := shadows(a.In, &read)
	out := shadows(a.Out, &written)
	run, err := k.bind(c, kernels.Args{Out: out, Aux: a.Aux, In: in, Saved: a.Saved, Work: a.Work})
	if err != nil {
		return nil, err
	}
	return func() error {
		for _, s := range read {
			for i, b := range s.narrow {
				s.wide[i] = kernels.FromBF16(b)
			}
		}
		if err := run(); err != nil {
			return err
		}
		for _, s := range written {
			for i, x := range s.wide {
				s.narrow[i] = kernels.ToBF16(x)
			}
		}
		return nil
	}, nil
}

// shadows returns the views with a float32 twin in the place of each BF16 one, and appends the pairs to all.
func shadows(views []kernels.View, all *[]shadow) []kernels.View {
	twins := make([]kernels.View, len(views))
	for i, v := range views {
		if twins[i] = v; v.DType == kernels.BF16 {
			wide := make([]float32, v.Len())
			twins[i] = kernels.HostView(wide, v.Shape...)
			*all = append(*all, shadow{v.BF16(), wide})
		}
	}
	return twins
}
