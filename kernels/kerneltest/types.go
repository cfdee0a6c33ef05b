package kerneltest

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
)

// types are the element types of a case's floating-point views. The zero value is that of the harness for all.
type types struct{ in, out []kernels.DType }

func (t types) String() string { return fmt.Sprintf("%v<-%v", t.out, t.in) }

// of is the type of view i of a list, d where the list says nothing.
func of(list []kernels.DType, i int, d kernels.DType) kernels.DType {
	if i < len(list) {
		return list[i]
	}
	return d
}

// patterns lists every choice of types that a call allows and that has a BF16 view.
func patterns(c kernels.Call, in, out int) []types {
	rule := kernels.TypesOf(c)
	letters := []byte(pad(rule.In, in) + pad(rule.Out, out))
	var all []types
	for choice := range 1 << len(letters) {
		if t, ok := choose(letters, choice); ok {
			all = append(all, types{in: t[:in], out: t[in:]})
		}
	}
	return all
}

func pad(rule string, n int) string {
	return (rule + strings.Repeat("w", max(0, n-len(rule))))[:n]
}

// choose makes view i BF16 where bit i of choice is set. It returns false where the letters do not allow that, or no view is BF16.
func choose(letters []byte, choice int) (t []kernels.DType, ok bool) {
	same := -1
	for i, l := range letters {
		bit := choice >> i & 1
		switch {
		case l == 'w' && bit == 1, l == 'a' && same >= 0 && same != bit:
			return nil, false
		case l == 'a':
			same = bit
		}
		t = append(t, [2]kernels.DType{kernels.F32, kernels.BF16}[bit])
	}
	for i, l := range letters {
		if l == 'b' && choice>>i&1 == 1 && same != 1 {
			return nil, false
		}
	}
	return t, choice != 0
}

// outputs is the number of outputs of a case.
func outputs(c testCase) int {
	in := make([]kernels.View, len(c.in))
	for i, x := range c.in {
		in[i] = x.view(kernels.F32)
	}
	out, _, err := c.call.Infer(in)
	if err != nil {
		panic(fmt.Sprintf("kerneltest: %v", err)) // the suite's own inputs are wrong
	}
	return len(out)
}

// round returns the case with inputs of the values that its views can hold, and with the statistics that follow from them.
func (t types) round(c testCase) testCase {
	c.in = slices.Clone(c.in)
	for i, x := range c.in {
		if x.ints == nil && of(t.in, i, kernels.F32) == kernels.BF16 {
			c.in[i] = tensor{shape: x.shape, floats: make([]float64, len(x.floats))}
			for j, v := range x.floats {
				c.in[i].floats[j] = narrow(v)
			}
		}
	}
	if b, ok := c.call.(kernels.Backward); ok && c.saved != nil {
		forward, n := b.Forward()
		g := newGenerator("", kernels.F32)
		in := slices.Clone(c.in[:n])
		if _, ok := c.call.(kernels.AttentionGrad); ok {
			in = append(in, c.in[5:]...) // documents
		}
		_, c.saved = g.forward(forward, in...)
	}
	return c
}

// narrow is the bfloat16 nearest to a float32.
func narrow(x float64) float64 { return float64(kernels.FromBF16(kernels.ToBF16(float32(x)))) }
