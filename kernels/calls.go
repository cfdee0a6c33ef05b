package kernels

// Every call below documents its views as  Out <- In  (Aux, Saved where it has them). Floating-point views of one call all have one
// type, F32 or F64, or they are F32 with some BF16 where [TypesOf] allows it; tokens, targets, positions, documents and counters are I32.
// Shapes are checked by [Check] from [Call.Infer].

// MatMul is C[M,N] <- A, B, and bias[N] with Bias, and residual[M,N] with Residual: the product op(A) op(B) with op(A) of [M,K] and op(B)
// of [K,N], plus the bias on every row, plus the residual; A is stored [K,M] with TransA, B is stored [N,K] with TransB. A linear layer
// y = x Wᵀ with W[out,in] is MatMul{TransB: true}. Sums are of the product first, then of the bias, then of the residual or of C.
type MatMul struct {
	TransA, TransB bool
	Accumulate     bool // C += the rest, in place; not with Residual
	Bias           bool
	Residual       bool // Out[0] must not be the memory of the residual: that is Accumulate
}

// Convert is y <- x, of one shape: BF16 from F32, rounded to the nearest and to even between two, or F32 from BF16.
type Convert struct{}

// AddBias is y[N,C] <- x[N,C], b[C]: y = x + b on every row.
type AddBias struct{}

// SumRows is s[C] <- x[N,C]: the sum over rows, the gradient of a bias.
type SumRows struct{}

// Add is z <- x, y: the element-wise sum of two views of one shape. Out[0] may be the memory of x or of y.
type Add struct{}

// Scale is y <- x: y = Factor x. Out[0] may be the memory of x.
type Scale struct{ Factor float64 }

// Softcap is y <- x: y = Cap tanh(x / Cap) (Gemma 2, arXiv 2408.00118). Out[0] may be the memory of x. It serves logits only and has no gradient.
type Softcap struct{ Cap float64 }

// Embed is y[N,C] <- tokens[N], W[V,C]: row tokens[i] of W. A token outside [0, V) is an error of the launch.
type Embed struct{}

// EmbedGrad is dW[V,C] <- tokens[N], dy[N,C]: rows of dy added at their token, in order of i, zero elsewhere.
type EmbedGrad struct{ Vocab int }

// RMSNorm is y[N,C] <- x[N,C], gain[D] (Zhang & Sennrich, arXiv 1910.07467). D divides C; the rows normalised are the N*C/D runs of D
// elements, so D = C is the ordinary norm and D = the head dimension norms each head.
//
//	rstd = 1/sqrt(mean(x²) + Eps);  y = x rstd g,  g = gain, or 1 + gain with UnitOffset
//
// Aux: rstd[N*C/D].
type RMSNorm struct {
	Eps        float64
	UnitOffset bool
}

// RMSNormGrad is dx[N,C], dgain[D] <- x, gain, dy. Saved: rstd.
//
//	dx = rstd (g dy - x rstd² mean(g dy x));  dgain = sum over rows of dy x rstd
type RMSNormGrad struct {
	Eps        float64
	UnitOffset bool
}

// AddRMSNorm is y[N,C], z[N,C] <- x[N,C], r[N,C], gain[D]: z = x + r, and y = [RMSNorm] of z. Aux: rstd. z may be the memory of x.
type AddRMSNorm struct {
	Eps        float64
	UnitOffset bool
}

// AddRMSNormGrad is dx[N,C], dgain[D] <- x, gain, dy, r[N,C]: as [RMSNormGrad], with r added to dx: the gradient that came past the norm.
// Saved: rstd. Out[0] may be the memory of r.
type AddRMSNormGrad struct {
	Eps        float64
	UnitOffset bool
}

// LayerNorm is y[N,C] <- x[N,C], gain[D], bias[D] (Ba et al., arXiv 1607.06450), rows as in [RMSNorm].
//
//	y = (x - mean) rstd g + bias,  rstd = 1/sqrt(var + Eps), var the biased variance
//
// Aux: mean[N*C/D], rstd[N*C/D].
type LayerNorm struct {
	Eps        float64
	UnitOffset bool
}

// LayerNormGrad is dx[N,C], dgain[D], dbias[D] <- x, gain, bias, dy. Saved: mean, rstd.
//
//	with h = (x - mean) rstd:  dx = rstd (g dy - mean(g dy) - h mean(g dy h));  dgain = sum dy h;  dbias = sum dy
type LayerNormGrad struct {
	Eps        float64
	UnitOffset bool
}

// AddLayerNorm is y[N,C], z[N,C] <- x[N,C], r[N,C], gain[D], bias[D]: z = x + r, and y = [LayerNorm] of z. Aux: mean, rstd. z may be the
// memory of x.
type AddLayerNorm struct {
	Eps        float64
	UnitOffset bool
}

// AddLayerNormGrad is dx[N,C], dgain[D], dbias[D] <- x, gain, bias, dy, r[N,C]: as [LayerNormGrad], with r added to dx. Saved: mean, rstd.
// Out[0] may be the memory of r.
type AddLayerNormGrad struct {
	Eps        float64
	UnitOffset bool
}

