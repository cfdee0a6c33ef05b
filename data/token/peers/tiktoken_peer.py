"""Holds ids and speed of one vocabulary against tiktoken's, on one text, each with one thread. See README.md."""
import argparse, base64, hashlib, subprocess, time
import numpy, tiktoken, tiktoken_ext.openai_public as public

p = argparse.ArgumentParser()
p.add_argument("--peers", required=True)
p.add_argument("--kind", required=True)
p.add_argument("--text", required=True)
p.add_argument("--tmp", default="/tmp")
a = p.parse_args()

# tiktoken's own definitions name their tables by the net; the tables here are those that prenorm embeds, whose checksums are tiktoken's.
def no_net(*_, **__): return {}
public.load_tiktoken_bpe = public.data_gym_to_mergeable_bpe_ranks = no_net
name = {"gpt2": "r50k_base"}.get(a.kind, a.kind + "_base")
definition = public.ENCODING_CONSTRUCTORS[name]()
table = f"{a.tmp}/{a.kind}.tiktoken"
subprocess.run([a.peers, "-do", "table", "-tokenizer", a.kind, "-out", table], check=True)
ranks = {base64.b64decode(t): int(i) for t, i in (l.split() for l in open(table, "rb"))}
peer = tiktoken.Encoding(a.kind, pat_str=definition["pat_str"], mergeable_ranks=ranks, special_tokens=definition["special_tokens"])

text = open(a.text, "rb").read().decode()
size = len(text.encode())
start = time.perf_counter()
want = peer.encode_to_numpy(text, disallowed_special=())
theirs = time.perf_counter() - start
ids = f"{a.tmp}/{a.kind}.ids"
ours = float(subprocess.run([a.peers, "-do", "encode", "-tokenizer", a.kind, "-in", a.text, "-out", ids], check=True, capture_output=True).stdout)
got = numpy.fromfile(ids, dtype="<i4")
same = len(got) == len(want) and bool((got == want).all())
print(f"{a.kind}: {size / 1e6:.0f} MB, {len(got)} ids, prenorm {size / 1e6 / ours:.1f} MB/s, tiktoken {tiktoken.__version__} {size / 1e6 / theirs:.1f} MB/s, "
      f"{theirs / ours:.2f} times, ids {'equal' if same else 'DIFFER'}, SHA-256 {hashlib.sha256(want.astype('<i4').tobytes()).hexdigest()}")
if not same:
    n = min(len(got), len(want))
    at = int((got[:n] != want[:n]).argmax())
    print("first difference at id", at, got[at:at + 8], want[at:at + 8], repr(peer.decode(want[max(0, at - 8):at + 8].tolist())))
    raise SystemExit(1)
