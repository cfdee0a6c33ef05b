"""Times training steps of prenorm beside PyTorch's on this machine's CPU, in turns: the same models, batches and threads, float32. PyTorch runs with
one thread and with all of them, eager and compiled, and its best counts. Needs a built prenorm, and torch in the Python that runs this."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TORCH = HERE.parent.parent / "cuda" / "gpurun" / "torch_bench.py"

# name: kind, layers, width, heads, ffn, context, vocab, batch
MODELS = {
    "llama-384": ("llama", 6, 384, 6, 1024, 256, 1024, 8),
    "gpt2-384": ("gpt2", 6, 384, 6, 1536, 256, 1024, 8),
    "gpt2-128": ("gpt2", 4, 128, 4, 512, 64, 65, 12),
    "gpt2-124m": ("gpt2", 12, 768, 12, 3072, 64, 50257, 4),
}

KINDS = {
    "llama": "norm: {kind: rmsnorm}, mlp: swiglu, position: {kind: rope}, bias: none",
    "gpt2": "norm: {kind: layernorm}, mlp: gelu_tanh, position: {kind: learned}, bias: all",
}


def run_file(name):
    kind, layers, width, heads, ffn, context, vocab, batch = MODELS[name]
    return f"""name: {name}
data: {{train: [unused.txt], tokenizer: {{kind: byte}}}}
model: {{layers: {layers}, width: {width}, heads: {heads}, kv_heads: {heads}, ffn: {ffn}, context: {context}, vocab: {max(vocab, 257)}, tied: true, {KINDS[kind]}}}
train: {{steps: 100, batch: {batch}, clip: 1.0, optimizer: {{kind: adamw, lr: 1e-4}}}}
"""


def ours(o, name):
    path = pathlib.Path(o.out) / f"{name}.yaml"
    path.write_text(run_file(name), encoding="utf-8")
    text = subprocess.run([o.prenorm, "bench", "train", "--config", path, "--device", "cpu", "--seconds", str(o.seconds), "--json"], check=True, capture_output=True, text=True).stdout
    r = json.loads(text)
    t = r["train"]
    return {"median_s": t["median_s"], "share_of_peak": t["share_of_peak"], "memory": t["memory_bytes"], "gflop_s": t["gflop_s"], "peak": r["ceilings"]["peak_gflop_s"]}


def theirs(o, name, threads, compiled):
    kind, layers, width, heads, ffn, context, vocab, batch = MODELS[name]
    command = [sys.executable, TORCH, "--kind", kind, "--device", "cpu", "--precision", "fp32", "--threads", str(threads), "--seconds", str(o.seconds)]
    for option, value in {"layers": layers, "width": width, "heads": heads, "ffn": ffn, "context": context, "vocab": max(vocab, 257), "batch": batch}.items():
        command += ["--" + option, str(value)]
    if not compiled:
        command.append("--no-compile")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return json.loads(done.stdout)["median_s"], None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--prenorm", required=True, help="the built program")
    p.add_argument("--seconds", type=float, default=6, help="of each measurement")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--out", default=".", help="a folder for run files and figures")
    p.add_argument("--threads", type=int, nargs="*", help="PyTorch's numbers of threads (default: one, and all)")
    p.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    p.add_argument("models", nargs="*", default=list(MODELS))
    o = p.parse_args()
    all_threads = os.cpu_count()
    ways = [(t, c) for c in ([False] if o.no_compile else [False, True]) for t in o.threads or sorted({1, all_threads})]
    figures = {}
    for name in o.models:
        rounds, peers = [], {w: [] for w in ways}
        for _ in range(o.rounds):
            rounds.append(ours(o, name))
            for way in ways:
                seconds, failed = theirs(o, name, *way)
                if failed:
                    print(f"{name}: PyTorch with {way[0]} threads, compiled {way[1]}: {failed[0]}", file=sys.stderr)
                else:
                    peers[way].append(seconds)
        own = statistics.median(r["median_s"] for r in rounds)
        peers = {w: statistics.median(times) for w, times in peers.items() if times}
        line = f"{name}: {1e3 * own:.1f} ms a step, {statistics.median(r['share_of_peak'] for r in rounds):.3f} of peak ({rounds[0]['peak']:.0f} GFLOP/s), planned memory {rounds[0]['memory'] / 1e6:.0f} MB"
        if peers:
            best = min(peers, key=peers.get)
            line += f"; PyTorch {1e3 * peers[best]:.1f} ms ({best[0]} threads, {'compiled' if best[1] else 'eager'}): {peers[best] / own:.2f} times as long"
        load = os.getloadavg()[0]
        print(line + f"; load {load:.1f}", flush=True)
        figures[name] = {"prenorm": rounds, "torch": {f"{t} threads, {'compiled' if c else 'eager'}": s for (t, c), s in peers.items()}, "load": load}
    (pathlib.Path(o.out) / "steps.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
