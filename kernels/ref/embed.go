package ref

import "prenorm/kernels"

func init() {
	define(definition[kernels.Embed]{f32: bindEmbed[float32], f64: bindEmbed[float64]})
	define(definition[kernels.EmbedGrad]{f32: bindEmbedGrad[float32], f64: bindEmbedGrad[float64], workspace: func(_ kernels.EmbedGrad, a kernels.Args) int {
		return a.In[1].Dim(1)
	}})
}

// embed is y[i] = W[tokens[i]], rows of width.
func embed[F float](y []F, tokens []int32, w []F, width int) {
	for i, t := range tokens {
		copy(row(y, i, width), row(w, int(t), width))
	}
}

func bindEmbed[F float](c kernels.Embed, v kernels.Args) kernels.Launch {
	y, tokens, w := of[F](v.Out[0]), v.In[0].I32(), of[F](v.In[1])
	vocab, width := v.In[1].Dim(0), v.In[1].Dim(1)
	return func() error {
		if err := inRange(c.Kernel(), "token", tokens, vocab); err != nil {
			return err
		}
		embed(y, tokens, w, width)
		return nil
	}
}

// embedGrad is dW[t] = the sum of dy[i] over the i with tokens[i] == t. sum is room for one row.
func embedGrad[F float](dw []F, tokens []int32, dy []F, vocab int, sum []float64) {
	width := len(sum)
	for t := range vocab {
		clear(sum)
		for i := range tokens {
			if int(tokens[i]) == t {
				for c, g := range row(dy, i, width) {
					sum[c] += float64(g)
				}
			}
		}
		for c := range sum {
			dw[t*width+c] = F(sum[c])
		}
	}
}

func bindEmbedGrad[F float](c kernels.EmbedGrad, v kernels.Args) kernels.Launch {
	dw, tokens, dy := of[F](v.Out[0]), v.In[0].I32(), of[F](v.In[1])
	sum := scratch(v.Work, v.In[1].Dim(1))[0]
	return func() error {
		if err := inRange(c.Kernel(), "token", tokens, c.Vocab); err != nil {
			return err
		}
		embedGrad(dw, tokens, dy, c.Vocab, sum)
		return nil
	}
}
