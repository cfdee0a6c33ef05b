"""Holds what prenorm tokenizer export writes against Hugging Face's libraries tokenizers and transformers: ids and decoding. See README.md."""
import argparse, os, subprocess
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import tokenizers, transformers
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

p = argparse.ArgumentParser()
p.add_argument("--prenorm", required=True, help="the program")
p.add_argument("--text", required=True, help="UTF-8, with special tokens as text")
p.add_argument("--tmp", default="/tmp")
p.add_argument("tokenizers", nargs="+", help="kinds, files or runs' folders")
a = p.parse_args()
raw = open(a.text, "rb").read()
text = raw.decode()


def prenorm(*args, data=b""):
    return subprocess.run([a.prenorm, "tokenizer", *args], input=data, capture_output=True)


def ids(name, *flags):
    r = prenorm("encode", a.text, "--tokenizer", name, *flags)
    return [int(word) for word in r.stdout.split()] if r.returncode == 0 else None


same = True
for name in a.tokenizers:
    file = f"{a.tmp}/export.json"
    r = prenorm("export", "--tokenizer", name, "--out", file, "--force")
    if r.returncode:
        raise SystemExit(r.stderr.decode())
    plain = ids(name)
    special = ids(name, "--special") or plain  # a kind without special tokens
    rust, rust_plain, fast = Tokenizer.from_file(file), Tokenizer.from_file(file), PreTrainedTokenizerFast(tokenizer_file=file)
    rust_plain.encode_special_tokens = True
    text_of = lambda i: prenorm("decode", "--tokenizer", name, data=" ".join(map(str, i)).encode()).stdout.decode()
    back = text_of(plain)
    found = {
        "special tokens found": special == rust.encode(text).ids,
        "and not looked for": plain == rust_plain.encode(text).ids,
        "transformers": special == fast(text)["input_ids"],
        "transformers, split_special_tokens": plain == fast(text, split_special_tokens=True)["input_ids"],
        "decoding": rust.decode(plain, skip_special_tokens=False) == back == fast.decode(plain),
        "decoding special tokens": rust.decode(special, skip_special_tokens=False) == text_of(special) == fast.decode(special),
    }
    print(f"{name}: {len(plain)} ids, {len(special)} with special tokens, of {len(raw) / 1e6:.1f} MB, tokenizers {tokenizers.__version__}, "
          f"transformers {transformers.__version__}: " + ("equal" if all(found.values()) else "DIFFER in " + "; ".join(k for k, ok in found.items() if not ok))
          + ("" if back == text else ", the text does not come back"))
    same = same and all(found.values())
raise SystemExit(0 if same else 1)
