package train

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"prenorm/configs/problem/problemtest"
	"prenorm/data/token"
	"prenorm/train/checkpoint"
)

// tokenizers has one of every kind, and of kind char both ways to meet what it does not know.
func tokenizers(t testing.TB) map[string]token.Tokenizer {
	t.Helper()
	const text = "The norm's place, before or after: 12 blocks … is it “one” word?\n\tNo.  é 東\r\n"
	all := map[string]token.Tokenizer{}
	for _, kind := range token.Kinds() {
		for _, unknown := range []string{"fail", "unk"} {
			k, err := token.New(token.Config{Kind: kind, Vocab: 300, Unknown: unknown}, func(yield func([]byte, error) bool) { yield([]byte(strings.Repeat(text, 4)), nil) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			all[kind+" "+unknown] = k
		}
	}
	return all
}

// FuzzPrompt encodes any bytes as a prompt, with every tokenizer: ids of the vocabulary that stand for the same bytes, or an error that says
// which byte it is.
func FuzzPrompt(f *testing.F) {
	all := tokenizers(f)
	for _, s := range []string{"", "The", "\x00", "\xff\xfe", "<|endoftext|>", "e\u0301\u200d🙂", "\ufffd", "\xed\xa0\x80", "é\xc3", strings.Repeat(" ", 300), "\r\n\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		for name, k := range all {
			problemtest.Bounded(t, len(prompt), 200, func() {
				ids, err := PromptIDs(k, prompt)
				if err != nil {
					problemtest.Says(t, err, "tokenizer char: ", "byte ")
					if name != "char fail" {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				if len(ids) == 0 {
					t.Fatalf("%s: no id to begin with", name)
				}
				for _, id := range ids {
					if id < 0 || int(id) >= k.Vocab() {
						t.Fatalf("%s: id %d of %d", name, id, k.Vocab())
					}
				}
				if back, err := k.Decode(nil, ids...); err != nil || prompt != "" && string(back) != prompt && !(name == "char unk" && utf8.Valid(back)) {
					t.Fatalf("%s: %q became %q, %v", name, prompt, back, err)
				}
			})
		}
	})
}

// FuzzState reads any bytes as the state in a checkpoint: refused with the checkpoint's name, or a step and tokens that a run can have.
func FuzzState(f *testing.F) {
	whole, err := json.Marshal(State{Step: 7, Tokens: 9, Seed: 5})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, int64(7))
	for _, s := range []string{"", "null", "[]", `{"step":7,"tokens":-1}`, `{"step":-7}`, `{"step":1e3}`, `{"step":7,"cursor":{"epoch":-1,"window":9223372036854775807}}`, `{"step":7,"step":8}`} {
		f.Add([]byte(s), int64(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, step int64) {
		problemtest.Bounded(t, len(data), 100, func() {
			state, err := stateOf(&checkpoint.Loaded{Dir: "run/step-7", Step: step, State: bytes.Clone(data)}, "checkpoint run/step-7")
			if err != nil {
				problemtest.Says(t, err, "checkpoint run/step-7: state.json")
			} else if state.Step != step || state.Step < 0 || state.Tokens < 0 {
				t.Errorf("%+v of step %d", state, step)
			}
		})
	})
}
