package exec_test

// The types of all values of a training program in bfloat16, "path: outputs | statistics <- inputs", of one block each. Residual stream (the
// sums that o_proj and down_proj or a norm's call make, and the first outputs of norm gradients), statistics, losses and gradients of
// parameters are float32; queries, keys, values, hidden values and what else products read is bfloat16.

const llamaTypes = `
embed_tokens: f32 <- i32 f32
layers.0.attn_norm_in.rmsnorm: bf16 | f32 <- f32 f32
convert layers.0.self_attn.q_proj.weight: bf16 <- f32
layers.0.self_attn.q_proj.matmul: bf16 <- bf16 bf16
convert layers.0.self_attn.k_proj.weight: bf16 <- f32
layers.0.self_attn.k_proj.matmul: bf16 <- bf16 bf16
convert layers.0.self_attn.v_proj.weight: bf16 <- f32
layers.0.self_attn.v_proj.matmul: bf16 <- bf16 bf16
layers.0.self_attn.q_norm.rmsnorm: bf16 | f32 <- bf16 f32
layers.0.self_attn.k_norm.rmsnorm: bf16 | f32 <- bf16 f32
layers.0.self_attn.q_rope: bf16 <- bf16 i32 f32
layers.0.self_attn.k_rope: bf16 <- bf16 i32 f32
layers.0.self_attn.attention: bf16 | f32 <- bf16 bf16 bf16
convert layers.0.self_attn.o_proj.weight: bf16 <- f32
layers.0.self_attn.o_proj.matmul: f32 <- bf16 bf16 f32
layers.0.mlp_norm_in.rmsnorm: bf16 | f32 <- f32 f32
convert layers.0.mlp.gate_proj.weight: bf16 <- f32
layers.0.mlp.gate_proj.matmul: bf16 <- bf16 bf16
convert layers.0.mlp.up_proj.weight: bf16 <- f32
layers.0.mlp.up_proj.matmul: bf16 <- bf16 bf16
layers.0.mlp.act: bf16 <- bf16 bf16
convert layers.0.mlp.down_proj.weight: bf16 <- f32
layers.0.mlp.down_proj.matmul: f32 <- bf16 bf16 f32
norm.rmsnorm: bf16 | f32 <- f32 f32
convert lm_head.weight: bf16 <- f32
loss.grad: bf16 f32 f32 <- bf16 bf16 i32 f32 f32
norm.rmsnorm.grad: f32 f32 <- f32 f32 bf16
convert norm.rmsnorm.grad: bf16 <- f32
layers.0.mlp.down_proj.matmul.grad.a: bf16 <- bf16 bf16
layers.0.mlp.down_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.mlp.act.grad: bf16 bf16 <- bf16 bf16 bf16
layers.0.mlp.up_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.mlp.up_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.mlp.gate_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.mlp.gate_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.mlp_norm_in.rmsnorm.grad: f32 f32 <- f32 f32 f32 f32
convert layers.0.mlp_norm_in.rmsnorm.grad: bf16 <- f32
layers.0.self_attn.o_proj.matmul.grad.a: bf16 <- bf16 bf16
layers.0.self_attn.o_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.attention.grad: bf16 bf16 bf16 <- bf16 bf16 bf16 bf16 bf16
layers.0.self_attn.k_rope.grad: bf16 <- bf16 i32 f32
layers.0.self_attn.q_rope.grad: bf16 <- bf16 i32 f32
layers.0.self_attn.k_norm.rmsnorm.grad: bf16 f32 <- bf16 f32 bf16
layers.0.self_attn.q_norm.rmsnorm.grad: bf16 f32 <- bf16 f32 bf16
layers.0.self_attn.v_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.v_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.k_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.k_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.q_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.q_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.attn_norm_in.rmsnorm.grad: f32 f32 <- f32 f32 f32 f32
embed_tokens.grad: f32 <- i32 f32
`