// BatchNorm is y[N,C] <- x[N,C], gain[D], bias[D] (Ioffe & Szegedy, arXiv 1502.03167), in training: with statistics over the R = N*C/D runs,
// D dividing C as in [RMSNorm], for each of the D elements of a run. Rows of all positions and sequences share them, so it is not causal.
//
//	y = (x - mean) rstd g + bias,  rstd = 1/sqrt(var + Eps), var the biased variance
//
// Aux: mean[D], rstd[D].
type BatchNorm struct {
	Eps        float64
	UnitOffset bool
}

// BatchNormGrad is dx[N,C], dgain[D], dbias[D] <- x, gain, bias, dy. Saved: mean, rstd.
//
//	with h = (x - mean) rstd:  dgain = sum dy h;  dbias = sum dy;  dx = rstd g (dy - dbias/R - h dgain/R)
type BatchNormGrad struct {
	Eps        float64
	UnitOffset bool
}

// BatchNormUpdate is running'[2,D] <- running[2,D], x[N,C]: row 0, the running mean, and row 1, the running variance, move towards mean and
// biased variance of x, as [BatchNorm] has them: r += Momentum (s - r). Without rows nothing moves. Out[0] may be (and in a program always
// is) the memory of running.
type BatchNormUpdate struct{ Momentum float64 }

// BatchNormInference is y[N,C] <- x[N,C], gain[D], bias[D], running[2,D]: as [BatchNorm], with the running mean and variance for those of x,
// so that rows do not depend on each other.
type BatchNormInference struct {
	Eps        float64
	UnitOffset bool
}

// DyT is y[N,C] <- x[N,C], alpha[1], gain[D], bias[D]: y = gain tanh(alpha x) + bias, the layer in place of a norm of Zhu et al. (arXiv
// 2503.10622). D divides C, as in [RMSNorm].
type DyT struct{}

// DyTGrad is dx[N,C], dalpha[1], dgain[D], dbias[D] <- x, alpha, gain, bias, dy.
//
//	with h = tanh(alpha x) and s = dy gain (1 - h²):  dx = alpha s;  dalpha = sum s x;  dgain = sum dy h;  dbias = sum dy
type DyTGrad struct{}

// Gate is y[N,C] <- x[N,C], g[D]: y = g x, with element c of a row under g[c mod D]: a factor a column for D = C, one for all for D = 1.
type Gate struct{}

// GateGrad is dx[N,C], dg[D] <- x, g, dy: dx = g dy; dg = the sum of x dy.
type GateGrad struct{}

// GradScale is y <- x, t[1]: y = x, while the gradient by x is t times that by y (a [Gate]). It says how much of the gradient comes along a
// path: see train/lab. Out[0] may be the memory of x.
type GradScale struct{}

// Rope is y[N,H*D] <- x[N,H*D], positions[N], table[P,D] (Su et al., arXiv 2104.09864), halves rotated as in LLaMA: for j < D/2, with
// c = table[p, j] (cosine) and s = table[p, D/2+j] (sine) at p = positions[n],
//
//	y[j] = x[j] c - x[D/2+j] s;   y[D/2+j] = x[D/2+j] c + x[j] s
//
// Inverse rotates by -s, which is the gradient. A position outside [0, P) is an error of the launch. Out[0] may be the memory of x.
type Rope struct{ Inverse bool }

// Attention is y[N,H*D] <- q[N,H*D], k[N,KV*D], v[N,KV*D], and optionally documents[N]: causal attention inside each of the N/T
// sequences of T rows (Vaswani et al., arXiv 1706.03762). Query head h reads key head h/(Heads/KVHeads) (grouped queries, arXiv
// 2305.13245). Row i sees row j of the same sequence if j <= i, i-j < Window (when Window > 0), and documents[j] == documents[i]
// (any ids, which may come back).
//
//	s = Scale q·k;  s = Softcap tanh(s/Softcap) when Softcap > 0;  y = softmax(s) v
//
// Aux: lse[N,H], the log-sum-exp of each row's scores.
type Attention struct {
	Heads, KVHeads, HeadDim int
	T                       int // rows of one sequence
	Scale                   float64
	Softcap                 float64 // 0 = none
	Window                  int     // 0 = all earlier rows
}

// AttentionGrad is dq, dk, dv <- q, k, v, y, dy, and optionally documents: y is the forward's output. Saved: lse.
type AttentionGrad struct {
	Heads, KVHeads, HeadDim int
	T                       int
	Scale                   float64
	Softcap                 float64
	Window                  int
}

// CacheWrite is cache' <- cache[B*Context,C], new[B*T,C], position[1]: rows position … position+T-1 of each sequence of the cache are set
// from new; rows past Context are dropped. A position outside [0, Context) is an error of the launch. Out[0] may be (and in a
// program always is) the memory of cache. A cache may be BF16: new rows are rounded to it, to the nearest and to even.
type CacheWrite struct{ T, Context int }

