"""Puts a run's weights into a model of Hugging Face's library transformers, and holds its logits, loss and gradients against prenorm's. See README.md."""
import argparse, json, os, subprocess
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch, transformers, yaml
from safetensors.torch import load_file, save_file

p = argparse.ArgumentParser()
p.add_argument("--prenorm", required=True, help="the program")
p.add_argument("--text", required=True, help="a text that has rows * context tokens")
p.add_argument("--rows", type=int, default=4)
p.add_argument("--out", required=True, help="a folder: the model, its tokenizer, and what prenorm check reads")
p.add_argument("--precision", default="float64", choices=["float32", "float64"], help="of transformers")
p.add_argument("run", help="the folder of a run or of a checkpoint")
a = p.parse_args()


def newest(path):
    if os.path.exists(f"{path}/manifest.json"):
        return path
    steps = [d for d in sorted(os.listdir(f"{path}/checkpoints")) if os.path.exists(f"{path}/checkpoints/{d}/manifest.json") and d[5:].isdigit()]
    return f"{path}/checkpoints/{steps[-1]}"


saved = newest(a.run)
m = yaml.safe_load(open(f"{saved}/config.yaml"))["model"]
weights = load_file(f"{saved}/model.safetensors")
vocab, layers, heads, theta = weights["embed_tokens.weight"].shape[0], m["layers"], m["heads"], m["position"]["theta"]
eps = float(m["norm"]["eps"])  # PyYAML takes 1e-5 for a word
plain = {"norm.placement": (m["norm"]["placement"], "pre"), "norm.unit_offset": (m["norm"]["unit_offset"], False), "norm.embed": (m["norm"]["embed"], False),
         "attention.qk_norm": (m["attention"]["qk_norm"], "none"), "attention.window": (m["attention"]["window"], 0), "attention.scale": (m["attention"]["scale"], 0),
         "attention.softcap": (m["attention"]["softcap"], 0), "logit_softcap": (m["logit_softcap"], 0), "embed_scale": (m["embed_scale"], False)}
for key, (is_, wanted) in plain.items():
    if is_ != wanted:
        raise SystemExit(f"{saved}/config.yaml: model.{key} is {is_}: this comparison is of models with {wanted}")
kind = (m["norm"]["kind"], m["mlp"], m["position"]["kind"], m["bias"])

# Of each tensor there: the ones here of which it consists, one below the other, and whether it lies there turned round.
names = {}
if kind == ("rmsnorm", "swiglu", "rope", "none"):
    config = transformers.LlamaConfig(vocab_size=vocab, hidden_size=m["width"], intermediate_size=m["ffn"], num_hidden_layers=layers, num_attention_heads=heads,
                                      num_key_value_heads=m["kv_heads"], head_dim=m["head_dim"], max_position_embeddings=m["context"], rms_norm_eps=eps,
                                      rope_parameters={"rope_type": "default", "rope_theta": float(theta if not isinstance(theta, list) else theta[0])},
                                      tie_word_embeddings=m["tied"], attn_implementation="eager", bos_token_id=None, eos_token_id=None)
    model = transformers.LlamaForCausalLM(config)
    names["model.embed_tokens.weight"], names["model.norm.weight"] = (["embed_tokens.weight"], False), (["norm.weight"], False)
    for i in range(layers):
        here, there = f"layers.{i}.", f"model.layers.{i}."
        names[there + "input_layernorm.weight"] = [here + "attn_norm_in.weight"], False
        names[there + "post_attention_layernorm.weight"] = [here + "mlp_norm_in.weight"], False
        for part in [f"self_attn.{w}_proj" for w in "qkvo"] + [f"mlp.{w}_proj" for w in ("gate", "up", "down")]:
            names[f"{there}{part}.weight"] = [f"{here}{part}.weight"], False
