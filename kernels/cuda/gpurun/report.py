"""Writes one report in Markdown of what run.sh left in a folder: report.py FOLDER SECONDS. Needs nothing but Python."""

import json
import re
import sys
from pathlib import Path

results, seconds = Path(sys.argv[1]), sys.argv[2]


def figures(name):
    """The JSON of a phase, None where there is none."""
    try:
        return json.loads((results / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None


def text(name):
    try:
        return (results / name).read_text(errors="replace")
    except OSError:
        return ""


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    print()


def device(f):
    """The device that figures were measured on."""
    return f.get("gpu") or f.get("device") or "unknown"


def phases():
    print("## What ran\n")
    names = ["doctor", "kernels", "program", "gpt2-own", "gpt2-cublas", "llama-own", "llama-cublas", "gpt2-torch", "llama-torch"]
    table(["phase", "outcome"], [[n, text(f"{n}.status").strip() or "did not run: no usable GPU, or the run was stopped"] for n in names])
    for name in ["kernels", "program"]:
        log = text(f"{name}.log")
        counts = {word: len(re.findall(rf"^ *--- {word}:", log, re.M)) for word in ["PASS", "FAIL", "SKIP"]}
        print(f"Tests, {name}: " + ", ".join(f"{n} {word}" for word, n in counts.items()) + ".\n")
        for line in re.findall(r"^ *--- FAIL:.*", log, re.M)[:40]:
            print("    " + line.strip())
        print()
    print("```\n" + text("doctor.log").strip() + "\n```\n")


def training():
    print("## Training, bf16\n")
    print("A step is forward, backward, clipping and AdamW on one batch of random tokens. MFU is the model's arithmetic over the best square bf16")
    print("product that any program reached in this run.\n")
    for model in ["gpt2", "llama"]:
        ours = {n: figures(f"{model}-{n}") for n in ["cublas", "own"]}
        torch = figures(f"{model}-torch")
        known = [f for f in ours.values() if f and f.get("train")]
        if not known and not torch:
            continue
        peak = max([f["ceilings"]["matmul_gflop_s"] for f in known] + ([torch["matmul_gflop_s"]] if torch else []))
        flops = known[0]["train"]["gflop_s"] * known[0]["train"]["median_s"] if known else 0
        first = known[0] if known else None
        if first:
            print(f"### {model}: {first['parameters']:,} parameters, {first['batch']} × {first['context']} tokens\n")
        rows = []
        for name, f in ours.items():
            if f and f.get("train"):
                t = f["train"]
                ratio = f"{t['tokens_s'] / torch['tokens_s']:.2f}" if torch and torch["gpu"] else ""  # none against a CPU
                rows.append([f"prenorm, {name} products", device(f), f"{1e3 * t['median_s']:.2f} ms", f"{1e3 * t['min_s']:.2f} ms", f"{t['tokens_s']:,.0f}",
                             f"{100 * t['gflop_s'] / peak:.1f}%", f"{t['memory_bytes'] / 2**30:.2f} GiB", f"{f['parameters']:,}", ratio])
        if torch:
            rows.append([f"PyTorch {torch['torch']}{', compiled' if torch['compiled'] else ''}", device(torch), f"{1e3 * torch['median_s']:.2f} ms", f"{1e3 * torch['min_s']:.2f} ms",
                         f"{torch['tokens_s']:,.0f}", f"{100 * flops / torch['median_s'] / peak:.1f}%" if flops else "", f"{torch['memory_bytes'] / 2**30:.2f} GiB",
                         f"{torch['parameters']:,}", "1.00" if torch["gpu"] else ""])
        table(["program", "device", "step, median", "best", "tokens/s", "MFU", "memory", "parameters", "against PyTorch"], rows)
        print(f"Best product: {peak:,.0f} GFLOP/s.\n")


def kernels():
    for name in ["gpt2-cublas", "gpt2-own", "llama-cublas", "llama-own"]:
        f = figures(name)
        if not f or not f.get("train"):
            continue
        c = f["ceilings"]
        print(f"## {name}: kernels of a step\n")
        print(f"{device(f)}. Ceilings: copy {c['copy_gb_s']:,.0f} GB/s, product {c['matmul_gflop_s']:,.0f} GFLOP/s.\n")
        table(["kernel", "launches", "time", "of step", "GFLOP/s", "GB/s", "of ceiling"],
              [[k["kernel"], str(k["launches"]), f"{1e3 * k['seconds']:.3f} ms", f"{100 * k['share_of_step']:.1f}%", f"{k['gflop_s']:,.0f}", f"{k['gb_s']:,.0f}",
                f"{100 * k['share_of_ceiling']:.0f}%"] for k in f["train"]["kernels"]])
        if f.get("sample"):
            s = f["sample"]
            print(f"Sampling: prefill {s['prefill_tokens_s']:,.0f} tokens/s, decoding {s['decode_tokens_s']:,.0f} tokens/s"
                  f" ({s['gb_s']:,.0f} GB/s, {100 * s['share_of_copy']:.0f}% of the copy).\n")
        if f.get("kernels"):
            print("<details><summary>each shape alone</summary>\n")
            table(["kernel", "shape", "launches", "time", "GFLOP/s", "GB/s", "of ceiling"],
                  [[k["kernel"], k["shape"], str(k["launches"]), f"{1e6 * k['seconds']:.1f} µs", f"{k['gflop_s']:,.0f}", f"{k['gb_s']:,.0f}",
                    f"{100 * k['share_of_ceiling']:.0f}%"] for k in f["kernels"]])
            print("</details>\n")


def main():
    commit = text("../commit").strip()
    print(f"# prenorm on a GPU\n\nCommit {commit}, {seconds} s in all.\n")
    print(f"GPU, driver, memory: {text('driver.txt').strip()}\n")
    phases()
    training()
    kernels()
    if smi := text("nvidia-smi.log").strip():
        print("```\n" + smi + "\n```")


if __name__ == "__main__":
    main()