// CachedAttention is y[B*T,H*D] <- q[B*T,H*D], k[B*Context,KV*D], v[B*Context,KV*D], position[1]: as [Attention], for T new rows at
// positions position+t whose keys and values are already in the cache; row t sees cache rows j <= position+t inside its window, of those that
// there are; a row that sees none is zero. k and v may be BF16, both. A position outside [0, Context) is an error of the launch.
type CachedAttention struct {
	Heads, KVHeads, HeadDim int
	T, Context              int
	Scale                   float64
	Softcap                 float64
	Window                  int
}

// Activation is y <- x. Kind "gelu_tanh" is 0.5 x (1 + tanh(sqrt(2/π)(x + 0.044715 x³))) (Hendrycks & Gimpel, arXiv 1606.08415), "silu" is
// x sigmoid(x).
type Activation struct{ Kind string }

// ActivationGrad is dx <- x, dy. Out[0] may be the memory of dy.
type ActivationGrad struct{ Kind string }

// GatedActivation is y <- gate, up: y = act(gate) up (GLU variants, Shazeer, arXiv 2002.05202; silu gives SwiGLU, gelu_tanh GeGLU).
type GatedActivation struct{ Kind string }

// GatedActivationGrad is dgate, dup <- gate, up, dy.
type GatedActivationGrad struct{ Kind string }

// Dropout is y <- x, counter[4]: element i is kept and scaled by 1/(1-Rate) when [Uniform](counter, Site, i) >= Rate, else set to zero.
// Its gradient is the same call on dy. Out[0] may be the memory of x.
type Dropout struct {
	Rate float64
	Site uint32 // which dropout of the model this is
}

// LinearCrossEntropy is loss[] <- x[N,C], W[V,C], targets[N], normaliser[1]: the language-model head and its loss in one call, so that
// logits of [N,V] are never held at once.
//
//	z = x Wᵀ;  z = Softcap tanh(z/Softcap) when Softcap > 0;  loss = sum over targets >= 0 of (logsumexp(z) - z[target]) / normaliser
//
// A negative target is ignored. A target >= V is an error of the launch.
type LinearCrossEntropy struct{ Softcap float64 }

// LinearCrossEntropyGrad is dx[N,C], dW[V,C], loss[] <- x, W, targets, normaliser, dloss[]: gradients of dloss·loss, and the loss itself
// with the bits that [LinearCrossEntropy] gives, so that a program which has both runs only this one.
type LinearCrossEntropyGrad struct{ Softcap float64 }

// SampleTokens is ids[B] <- logits[B,V], places[B,2]: the id that follows, chosen by the logits z of each row.
//
// Ids are ranked by logit, the larger first and of equal ones the lower id first. Temperature 0 takes the first id. Otherwise an id has the
// weight w = exp((z - max z)/Temperature), and three filters keep the first ids of the ranking, in this order: TopK keeps that many; TopP the
// fewest whose weights sum to at least TopP times those of all that are left; MinP those with z >= max z + Temperature log(MinP). Then an id is
// drawn by its weight: the first, in the order of ids, up to which the weights sum to more than u times the sum of all, u being [SampleUniform]
// of the row's place {sequence, position}. 0 switches a filter off, as does a TopP of 1. All of it is done in float64. A logit that is not finite is an
// error of the launch.
type SampleTokens struct {
	Temperature float64
	TopK        int
	TopP, MinP  float64
	Seed        int64
}

// Fill is x <- x: every element is set to Value. Out[0] is the memory of In[0], of any type.
type Fill struct {
	Value float64
}

// GlobalNorm is norm[1] <- g: sqrt of the sum of squares, summed in float64.
type GlobalNorm struct{}

// Moments is m[4] <- x, y, of one shape: the sum of x², of y² and of x y, and the largest |x|, which is NaN where x holds one. x and y may be
// one view. It looks at values and has no gradient.
type Moments struct{}

// ClipFactor is factor[1] <- norm[1], loss[], limits[2]: min(1, Max/(norm + 1e-6)), or 1 when Max is 0. It is NaN, by which the optimizers
// leave everything as it is, where norm or loss is not finite, and where loss > limits[0] or norm > limits[1].
type ClipFactor struct{ Max float64 }

// AdamW is p', m', v' <- p, m, v, g, hyper[4], all but hyper of one shape and updated in place: Out[i] is the memory of In[i] (Loshchilov &
// Hutter, arXiv 1711.05101; decoupled decay, multiplied by the learning rate).
//
//	hyper = {learning rate, 1-Beta1^step, 1-Beta2^step, clip factor}
//	g = clip·g;  m = Beta1 m + (1-Beta1) g;  v = Beta2 v + (1-Beta2) g²
//	p = p (1 - lr WeightDecay) - lr (m/hyper[1]) / (sqrt(v/hyper[2]) + Eps)
//
// A clip factor of NaN changes nothing.
type AdamW struct{ Beta1, Beta2, Eps, WeightDecay float64 }

// SGD is p', m' <- p, m, g, hyper[4], updated in place as [AdamW]: g = clip·g; m = Momentum m + g; p = p (1 - lr WeightDecay) - lr m.
// A clip factor of NaN changes nothing.
type SGD struct{ Momentum, WeightDecay float64 }
