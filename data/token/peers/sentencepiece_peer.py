"""Trains the SentencePiece models of data/token/testdata and holds ids against that library. See README.md."""
import argparse, hashlib, io, subprocess
import numpy, sentencepiece

p = argparse.ArgumentParser()
p.add_argument("--peers", required=True)
p.add_argument("--text", required=True, help="a text to train on and to compare")
p.add_argument("--out", required=True, help="the folder for the models")
p.add_argument("--tmp", default="/tmp")
a = p.parse_args()

text = open(a.text, "rb").read().decode()
# Models of few pieces: trained on the letters of a few alphabets, so that all else is unknown to them.
lines = ["".join(c for c in line if " " <= c < "\u0180" or "\u0410" <= c < "\u0450") for line in text.split("\n") if len(line.encode()) < 4000]
keep = dict(add_dummy_prefix=False, remove_extra_whitespaces=False, normalization_rule_name="identity")
failed = False
for name, options in {
    "bpe.model": dict(model_type="bpe", vocab_size=1500, byte_fallback=True, character_coverage=0.99, user_defined_symbols=["\n", "\n\n", "<user>", "\u2581\u2581"], **keep),
    "nofallback.model": dict(model_type="bpe", vocab_size=900, character_coverage=0.99, **keep),
    "unigram.model": dict(model_type="unigram", vocab_size=900, byte_fallback=True, **keep),
}.items():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines[:2000]), model_writer=model, minloglevel=2, num_threads=1, **options)
    path = f"{a.out}/{name}"
    open(path, "wb").write(model.getvalue())
    if name != "bpe.model":
        continue
    peer = sentencepiece.SentencePieceProcessor(model_file=path)
    clean = text.replace("\u2581", "_")
    open(f"{a.tmp}/clean.txt", "wb").write(clean.encode())
    want = numpy.array(peer.encode(clean), dtype="<i4")
    subprocess.run([a.peers, "-do", "encode", "-tokenizer", path, "-in", f"{a.tmp}/clean.txt", "-out", f"{a.tmp}/sp.ids"], check=True, capture_output=True)
    got = numpy.fromfile(f"{a.tmp}/sp.ids", dtype="<i4")
    same = len(got) == len(want) and bool((got == want).all())
    failed = failed or not same
    print(f"{name}: {len(want)} ids of sentencepiece {sentencepiece.__version__} {'equal' if same else 'DIFFER'}, SHA-256 {hashlib.sha256(want.tobytes()).hexdigest()}")
    if not same:
        n = min(len(got), len(want))
        at = int((got[:n] != want[:n]).argmax())
        print("first difference at id", at, [peer.id_to_piece(int(i)) for i in want[at - 3:at + 6]], [peer.id_to_piece(int(i)) for i in got[at - 3:at + 6]])
raise SystemExit(1 if failed else 0)
