package profile

import (
	"cmp"
	"slices"

	"prenorm/kernels"
)

// Row sums up the launches of one kernel.
type Row struct {
	Kernel   string
	Launches int
	Seconds  float64
	FLOPs    int64
	Bytes    int64 // moved at the least
	Roof     float64
}

// Ceilings are what a device was seen to reach.
type Ceilings struct {
	FLOPs float64 // a second, in matrix products
	Bytes float64 // a second, read and written in equal parts by a copy
	Read  float64 // a second, read and nothing written; 0 = as Bytes
}

// Roof is the least time that work takes at the ceilings: that of its arithmetic or that of its memory traffic, whichever is longer (the
// roofline model, Williams et al., 2009). Of the traffic, as much as is written goes with as much that is read at the speed of a copy, and the
// bytes of readOnly, which are read besides, at that of reading: memory that takes writes beside reads is slower when it only reads.
func (c Ceilings) Roof(flops, bytes, readOnly int64) float64 {
	var arithmetic, memory float64
	if c.FLOPs > 0 {
		arithmetic = float64(flops) / c.FLOPs
	}
	if c.Bytes > 0 {
		memory = float64(bytes-readOnly) / c.Bytes
		if c.Read > 0 {
			memory += float64(readOnly) / c.Read
		} else {
			memory += float64(readOnly) / c.Bytes
		}
	}
	return max(arithmetic, memory)
}

// ByKernel sums up launches by their kernel, the most time first. Products of different forms are kernels of their own.
func ByKernel(launches []Launch, c Ceilings) []Row {
	rows := map[string]*Row{}
	for _, l := range launches {
		name := KernelName(l.Call)
		r, ok := rows[name]
		if !ok {
			r = &Row{Kernel: name}
			rows[name] = r
		}
		r.Launches++
		r.Seconds += l.Seconds()
		r.FLOPs += l.FLOPs
		r.Bytes += l.Bytes
		r.Roof += c.Roof(l.FLOPs, l.Bytes, l.ReadOnly())
	}
	var list []Row
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Kernel, b.Kernel)) })
	return list
}

// KernelName is a call's name, with the form of a product: "matmul NT" has its second factor transposed.
func KernelName(c kernels.Call) string {
	if r, ok := c.(kernels.Rope); ok && r.Inverse {
		return c.Kernel() + " inverse"
	}
	m, ok := c.(kernels.MatMul)
	if !ok {
		return c.Kernel()
	}
	letter := map[bool]string{true: "T", false: "N"}
	name := c.Kernel() + " " + letter[m.TransA] + letter[m.TransB]
	for _, part := range []struct {
		has  bool
		name string
	}{{m.Bias, "bias"}, {m.Residual, "residual"}, {m.Accumulate, "accumulate"}} {
		if part.has {
			name += " +" + part.name
		}
	}
	return name
}
