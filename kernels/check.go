package kernels

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// Check compares the views of a call with what its rules say of their shapes and types, saved statistics included. Backends call it first in
// Bind and Workspace.
func Check(c Call, a Args) error {
	if Narrow(a) {
		if err := checkTypes(c, a); err != nil {
			return err
		}
		a = Widened(a)
	}
	out, aux, err := c.Infer(a.In)
	if err != nil {
		return err
	}
	if err := same(c, "output", a.Out, out); err != nil {
		return err
	}
	if len(a.Aux) > 0 {
		if err := same(c, "saved statistic", a.Aux, aux); err != nil {
			return err
		}
	}
	return checkSaved(c, a)
}

// Find is how a backend begins Bind and Workspace: it returns the entry of a call in the backend's table, once the views fit the call and have
// types that the backend computes in. Those are F32, I32 and, for the calls in narrow, BF16; Fill serves every type.
func Find[E any](backend string, table map[string]E, narrow map[string]bool, c Call, a Args) (entry E, err error) {
	if c == nil {
		return entry, fmt.Errorf("%s: no call given", backend)
	}
	entry, ok := table[c.Kernel()]
	if !ok {
		return entry, fmt.Errorf("%s: no kernel %q (have %s)", backend, c.Kernel(), strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if err := Check(c, a); err != nil {
		return entry, fmt.Errorf("%s: %w", backend, err)
	}
	if _, ok := c.(Fill); ok {
		return entry, nil
	}
	types, names := []DType{F32, I32}, "f32"
	if narrow[c.Kernel()] {
		types, names = append(types, BF16), "f32 and bf16"
	}
	for _, v := range slices.Concat(a.Out, a.Aux, a.In, a.Saved) {
		if !slices.Contains(types, v.DType) {
			return entry, fmt.Errorf("%s: %s: a view is %v, and this call of the %s backend computes in %s only (the ref backend serves f64)", backend, c.Kernel(), v, backend, names)
		}
	}
	return entry, nil
}

func same(c Call, what string, have, want []View) error {
	if len(have) != len(want) {
		return fmt.Errorf("%s: %d %s views, wants %d", c.Kernel(), len(have), what, len(want))
	}
	for i := range have {
		if !alike(have[i], want[i]) {
			return fmt.Errorf("%s: %s %d is %v, wants %v", c.Kernel(), what, i, have[i], want[i])
		}
	}
	return nil
}

func alike(v, w View) bool { return v.DType == w.DType && slices.Equal(v.Shape, w.Shape) }

// checkSaved wants the saved views of a backward call to be those of its forward call, or none.
func checkSaved(c Call, a Args) error {
	b, ok := c.(Backward)
	if !ok || len(a.Saved) == 0 {
		return nil
	}
	forward, inputs := b.Forward()
	_, want, err := forward.Infer(a.In[:inputs])
	if err != nil {
		return err
	}
	if !slices.EqualFunc(a.Saved, want, alike) {
		return fmt.Errorf("%s: saved statistics are %v, wants %v as %s saves them, or none", c.Kernel(), a.Saved, want, forward.Kernel())
	}
	return nil
}

// CheckAliasing wants no written view to share memory with any other, except a whole output with the very input that the call may update in
// place. Backends call it in Bind, once every view is known to have its memory.
func CheckAliasing(c Call, a Args) error {
	written := slices.Concat(a.Out, a.Aux, []View{a.Work})
	for i, w := range written {
		for j, in := range slices.Concat(a.In, a.Saved) {
			if overlap(w, in) && !(i < len(a.Out) && w.Address() == in.Address() && inPlace(c, i, j)) {
				return fmt.Errorf("%s: written view %d %v shares memory with input %d %v, which this call does not allow", c.Kernel(), i, w, j, in)
			}
		}
		for j, other := range written[:i] {
			if overlap(w, other) {
				return fmt.Errorf("%s: written views %d %v and %d %v share memory", c.Kernel(), j, other, i, w)
			}
		}
	}
	return nil
}

// inPlace says whether output i of a call may be the memory of input j.
func inPlace(c Call, i, j int) bool {
	switch c := c.(type) {
	case InPlacer:
		return i == 0 && slices.Contains(c.InPlace(), j)
	case AdamW, SGD, Fill:
		return i == j
	case AddRMSNorm, AddLayerNorm:
		return i == 1 && j == 0
	}
	return false
}

// Address is where the view's memory begins, 0 for none.
func (v View) Address() uintptr {
	if v.Dev != 0 {
		return v.Dev
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(v.Host)))
}

// overlap says whether two views have a byte in common.
func overlap(v, w View) bool {
	return v.Address() != 0 && w.Address() != 0 && v.Bytes() > 0 && w.Bytes() > 0 &&
		v.Address() < w.Address()+uintptr(w.Bytes()) && w.Address() < v.Address()+uintptr(v.Bytes())
}
