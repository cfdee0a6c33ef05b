"""Times training steps of a GPT-2 or Llama model in PyTorch, for comparison with prenorm bench train: the same shapes, the same batch, bf16
autocast over float32 weights or float32 throughout, scaled_dot_product_attention, torch.compile, clipping and fused AdamW. Needs nothing but
torch."""

import argparse
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, 1e-5)


def rotate(x, cos, sin):
    """Rotary positions, halves rotated; x is [B, H, T, D]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Block(nn.Module):
    """Attention and MLP, each with its norm before it."""

    def __init__(self, o):
        super().__init__()
        self.llama, self.heads = o.kind == "llama", o.heads
        norm, bias = (RMSNorm, False) if self.llama else (nn.LayerNorm, True)
        self.norm1, self.norm2 = norm(o.width), norm(o.width)
        self.qkv = nn.Linear(o.width, 3 * o.width, bias=bias)
        self.proj = nn.Linear(o.width, o.width, bias=bias)
        self.up = nn.Linear(o.width, (2 if self.llama else 1) * o.ffn, bias=bias)
        self.down = nn.Linear(o.ffn, o.width, bias=bias)

    def forward(self, x, cos, sin):
        B, T, C = x.shape
        q, k, v = (p.view(B, T, self.heads, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        if self.llama:
            q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        h = self.up(self.norm2(x))
        if self.llama:
            gate, up = h.chunk(2, dim=-1)
            h = F.silu(gate) * up
        else:
            h = F.gelu(h, approximate="tanh")
        return x + self.down(h)


class Model(nn.Module):
    """A decoder with tied embedding and head."""

    def __init__(self, o):
        super().__init__()
        llama = o.kind == "llama"
        self.embed = nn.Embedding(o.vocab, o.width)
        self.positions = None if llama else nn.Embedding(o.context, o.width)
        self.blocks = nn.ModuleList(Block(o) for _ in range(o.layers))
        self.norm = RMSNorm(o.width) if llama else nn.LayerNorm(o.width)
        half = o.width // o.heads // 2
        angle = torch.outer(torch.arange(o.context), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = F.linear(self.norm(x), self.embed.weight)
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), targets.view(-1))


def options():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--kind", choices=["gpt2", "llama"], required=True)
    for name in ["layers", "width", "heads", "ffn", "context", "vocab", "batch"]:
        p.add_argument("--" + name, type=int, required=True)
    p.add_argument("--seconds", type=float, default=6)
    p.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    p.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    p.add_argument("--threads", type=int, help="of the CPU")
    p.add_argument("--no-compile", action="store_true")
    p.add_argument("--out", help="a file for the figures as JSON")
    return p.parse_args()


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def product_ceiling(device, dtype):
    """GFLOP/s of the best square product."""
    best = 0.0
    for n in [1024, 2048, 4096, 8192] if device == "cuda" else [256]:
        a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
        for _ in range(3):
            a @ b
        for _ in range(5):
            synchronise(device)
            began = time.perf_counter()
            for _ in range(10):
                a @ b
            synchronise(device)
            best = max(best, 10 * 2 * n**3 / (time.perf_counter() - began) / 1e9)
    return best


def main():
    o = options()
    device = o.device
    if device == "cuda" and not torch.cuda.is_available():
        # A time of the CPU would stand beside those of the GPU.
        raise SystemExit(f"torch {torch.__version__} finds no GPU (torch.version.cuda is {torch.version.cuda}): install a build for CUDA, or say --device cpu")
    if o.threads:
        torch.set_num_threads(o.threads)
    narrow = o.precision == "bf16"
    torch.manual_seed(1337)
    torch.set_float32_matmul_precision("high" if narrow else "highest")
    model = Model(o).to(device)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=True)
    loss_of = model if o.no_compile else torch.compile(model)
    tokens, targets = (torch.randint(o.vocab, (o.batch, o.context), device=device) for _ in range(2))

    def step():
        with torch.autocast(device, dtype=torch.bfloat16, enabled=narrow):
            loss = loss_of(tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()  # waits for the device, as prenorm does

    for _ in range(5):
        loss = step()
    times, began = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < o.seconds:
        start = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - start)
    if not math.isfinite(loss):
        raise SystemExit(f"the loss is {loss}")
    median = statistics.median(times)
    figures = {
        "torch": torch.__version__,
        "device": device,
        "gpu": torch.cuda.get_device_name() if device == "cuda" else "",
        "compiled": not o.no_compile,
        "threads": torch.get_num_threads(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": len(times),
        "median_s": median,
        "min_s": min(times),
        "tokens_s": o.batch * o.context / median,
        "loss": loss,
        "memory_bytes": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        "matmul_gflop_s": product_ceiling(device, torch.bfloat16 if narrow else torch.float32),
    }
    text = json.dumps(figures, indent=2)
    print(text)
    if o.out:
        with open(o.out, "w", encoding="utf-8") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    main()
