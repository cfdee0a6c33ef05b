package kerneltest

import (
	"fmt"
	"slices"

	"prenorm/kernels"
)

// variant is one way to lay out and bind a case.
type variant struct {
	shifted bool // all views start one element beside a 64-byte boundary
	alone   int  // the one view that does, counted from 1 over inputs, saved statistics, outputs and statistics; 0 = none
	aux     bool // statistics are asked for
	saved   bool // statistics of the forward call are given
	inPlace int  // the input whose memory output 0 is, -1 = none
}

func (v variant) String() string {
	s := "aligned"
	if v.shifted {
		s = "shifted"
	}
	if v.alone > 0 {
		s = fmt.Sprintf("view %d of inputs, saved statistics, outputs and statistics shifted alone", v.alone)
	}
	if !v.aux {
		s += ", without statistics"
	}
	if v.saved {
		s += ", saved statistics given"
	}
	if v.inPlace >= 0 {
		s += fmt.Sprintf(", output in the memory of input %d", v.inPlace)
	}
	return s
}

// moves says whether the n-th view starts beside a boundary.
func (v variant) moves(n int) bool { return v.shifted || v.alone == n }

// garbage is what outputs and workspace hold before each launch of a variant. One launch will do where one view
// alone is shifted: what is new there is which loads are wide, not what is read.
func (v variant) garbage() []byte {
	if v.alone > 0 {
		return []byte{garbageNaN}
	}
	return []byte{garbageNaN, garbageLarge}
}

// variants lists how a case of a number of outputs is run. The first is the one that others are compared with.
func variants(c testCase, outputs int, aux []tensor) []variant {
	base := variant{aux: len(aux) > 0, inPlace: -1}
	all := []variant{base}
	shifted := base
	shifted.shifted = true
	all = append(all, shifted)
	if base.aux {
		all = append(all, variant{inPlace: -1})
	}
	if c.saved != nil {
		all = append(all, variant{saved: true, inPlace: -1}, variant{saved: true, shifted: true, inPlace: -1})
	}
	if p, ok := c.call.(kernels.InPlacer); ok {
		for _, i := range p.InPlace() {
			in := base
			in.inPlace = i
			all = append(all, in)
			in.shifted = true
			all = append(all, in)
		}
	}
	return append(all, alone(c, outputs, aux)...)
}

// alone lists the variants that shift one view only: a kernel that moves several elements at once has to look at every one of them. Statistics
// of the forward call are given where there are any, so that they are among the views. Cases with a large input are left out: there are small
// ones for every way to move elements.
func alone(c testCase, outputs int, aux []tensor) []variant {
	if slices.ContainsFunc(c.in, func(x tensor) bool { return len(x.floats) > 5000 }) {
		return nil
	}
	v := variant{aux: len(aux) > 0, saved: c.saved != nil, inPlace: -1}
	var all []variant
	for n := range len(c.in) + len(c.saved) + outputs + len(aux) {
		v.alone = n + 1
		all = append(all, v)
	}
	return all
}
