"""Holds training, and the ids of what was trained, against Hugging Face's library tokenizers, on the files of a folder. See README.md."""
import argparse, glob, hashlib, json, subprocess, time
import numpy, tokenizers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

p = argparse.ArgumentParser()
p.add_argument("--peers", required=True)
p.add_argument("--texts", required=True, help="a folder of texts")
p.add_argument("--vocab", type=int, default=32000)
p.add_argument("--pattern", default="gpt2")
p.add_argument("--check", help="a text whose ids are compared too")
p.add_argument("--tmp", default="/tmp")
a = p.parse_args()

out = f"{a.tmp}/trained.json"
ours = float(subprocess.run([a.peers, "-do", "train", "-in", a.texts, "-vocab", str(a.vocab), "-pattern", a.pattern, "-out", out],
                            check=True, capture_output=True).stdout)
written = json.load(open(out))
read = Tokenizer.from_file(out)

texts = [open(name, "rb").read().decode() for name in sorted(glob.glob(a.texts + "/*"))]
size = sum(len(t.encode()) for t in texts)
peer = Tokenizer(models.BPE())
peer.pre_tokenizer = read.pre_tokenizer
trainer = trainers.BpeTrainer(vocab_size=a.vocab, min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False,
                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
start = time.perf_counter()
peer.train_from_iterator(texts, trainer)
theirs = time.perf_counter() - start
pairs = [m if isinstance(m, str) else " ".join(m) for m in json.loads(peer.to_str())["model"]["merges"]]
mine = written["model"]["merges"]
# prenorm makes no token of more than 256 bytes, so the lists may part at the first that is longer.
long = next((i for i, m in enumerate(pairs) if len(m) - 1 > 256), len(pairs))
same = pairs[:long] == mine[:long] and (long < len(pairs) or len(pairs) == len(mine))
print(f"training to {a.vocab} ids, {a.pattern}: {size / 1e6:.0f} MB, {len(pairs)} merges, prenorm {ours:.1f} s ({size / 1e6 / ours:.1f} MB/s), "
      f"tokenizers {tokenizers.__version__} {theirs:.1f} s ({size / 1e6 / theirs:.1f} MB/s), {theirs / ours:.2f} times, "
      + ("merges equal" if same else "merges DIFFER") + (f" up to number {long}, which makes more than 256 bytes" if long < len(pairs) else ""))
if not same:
    at = next((i for i, (x, y) in enumerate(zip(pairs, mine)) if x != y), min(len(pairs), len(mine)))
    print("first difference at merge", at, pairs[at:at + 3], mine[at:at + 3])

if a.check:
    text = open(a.check, "rb").read().decode()
    peer.decoder = decoders.ByteLevel()
    peer.save(f"{a.tmp}/theirs.json")
    for name, tokenizer, file in (("written by prenorm", read, out), ("written by tokenizers", peer, f"{a.tmp}/theirs.json")):
        tokenizer.encode_special_tokens = True
        subprocess.run([a.peers, "-do", "encode", "-tokenizer", file, "-in", a.check, "-out", f"{a.tmp}/check.ids"], check=True, capture_output=True)
        got = numpy.fromfile(f"{a.tmp}/check.ids", dtype="<i4").tolist()
        want = tokenizer.encode(text, add_special_tokens=False).ids
        equal = got == want
        print(f"{name}: {len(want)} ids of {len(text.encode()) / 1e6:.1f} MB {'equal' if equal else 'DIFFER'}, "
              f"SHA-256 {hashlib.sha256(numpy.array(want, dtype='<i4').tobytes()).hexdigest()}")
        if not equal:
            at = next((i for i, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
            print("first difference at id", at, repr(tokenizer.decode(want[max(0, at - 4):at + 6])), got[at:at + 6], want[at:at + 6])
        same = same and equal
raise SystemExit(0 if same else 1)
