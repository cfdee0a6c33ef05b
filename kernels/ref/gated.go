package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.GatedActivation]{f32: bindGated[float32], f64: bindGated[float64], check: func(c kernels.GatedActivation) error {
		return checkKind(c, c.Kind)
	}})
	define(definition[kernels.GatedActivationGrad]{f32: bindGatedGrad[float32], f64: bindGatedGrad[float64], check: func(c kernels.GatedActivationGrad) error {
		return checkKind(c, c.Kind)
	}})
}

// gated is y = act(gate) up.
func gated[F float](y, gate, up []F, act curve) {
	for i := range y {
		y[i] = F(act.value(float64(gate[i])) * float64(up[i]))
	}
}

func bindGated[F float](c kernels.GatedActivation, v kernels.Args) kernels.Launch {
	y, gate, up, act := of[F](v.Out[0]), of[F](v.In[0]), of[F](v.In[1]), curves[c.Kind]
	return func() error {
		gated(y, gate, up, act)
		return nil
	}
}

// gatedGrad is dgate = dy up act'(gate), dup = dy act(gate).
func gatedGrad[F float](dgate, dup, gate, up, dy []F, act curve) {
	for i := range dgate {
		g, u, d := float64(gate[i]), float64(up[i]), float64(dy[i])
		dgate[i] = F(d * u * act.slope(g))
		dup[i] = F(d * act.value(g))
	}
}

func bindGatedGrad[F float](c kernels.GatedActivationGrad, v kernels.Args) kernels.Launch {
	dgate, dup := of[F](v.Out[0]), of[F](v.Out[1])
	gate, up, dy, act := of[F](v.In[0]), of[F](v.In[1]), of[F](v.In[2]), curves[c.Kind]
	return func() error {
		gatedGrad(dgate, dup, gate, up, dy, act)
		return nil
	}
}