// Dropout stands between products and sums here, so that the sums are made by the norms.
const gpt2Types = `
embed_tokens: f32 <- i32 f32
embed_positions: f32 <- i32 f32
embed_sum: f32 <- f32 f32
embed_dropout: f32 <- f32 i32
layers.0.attn_norm_in.layernorm: bf16 | f32 f32 <- f32 f32 f32
convert layers.0.self_attn.q_proj.weight: bf16 <- f32
layers.0.self_attn.q_proj.matmul: bf16 <- bf16 bf16 f32
convert layers.0.self_attn.k_proj.weight: bf16 <- f32
layers.0.self_attn.k_proj.matmul: bf16 <- bf16 bf16 f32
convert layers.0.self_attn.v_proj.weight: bf16 <- f32
layers.0.self_attn.v_proj.matmul: bf16 <- bf16 bf16 f32
layers.0.self_attn.attention: bf16 | f32 <- bf16 bf16 bf16
convert layers.0.self_attn.o_proj.weight: bf16 <- f32
layers.0.self_attn.o_proj.matmul: bf16 <- bf16 bf16 f32
layers.0.attn_dropout: bf16 <- bf16 i32
layers.0.mlp_norm_in.layernorm: bf16 f32 | f32 f32 <- f32 bf16 f32 f32
convert layers.0.mlp.up_proj.weight: bf16 <- f32
layers.0.mlp.up_proj.matmul: bf16 <- bf16 bf16 f32
layers.0.mlp.act: bf16 <- bf16
convert layers.0.mlp.down_proj.weight: bf16 <- f32
layers.0.mlp.down_proj.matmul: bf16 <- bf16 bf16 f32
layers.0.mlp_dropout: bf16 <- bf16 i32
norm.layernorm: bf16 f32 | f32 f32 <- f32 bf16 f32 f32
convert embed_tokens.weight: bf16 <- f32
loss.grad: bf16 f32 f32 <- bf16 bf16 i32 f32 f32
norm.layernorm.grad: f32 f32 f32 <- f32 f32 f32 bf16
layers.0.mlp_dropout.grad: f32 <- f32 i32
layers.0.mlp.down_proj.addbias.grad: f32 <- f32
convert layers.0.mlp_dropout.grad: bf16 <- f32
layers.0.mlp.down_proj.matmul.grad.a: bf16 <- bf16 bf16
layers.0.mlp.down_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.mlp.act.grad: bf16 <- bf16 bf16
layers.0.mlp.up_proj.addbias.grad: f32 <- bf16
layers.0.mlp.up_proj.matmul.grad.a: bf16 <- bf16 bf16
layers.0.mlp.up_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.mlp_norm_in.layernorm.grad: f32 f32 f32 <- f32 f32 f32 bf16 f32
layers.0.attn_dropout.grad: f32 <- f32 i32
layers.0.self_attn.o_proj.addbias.grad: f32 <- f32
convert layers.0.attn_dropout.grad: bf16 <- f32
layers.0.self_attn.o_proj.matmul.grad.a: bf16 <- bf16 bf16
layers.0.self_attn.o_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.attention.grad: bf16 bf16 bf16 <- bf16 bf16 bf16 bf16 bf16
layers.0.self_attn.v_proj.addbias.grad: f32 <- bf16
layers.0.self_attn.v_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.v_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.k_proj.addbias.grad: f32 <- bf16
layers.0.self_attn.k_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.k_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.self_attn.q_proj.addbias.grad: f32 <- bf16
layers.0.self_attn.q_proj.matmul.grad.a: f32 <- bf16 bf16
layers.0.self_attn.q_proj.matmul.grad.b: f32 <- bf16 bf16
layers.0.attn_norm_in.layernorm.grad: f32 f32 f32 <- f32 f32 f32 f32 f32
embed_dropout.grad: f32 <- f32 i32
embed_positions.grad: f32 <- i32 f32
embed_tokens.grad: f32 <- i32 f32
gradient sum: f32 <- f32 f32
`