elif kind == ("layernorm", "gelu_tanh", "learned", "all"):
    config = transformers.GPT2Config(vocab_size=vocab, n_positions=m["context"], n_embd=m["width"], n_layer=layers, n_head=heads, n_inner=m["ffn"],
                                     activation_function="gelu_new", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                     layer_norm_epsilon=eps, tie_word_embeddings=m["tied"], attn_implementation="eager", bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(config)
    names["transformer.wte.weight"], names["transformer.wpe.weight"] = (["embed_tokens.weight"], False), (["embed_positions.weight"], False)
    for part in ("weight", "bias"):
        names[f"transformer.ln_f.{part}"] = [f"norm.{part}"], False
        for i in range(layers):
            here, there, turned = f"layers.{i}.", f"transformer.h.{i}.", part == "weight"
            names[f"{there}ln_1.{part}"] = [f"{here}attn_norm_in.{part}"], False
            names[f"{there}ln_2.{part}"] = [f"{here}mlp_norm_in.{part}"], False
            names[f"{there}attn.c_attn.{part}"] = [f"{here}self_attn.{w}_proj.{part}" for w in "qkv"], turned
            names[f"{there}attn.c_proj.{part}"] = [f"{here}self_attn.o_proj.{part}"], turned
            names[f"{there}mlp.c_fc.{part}"] = [f"{here}mlp.up_proj.{part}"], turned
            names[f"{there}mlp.c_proj.{part}"] = [f"{here}mlp.down_proj.{part}"], turned
else:
    raise SystemExit(f"{saved}/config.yaml: norm.kind, mlp, position.kind and bias are {kind}: neither a Llama nor a GPT-2")
if not m["tied"]:
    names["lm_head.weight"] = ["lm_head.weight"], False

there = {}
for name, (parts, turned) in names.items():
    whole = torch.cat([weights[part] for part in parts])
    there[name] = (whole.T if turned else whole).contiguous()
used = {part for parts, _ in names.values() for part in parts}
if used != set(weights):
    raise SystemExit(f"tensors without a place: {sorted(used ^ set(weights))}")
missing, unexpected = model.load_state_dict(there, strict=False)
if unexpected or [k for k in missing if not (m["tied"] and k == "lm_head.weight")]:
    raise SystemExit(f"missing {missing}, unexpected {unexpected}")
model.save_pretrained(a.out)
subprocess.run([a.prenorm, "tokenizer", "export", "--tokenizer", saved, "--out", f"{a.out}/tokenizer.json", "--force"], check=True, capture_output=True)

# The model as saved is read again, as anybody would.
model = type(model).from_pretrained(a.out, attn_implementation="eager").to(getattr(torch, a.precision)).eval()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{a.out}/tokenizer.json")
ids = tokenizer(open(a.text, encoding="utf-8").read())["input_ids"]
rows, context = a.rows, m["context"]
if len(ids) <= rows * context:
    raise SystemExit(f"{a.text} has {len(ids)} tokens, want {rows * context + 1}")
inputs = torch.tensor(ids[:rows * context]).view(rows, context)
targets = torch.tensor(ids[1:rows * context + 1]).view(rows, context)
logits = model(inputs).logits
loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), targets.view(-1))
loss.backward()

figures = {"input.tokens": inputs.int(), "input.targets": targets.int(), "output.logits": logits.detach().float(), "output.loss": loss.detach().float().view(1)}
figures.update(weights)
for name, tensor in model.named_parameters():
    parts, turned = names[name]
    grad = tensor.grad.T if turned else tensor.grad
    for part, piece in zip(parts, torch.split(grad, [weights[part].shape[0] for part in parts])):
        figures["grad." + part] = piece.float().contiguous()
described = {"vocab": vocab, "width": m["width"], "layers": layers, "heads": heads, "kv_heads": m["kv_heads"], "head_dim": m["head_dim"], "ffn": m["ffn"], "T": context,
             "B": rows, "norm": kind[0], "eps": eps, "placement": "pre", "mlp": kind[1], "pos": kind[2], "bias": kind[3] == "all", "tied": m["tied"],
             "rope_theta": float(theta if not isinstance(theta, list) else theta[0])}
save_file({k: v.clone().contiguous() for k, v in figures.items()}, f"{a.out}/figures.safetensors", metadata={"config": json.dumps(described)})
print(f"{type(model).__name__} of transformers {transformers.__version__}, {a.precision}: {rows} rows of {context} tokens, loss {loss.item():.6f}, "
      f"largest logit {logits.abs().max().item():.3f}")
raise SystemExit(subprocess.run([a.prenorm, "check", f"{a.out}/figures.safetensors"]).returncode)
