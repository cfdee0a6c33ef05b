package configs

import (
	"math"
	"strings"
	"testing"

	"prenorm/model"
)

// TestRules breaks one rule at a time, by --set on the defaults, and expects its message. Several settings are divided by " ; ".
func TestRules(t *testing.T) {
	for _, c := range []struct{ sets, want string }{
		{"model.layers=0", "model.layers: 0 is out of range (1 to 1000)"},
		{"model.width=65537 ; model.head_dim=2", "model.width: 65537 is out of range (1 to 65536)"},
		{"model.width=-128", "model.width: -128 is out of range (1 to 65536)"},
		{"model.heads=0", "model.heads: 0 is out of range (1 to 4096)"},
		{"model.heads=3", "model.heads: 3 does not divide width 128 (try 2 or 4)"},
		{"model.heads=256", "model.heads: 256 does not divide width 128 (try 64)"},
		{"model.heads=128", "model.heads: 128 leaves each head 1 features of width 128, an odd number, and rope turns pairs (try 64)"},
		{"model.heads=128 ; model.position.kind=learned", ""},
		{"model.heads=5 ; model.head_dim=20", ""},
		{"model.head_dim=33", "model.head_dim: 33 is odd and rope turns pairs of features (try 34)"},
		{"model.head_dim=33 ; model.position.kind=learned", ""},
		{"model.head_dim=-2", "model.head_dim: -2 is out of range (0 to 65536)"},
		{"model.kv_heads=3", "model.kv_heads: 3 does not divide heads 4 (try 2 or 4)"},
		{"model.kv_heads=8", "model.kv_heads: 8 does not divide heads 4 (try 4)"},
		{"model.kv_heads=-1", "model.kv_heads: -1 is out of range (0 to 4096)"},
		{"model.ffn=-1", "model.ffn: -1 is out of range (0 to 524288)"},
		{"model.context=0", "model.context: 0 is out of range (1 to 1048576)"},
		{"model.vocab=16777217", "model.vocab: 16777217 is out of range (0 to 16777216)"},
		{"model.vocab=1", "model.vocab: 1 leaves nothing to predict (2 or more, or 0 for the tokenizer's)"},
		{"model.vocab=1000", "model.vocab: 1000 is smaller than the bpe tokenizer's 1024 (0 takes the tokenizer's)"},
		{"model.vocab=1000 ; data.tokenizer.file=t.json", ""},
		{"model.vocab=255 ; data.tokenizer.kind=byte", "model.vocab: 255 is smaller than the byte tokenizer's 256 (0 takes the tokenizer's)"},
		{"model.vocab=50256 ; data.tokenizer.kind=gpt2", "model.vocab: 50256 is smaller than the gpt2 tokenizer's 50257 (0 takes the tokenizer's)"},
		{"model.vocab=60 ; data.tokenizer.kind=char", ""},
		{"model.norm.kind=groupnorm", `model.norm.kind: "groupnorm" is not known (allowed: rmsnorm, layernorm, dyt, batchnorm)`},
		{"model.norm.placement=", `model.norm.placement: "" is not known (allowed: ` + strings.Join(model.Placements(), ", ") + ")"},
		{"model.norm.eps=0.1", "model.norm.eps: 0.1 is out of range (above 0, up to 0.01)"},
		{"model.norm.kind=batchnorm ; model.norm.momentum=0", "model.norm.momentum: 0 is out of range (above 0, up to 1)"},
		{"model.mlp=relu", `model.mlp: "relu" is not known (allowed: swiglu, geglu, gelu_tanh)`},
		{"model.position.kind=alibi", `model.position.kind: "alibi" is not known (allowed: rope, learned)`},
		{"model.position.theta=0", "model.position.theta: 0 is out of range (above 0, up to 1000000000000)"},
		{"model.position.theta=[1e4, -1]", "model.position.theta: value 2: -1 is out of range (above 0, up to 1000000000000)"},
		{"model.position.theta=[]", "model.position.theta: is empty (one value for every layer, or a pattern repeated over the layers)"},
		{"model.position.scaling.kind=dynamic", `model.position.scaling.kind: "dynamic" is not known (allowed: none, linear, ntk, llama3, yarn)`},
		{"model.position.scaling.factor=2", "model.position.scaling.factor: 2 does nothing with kind none (1, or one of the kinds linear, ntk, llama3, yarn)"},
		{"model.position.scaling.factor=0.5", "model.position.scaling.factor: 0.5 is out of range (from 1 to 1000000)"},
		{"model.position.scaling={kind: linear, factor: 2}", ""},
		{"model.position.scaling={kind: llama3, factor: 8, original: 64}", ""},
		{"model.position.scaling={kind: llama3, original: 64, low_freq: 4} ; model.position.scaling.high_freq=4",
			"model.position.scaling.high_freq: 4 is not above low_freq 4"},
		{"model.position.kind=learned ; model.position.scaling.kind=ntk",
			"model.position.scaling.kind: ntk scales rope and position.kind is learned (none, or position.kind rope)"},
		{"model.attention.qk_norm=all", `model.attention.qk_norm: "all" is not known (allowed: none, head, full)`},
		{"model.norm.placement=hybrid", ""},
		{"model.norm.placement=hybrid ; model.attention.qk_norm=head", "model.attention.qk_norm: head, and placement hybrid norms queries and keys itself (none)"},
		{"model.norm.placement=hybrid ; model.attention.qk_norm=full", "model.attention.qk_norm: full, and placement hybrid norms queries and keys itself (none)"},
		{"model.norm.placement=olmo2 ; model.attention.qk_norm=full", ""},
		{"model.norm.placement=mix ; model.layers=3", "model.norm.placement: mix needs 4 layers and the model has 3 (more layers, or another placement)"},
		{"model.norm.placement=mix ; model.layers=4", ""},
		{"model.norm.placement=lns ; model.layers=1", ""},
		{"model.attention.window=[1, 2, 3, 4, 5]", "model.attention.window: has 5 values for 4 layers (at most one a layer)"},
		{"model.attention.window=-1", "model.attention.window: -1 is out of range (0 to 1048576)"},
		{"model.attention.scale=-1", "model.attention.scale: -1 is out of range (from 0 to 1000000)"},
		{"model.attention.softcap=-1", "model.attention.softcap: -1 is out of range (from 0 to 1000000)"},
		{"model.bias=some", `model.bias: "some" is not known (allowed: none, qkv, all)`},
		{"model.logit_softcap=-30", "model.logit_softcap: -30 is out of range (from 0 to 1000000)"},
		{"model.dropout=1", "model.dropout: 1 is out of range (from 0 to below 1)"},
		{"model.init.kind=he", `model.init.kind: "he" is not known (allowed: auto, fan_in, xavier, gpt2)`},
		{"model.init.std=0", "model.init.std: 0 is out of range (above 0, up to 10)"},
		{"model.init.residual=deep", `model.init.residual: "deep" is not known (allowed: auto, scaled, plain)`},

		{"data.train=[a, '']", "data.train: entry 2 is empty (a file, glob or folder)"},
		{"data.val.fraction=0", "data.val.fraction: 0 is out of range (above 0, below 1, or name separate files in val.files)"},
		{"data.val.fraction=0 ; data.val.files=v.txt", ""},
		{"data.tokenizer.kind=tiktoken", `data.tokenizer.kind: "tiktoken" is not known (allowed: bpe, byte, char, cl100k, gpt2, o200k, p50k)`},
		{"data.tokenizer.vocab=257", "data.tokenizer.vocab: 257 is out of range (258 to 1048576)"},
		{"data.tokenizer.vocab=257 ; data.tokenizer.kind=byte", ""},
		{"data.tokenizer.unknown=skip", `data.tokenizer.unknown: "skip" is not known (allowed: fail, unk)`},
		{"data.invalid_utf8=ignore", `data.invalid_utf8: "ignore" is not known (allowed: drop, fail, replace)`},
		{"data.newlines=crlf", `data.newlines: "crlf" is not known (allowed: fold, keep)`},
		{"data.nul=replace", `data.nul: "replace" is not known (allowed: drop, fail, keep)`},
		{"data.field=meta.", `data.field: "meta." has an empty name in it (a key such as text, or meta.text for a key inside another)`},
		{"data.format=xml", `data.format: "xml" is not known (allowed: txt, jsonl, csv, tsv, parquet, tar, txt.gz, jsonl.gz, csv.gz, tsv.gz, parquet.gz, tar.gz, txt.zst, jsonl.zst, csv.zst, tsv.zst, parquet.zst, tar.zst)`},
		{"data.format=csv.gz ; data.field=body", ""},

		{"train.steps=0", "train.steps: 0 is out of range (1 to 1073741824)"},
		{"train.batch=0", "train.batch: 0 is out of range (1 to 65536)"},
		{"train.accumulate=65537", "train.accumulate: 65537 is out of range (1 to 65536)"},
		{"train.batch=65536 ; model.context=1e6", "train.batch: 65536 sequences of context 1000000 are more than 2147483647 tokens in a pass (lower one of them)"},
		{"train.batch=65536 ; train.accumulate=65536 ; train.steps=1e9", "train.steps: 1000000000 steps are 5.5e+20 tokens, more than 2^60 (lower steps, batch or accumulate)"},
		{"train.optimizer.kind=adam", `train.optimizer.kind: "adam" is not known (did you mean adamw? allowed: adamw, sgd)`},
		{"train.optimizer.lr=0", "train.optimizer.lr: 0 is out of range (above 0, up to 10)"},
		{"train.optimizer.betas=[0.9, 0.95, 0.99]", "train.optimizer.betas: wants exactly two values, such as [0.9, 0.95], not 3"},
		{"train.optimizer.betas=[-0.1, 0.95]", "train.optimizer.betas: value 1: -0.1 is out of range (from 0 to below 1)"},
		{"train.optimizer.eps=0", "train.optimizer.eps: 0 is out of range (above 0, up to 1)"},
		{"train.optimizer.momentum=1", "train.optimizer.momentum: 1 is out of range (from 0 to below 1)"},
		{"train.optimizer.weight_decay=-1", "train.optimizer.weight_decay: -1 is out of range (from 0 to 10)"},
		{"train.schedule.kind=cosin", `train.schedule.kind: "cosin" is not known (did you mean cosine? allowed: constant, cosine, linear, wsd)`},
		{"train.schedule.warmup=1001", "train.schedule.warmup: 1001 leaves none of 1000 steps at the full rate (0 to 999, or -1 for a tenth of the steps)"},
		{"train.schedule.min=1.1", "train.schedule.min: 1.1 is out of range (from 0 to 1)"},
		{"train.schedule.decay=0", "train.schedule.decay: 0 is out of range (above 0, up to 1)"},
		{"train.schedule={kind: wsd, warmup: 801}  ; train.schedule.decay=0.2", "train.schedule.decay: 0.2 of 1000 steps and warmup 801 overlap (decay + warmup/steps is at most 1)"},
		{"train.schedule={kind: wsd, warmup: 800}", ""},
		{"train.clip=-1", "train.clip: -1 is out of range (from 0 to 1000000)"},
		{"train.eval.every=-1", "train.eval.every: -1 is out of range (0 to 1073741824)"},
		{"train.eval.windows=-1", "train.eval.windows: -1 is out of range (0 to 2147483647)"},
		{"train.sample.every=-1", "train.sample.every: -1 is out of range (0 to 1073741824)"},
		{"train.sample.tokens=-1", "train.sample.tokens: -1 is out of range (0 to 1048576)"},
		{"train.sample.temperature=-1", "train.sample.temperature: -1 is out of range (from 0 to 100)"},
		{"train.sample.top_k=-1", "train.sample.top_k: -1 is out of range (0 to 2147483647)"},
		{"train.inspect.every=-1", "train.inspect.every: -1 is out of range (0 to 1073741824)"},
		{"train.log.every=-1", "train.log.every: -1 is out of range (0 to 1073741824)"},
		{"checkpoint.every=-1", "checkpoint.every: -1 is out of range (0 to 1073741824)"},
		{"checkpoint.keep=-1", "checkpoint.keep: -1 is out of range (0 to 2147483647)"},
		{"checkpoint.minutes=-1", "checkpoint.minutes: -1 is out of range (from 0 to 1000000)"},
		{"checkpoint.keep_best=-1", "checkpoint.keep_best: -1 is out of range (0 to 1000)"},
		{"checkpoint.keep_every=-1", "checkpoint.keep_every: -1 is out of range (0 to 1073741824)"},
		{"checkpoint.background=no", `checkpoint.background: "no" is not known (allowed: auto, always, never)`},

		{"name=../up", `name: "../up" cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)`},
		{"name=nul.txt", `name: "nul.txt" cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)`},
		{"name=a.", `name: "a." cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)`},
		{"name=", `name: "" cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)`},
		{"name=run-1.b_c", ""},
		{"precision=fp16", `precision: "fp16" is not known (allowed: fp32, tf32, bf16)`},
		{"precision=bf16", ""},
		{"precision=tf32 ; device=cuda", ""},
		{"precision=bf16 ; device=cpu", "precision: bf16 needs a GPU and device is cpu (--set precision=fp32, or device: cuda)"},
		{"precision=fp32 ; device=cpu", ""},
		{"kernels.matmul=mkl", `kernels.matmul: "mkl" is not known (allowed: auto, own, cublas)`},
		{"kernels.matmul=cublas", ""},
		{"workers=-1", "workers: -1 is out of range (0 to 4096)"},
	} {
		sets := strings.Split(c.sets, " ; ")
		for i := range sets {
			sets[i] = strings.TrimSpace(sets[i])
		}
		got := messages(t, "", sets...)
		if c.want == "" {
			if len(got) > 0 {
				t.Errorf("%s: %s", c.sets, strings.Join(got, "\n"))
			}
			continue
		}
		if len(got) != 1 {
			t.Errorf("%s: %d problems:\n%s", c.sets, len(got), strings.Join(got, "\n"))
			continue
		}
		key, what, _ := strings.Cut(c.want, ": ")
		if !strings.HasSuffix(got[0], ": "+what) || !strings.Contains(got[0], key) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.sets, got[0], c.want)
		}
	}
}

