package bench

import (
	"prenorm/kernels"
	"prenorm/model"
)

// traffic is what decoding a token of one sequence moves between memory and the processor at the least.
type traffic struct {
	always int64 // whatever the position: nearly all of it the weights
	caches []cache
}

// cache is the keys and values that one layer's attention reads.
type cache struct {
	row    int64 // bytes of a position
	window int   // 0 = all
}

// trafficOf reads the launches that decode a token.
func trafficOf(w *model.Weights) (t traffic, err error) {
	net, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: 1, T: 1})
	if err != nil {
		return t, err
	}
	plan, err := net.PlanFor(w)
	if err != nil {
		return t, err
	}
	for _, s := range plan.Steps() {
		t.always += s.Bytes
		if c, ok := s.Call.(kernels.CachedAttention); ok {
			whole := int64(s.Args.In[1].Bytes() + s.Args.In[2].Bytes())
			t.always -= whole
			t.caches = append(t.caches, cache{whole / int64(c.Context), c.Window})
		}
	}
	return t, nil
}

// bytes are those of a token that sees so many positions, its own among them.
func (t traffic) bytes(positions int) int64 {
	sum := t.always
	for _, c := range t.caches {
		seen := positions
		if c.window > 0 {
			seen = min(seen, c.window)
		}
		sum += int64(seen) * c.row
	}
	return sum
}
