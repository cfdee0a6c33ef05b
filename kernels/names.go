package kernels

// What calls are named, what they may write over, and which call gradients are of.

func (MatMul) Kernel() string                 { return "matmul" }
func (Convert) Kernel() string                { return "convert" }
func (AddBias) Kernel() string                { return "addbias" }
func (SumRows) Kernel() string                { return "sumrows" }
func (Add) Kernel() string                    { return "add" }
func (Scale) Kernel() string                  { return "scale" }
func (Softcap) Kernel() string                { return "softcap" }
func (Embed) Kernel() string                  { return "embed" }
func (EmbedGrad) Kernel() string              { return "embed.grad" }
func (RMSNorm) Kernel() string                { return "rmsnorm" }
func (RMSNormGrad) Kernel() string            { return "rmsnorm.grad" }
func (AddRMSNorm) Kernel() string             { return "add_rmsnorm" }
func (AddRMSNormGrad) Kernel() string         { return "add_rmsnorm.grad" }
func (LayerNorm) Kernel() string              { return "layernorm" }
func (LayerNormGrad) Kernel() string          { return "layernorm.grad" }
func (AddLayerNorm) Kernel() string           { return "add_layernorm" }
func (AddLayerNormGrad) Kernel() string       { return "add_layernorm.grad" }
func (BatchNorm) Kernel() string              { return "batchnorm" }
func (BatchNormGrad) Kernel() string          { return "batchnorm.grad" }
func (BatchNormUpdate) Kernel() string        { return "batchnorm.update" }
func (BatchNormInference) Kernel() string     { return "batchnorm.inference" }
func (DyT) Kernel() string                    { return "dyt" }
func (DyTGrad) Kernel() string                { return "dyt.grad" }
func (Gate) Kernel() string                   { return "gate" }
func (GateGrad) Kernel() string               { return "gate.grad" }
func (GradScale) Kernel() string              { return "gradscale" }
func (Rope) Kernel() string                   { return "rope" }
func (Attention) Kernel() string              { return "attention" }
func (AttentionGrad) Kernel() string          { return "attention.grad" }
func (CacheWrite) Kernel() string             { return "cache.write" }
func (CachedAttention) Kernel() string        { return "attention.cached" }
func (Activation) Kernel() string             { return "activation" }
func (ActivationGrad) Kernel() string         { return "activation.grad" }
func (GatedActivation) Kernel() string        { return "gated" }
func (GatedActivationGrad) Kernel() string    { return "gated.grad" }
func (Dropout) Kernel() string                { return "dropout" }
func (LinearCrossEntropy) Kernel() string     { return "linear_cross_entropy" }
func (LinearCrossEntropyGrad) Kernel() string { return "linear_cross_entropy.grad" }
func (SampleTokens) Kernel() string           { return "sample_tokens" }
func (Fill) Kernel() string                   { return "fill" }
func (GlobalNorm) Kernel() string             { return "global_norm" }
func (ClipFactor) Kernel() string             { return "clip_factor" }
func (Moments) Kernel() string                { return "moments" }
func (AdamW) Kernel() string                  { return "adamw" }
func (SGD) Kernel() string                    { return "sgd" }

func (Add) InPlace() []int            { return []int{0, 1} }
func (Scale) InPlace() []int          { return []int{0} }
func (Softcap) InPlace() []int        { return []int{0} }
func (GradScale) InPlace() []int      { return []int{0} }
func (Rope) InPlace() []int           { return []int{0} }
func (ActivationGrad) InPlace() []int { return []int{1} }
func (Dropout) InPlace() []int        { return []int{0} }
func (CacheWrite) InPlace() []int     { return []int{0} }

func (BatchNormUpdate) InPlace() []int { return []int{0} }

func (AddRMSNormGrad) InPlace() []int   { return []int{3} }
func (AddLayerNormGrad) InPlace() []int { return []int{4} }

func (c RMSNormGrad) Forward() (Call, int)   { return RMSNorm(c), 2 }
func (c LayerNormGrad) Forward() (Call, int) { return LayerNorm(c), 3 }
func (c BatchNormGrad) Forward() (Call, int) { return BatchNorm(c), 3 }
func (c AttentionGrad) Forward() (Call, int) { return Attention(c), 3 }

func (c AddRMSNormGrad) Forward() (Call, int)   { return RMSNorm(c), 2 }
func (c AddLayerNormGrad) Forward() (Call, int) { return LayerNorm(c), 3 }
