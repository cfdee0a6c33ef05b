package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/token"
)

// TestVerify proves every kind's ids, once for each text and tokenizer.
func TestVerify(t *testing.T) {
	for _, kind := range token.Kinds() {
		r := newRun(t)
		r.cfg.Tokenizer.Kind = kind
		if kind == "char" {
			r.cfg.Val.Files = nil // characters that training text lacks are an error
			r.cfg.Val.By, r.cfg.Val.Fraction = "hash", 0.5
			write(t, "text/b.txt", words(3001))
		}
		plain := r.open(t)
		r.cfg.Verify = true
		if got := r.open(t); got != plain || r.did() != "verifying training text, verifying validation text" {
			t.Errorf("%s: verifying did %q", kind, r.did())
		}
		if got := r.open(t); got != plain || r.did() != "" {
			t.Errorf("%s: a second time it did %q", kind, r.did())
		}
		if err := os.RemoveAll("run"); err != nil {
			t.Fatal(err)
		}
		if got := r.open(t); got != plain || strings.Contains(r.did(), "verifying") {
			t.Errorf("%s: anew it did %q", kind, r.did())
		}
		if proofs, _ := filepath.Glob("run/*" + proof); len(proofs) != 2 {
			t.Errorf("%s: proofs %v", kind, proofs)
		}
	}
}

// TestVerifySources proves the text of every source, and has nothing to prove of ids that come without a text.
func TestVerifySources(t *testing.T) {
	r := newRun(t)
	write(t, "a.bin", uint16s(1, 2, 3, 4, 5, 6))
	r.cfg.Tokenizer.Kind, r.cfg.Train, r.cfg.Val.Files, r.cfg.Val.By = "gpt2", nil, nil, "end"
	r.cfg.Sources = []data.Source{{Name: "text", Train: []string{"text"}, Val: []string{"val.txt"}, Weight: 1}, {Name: "ids", Train: []string{"a.bin"}, Weight: 1}}
	r.cfg.Val.Fraction = 0.5
	plain := r.open(t)
	r.cfg.Verify = true
	if got := r.open(t); got != plain || r.did() != "verifying training text, verifying validation text" {
		t.Errorf("verifying did %q", r.did())
	}
	if got := r.open(t); got != plain || r.did() != "" {
		t.Errorf("a second time it did %q", r.did())
	}
}

// TestVerifyFindsALoss has a tokenizer that loses what it does not know.
func TestVerifyFindsALoss(t *testing.T) {
	r := newRun(t)
	r.cfg.Tokenizer.Kind, r.cfg.Tokenizer.Unknown = "char", "unk"
	write(t, "val.txt", strings.Repeat("the norm ", 40_000)+"the Ж norm"+strings.Repeat(" the norm", 40_000))
	r.open(t)
	r.cfg.Verify = true
	for range 2 {
		_, err := Open(r.cfg, r.opt)
		if !errors.Is(err, errLost) {
			t.Fatalf("error %v", err)
		}
		for _, part := range []string{"val.txt", "data.verify", "at byte 360004 of the document", `"Ж norm the norm"`, "\ufffd norm the n"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not say %q", err, part)
			}
		}
		if err := os.RemoveAll("run"); err != nil {
			t.Fatal(err)
		}
	}
	r.cfg.Verify = false
	r.open(t)
}

// TestVerifyGoesOn stops the encoding of a text within it, without data.verify and with it, and goes on in the other way or in the same: proved is
// what was proved from its start, in one run or in several.
func TestVerifyGoesOn(t *testing.T) {
	marks(t, 200_000)
	for _, c := range []struct {
		first, then bool
		verifies    bool // all of it afterwards
	}{{false, true, true}, {true, true, false}, {true, false, false}, {false, false, false}} {
		r := newRun(t)
		rows(t, 1500)
		r.cfg.Verify = c.first
		r.stopWithin(t, "encoding training text", 700_000)
		r.cfg.Verify = c.then
		r.open(t)
		if len(r.notes) != 1 || !strings.Contains(r.notes[0], "going on after") {
			t.Errorf("%+v: notes %q", c, r.notes)
		}
		if did := strings.Contains(r.did(), "verifying training text"); did != c.verifies {
			t.Errorf("%+v: did %q", c, r.did())
		}
		if proofs, _ := filepath.Glob("run/train-*" + proof); (len(proofs) == 1) != c.then {
			t.Errorf("%+v: proofs %v", c, proofs)
		}
	}
}

// TestVerifyFindsAnEarlierLoss has the loss in the part that was encoded without proof.
func TestVerifyFindsAnEarlierLoss(t *testing.T) {
	marks(t, 200_000)
	r := newRun(t)
	r.cfg.Tokenizer.Kind, r.cfg.Tokenizer.Unknown = "char", "unk"
	write(t, "val.txt", "the Ж norm"+strings.Repeat(" the norm", 200_000))
	r.stopWithin(t, "encoding validation text", 700_000)
	r.cfg.Verify = true
	for range 2 {
		if _, err := Open(r.cfg, r.opt); !errors.Is(err, errLost) {
			t.Errorf("error %v", err)
		}
	}
}
