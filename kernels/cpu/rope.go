package cpu

import (
	"fmt"

	"prenorm/kernels"
)

func init() { enterPlain(bindRope) }

// inRange wants every id to be one of 0 … limit-1.
func inRange(kernel, what string, ids []int32, limit int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= limit {
			return fmt.Errorf("%s: %s %d at index %d is outside [0, %d)", kernel, what, id, i, limit)
		}
	}
	return nil
}

func bindRope(b *Backend, c kernels.Rope, a kernels.Args) kernels.Launch {
	y, x, positions, table := a.Out[0].F32(), a.In[0].F32(), a.In[1].I32(), a.In[2].F32()
	width, limit, d := a.In[0].Dim(1), a.In[2].Dim(0), a.In[2].Dim(1)
	name, sign := c.Kernel(), float32(1)
	if c.Inverse {
		sign = -1
	}
	v := b.across(a)
	rows := b.fenced(v, rowSpans(len(positions), width, nsElem, func(lo, hi int) {
		for n := lo; n < hi; n++ {
			angles := table[int(positions[n])*d:][:d]
			v.rotate(angles[:d/2], angles[d/2:], y[n*width:][:width], x[n*width:][:width], sign)
		}
	}))
	return func() error {
		if err := inRange(name, "position", positions, limit); err != nil {
			return err
		}
		b.pool.run(rows)
		return nil
	}
}
