package ref

import (
	"fmt"

	"prenorm/kernels"
)

func init() {
	define(definition[kernels.RoundWeights]{f32: bindRoundWeights[float32], f64: bindRoundWeights[float64]})
	define(definition[kernels.PackedMatMul]{f32: bindPackedMatMul[float32], f64: bindPackedMatMul[float64]})
	table[kernels.PackWeights{}.Kernel()] = kernel{
		check: func(call kernels.Call, _ kernels.Args) error {
			if _, ok := call.(kernels.PackWeights); !ok {
				return fmt.Errorf("ref has no kernel for %q as %T", call.Kernel(), call)
			}
			return nil
		},
		workspace: func(kernels.Call, kernels.Args) int { return 0 },
		bind: func(call kernels.Call, a kernels.Args) (kernels.Launch, error) {
			if a.In[0].DType == kernels.F32 {
				return bindPackWeights[float32](call.(kernels.PackWeights), a), nil
			}
			return bindPackWeights[float64](call.(kernels.PackWeights), a), nil
		},
	}
}

// run is a run of weights as float32, in which packing is defined, with the scale and the integers of [kernels.PackInt8].
type run struct {
	w     [kernels.PackRun]float32
	q     [kernels.PackRun]int8
	scale uint16
}

// eachRun is a launch that loads every run of a matrix and calls fn with its row and its number in the row.
func eachRun[F float](w []F, rows, k int, fn func(row, i int, r *run)) kernels.Launch {
	r := &run{}
	return func() error {
		for row := range rows {
			for i := range k / kernels.PackRun {
				for j := range r.w {
					r.w[j] = float32(w[row*k+i*kernels.PackRun+j])
				}
				r.scale = kernels.RunScale(r.w[:])
				for j, x := range r.w {
					r.q[j] = kernels.RunInteger(x, r.scale)
				}
				fn(row, i, r)
			}
		}
		return nil
	}
}

func bindPackWeights[F float](c kernels.PackWeights, v kernels.Args) kernels.Launch {
	w, n, k := of[F](v.In[0]), v.In[0].Dim(0), v.In[0].Dim(1)
	words := v.Out[0].I32()
	var store func(row, i int, r *run)
	if c.Packing == kernels.PackBF16 {
		store = func(row, i int, r *run) {
			for j := 0; j < len(r.w); j += 2 {
				words[(row*k+i*kernels.PackRun+j)/2] = int32(uint32(kernels.ToBF16(r.w[j])) | uint32(kernels.ToBF16(r.w[j+1]))<<16)
			}
		}
	} else {
		scales, ld := v.Out[1].I32(), v.Out[1].Dim(1)
		store = func(row, i int, r *run) {
			for j := 0; j < len(r.q); j += 4 {
				word := uint32(0)
				for b, q := range r.q[j : j+4] {
					word |= uint32(uint8(q)) << (8 * b)
				}
				words[(row*k+i*kernels.PackRun+j)/4] = int32(word)
			}
			at := row*ld + i/2
			if i%2 == 0 {
				scales[at] = 0 // the upper half of a row's last word may be no run's
			}
			scales[at] |= int32(uint32(r.scale) << (16 * (i % 2)))
		}
	}
	return eachRun(w, n, k, store)
}

func bindRoundWeights[F float](c kernels.RoundWeights, v kernels.Args) kernels.Launch {
	y, w, n, k := of[F](v.Out[0]), of[F](v.In[0]), v.In[0].Dim(0), v.In[0].Dim(1)
	store := func(row, i int, r *run) {
		for j, x := range r.w {
			value := kernels.FromBF16(kernels.ToBF16(x))
			if c.Packing == kernels.PackInt8 {
				value = float32(r.q[j]) * kernels.FromBF16(r.scale)
			}
			y[row*k+i*kernels.PackRun+j] = F(value)
		}
	}
	return eachRun(w, n, k, store)
}

// packedWeight is element p of a row of words, and of scales.
func packedWeight(packing kernels.Packing, words, scales []int32, p int) float64 {
	if packing == kernels.PackBF16 {
		return float64(kernels.FromBF16(uint16(uint32(words[p/2]) >> (16 * (p % 2)))))
	}
	r := p / kernels.PackRun
	scale := kernels.FromBF16(uint16(uint32(scales[r/2]) >> (16 * (r % 2))))
	return float64(int8(uint32(words[p/4])>>(8*(p%4)))) * float64(scale)
}

func bindPackedMatMul[F float](c kernels.PackedMatMul, v kernels.Args) kernels.Launch {
	y, x, words := of[F](v.Out[0]), of[F](v.In[0]), v.In[1].I32()
	m, n, k := c.Dims(v.In)
	var scales []int32
	ldw, lds := v.In[1].Dim(1), 0
	if c.Packing == kernels.PackInt8 {
		scales, lds = v.In[2].I32(), v.In[2].Dim(1)
	}
	var bias, residual []F
	b, r := c.Addends(v.In)
	if c.Bias {
		bias = of[F](b)
	}
	if c.Residual {
		residual = of[F](r)
	}
	return func() error {
		for i := range m {
			for j := range n {
				sum := 0.0
				for p := range k {
					sum += float64(x[i*k+p]) * packedWeight(c.Packing, row(words, j, ldw), row(scales, j, lds), p)
				}
				if bias != nil {
					sum += float64(bias[j])
				}
				if residual != nil {
					sum += float64(residual[i*n+j])
				}
				y[i*n+j] = F(sum)
			}
		}
		return nil
	}
}