// TestRulesOnWildValues calls the rules and the derived sizes on values that no run file can hold.
func TestRulesOnWildValues(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		r := Default()
		m := &r.Model
		m.Layers, m.Width, m.Heads, m.KVHeads, m.HeadDim, m.FFN, m.Context, m.Vocab = n, n, n, n, n, n, n, n
		m.Dropout, m.Norm.Eps = math.NaN(), math.Inf(1)
		m.Position.Theta, m.Attention.Window, r.Train.Optimizer.Betas = nil, nil, nil
		r.Train.Steps, r.Train.Batch, r.Train.Schedule.Warmup = n, n, n
		r = r.Resolved()
		if len(r.Problems()) == 0 {
			t.Errorf("sizes of %d pass", n)
		}
		r.YAML()
	}
}

func TestDerivedSizes(t *testing.T) {
	for _, c := range []struct {
		width, heads int
		mlp          string
		dim, ffn     int
	}{
		{128, 4, "swiglu", 32, 352},
		{288, 6, "swiglu", 48, 768},
		{768, 12, "geglu", 64, 2048},
		{512, 8, "swiglu", 64, 1376},
		{768, 12, "gelu_tanh", 64, 3072},
	} {
		m := model.Default()
		m.Width, m.Heads, m.MLP = c.width, c.heads, c.mlp
		r := m.Resolved()
		if r.KVHeads != c.heads || r.HeadDim != c.dim || r.FFN != c.ffn || r.Vocab != 0 || r.Attention.Scale != 0 {
			t.Errorf("%v: got %+v", c, r)
		}
		m.KVHeads, m.HeadDim, m.FFN = 2, 10, 7
		if r := m.Resolved(); r.KVHeads != 2 || r.HeadDim != 10 || r.FFN != 7 {
			t.Errorf("given sizes change: %+v", r)
		}
	}
}
