package configs

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestKeysAreFrozen keeps the keys, types and defaults of a run file: a change of them is a change of every user's file.
func TestKeysAreFrozen(t *testing.T) {
	const golden = "testdata/keys.txt"
	var b strings.Builder
	for _, k := range Describe() {
		b.WriteString(k.Key + "\t" + k.Type + "\t" + k.Default + "\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the keys differ from %s (go test ./configs -update writes it):\n%s", golden, b.String())
	}
}

func TestEveryKeyHasOneLine(t *testing.T) {
	described := Describe()
	for _, k := range described {
		if k.Doc == "" || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: wants one line of text in docs.go, has %q", k.Key, k.Doc)
		}
	}
	if len(docs) != len(described) {
		t.Errorf("docs.go has %d keys and a run file %d", len(docs), len(described))
	}
}

// TestDefaultsAreValid reads an empty file, which is all defaults.
func TestDefaultsAreValid(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "---\n", "\ufeff", "{}"} {
		l, err := Parse("empty.yaml", []byte(src), nil)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if d := Diff(Default().Resolved(), l.Run); len(d) > 0 {
			t.Errorf("%q: %v", src, d)
		}
	}
}

// TestAllowedWords wants the words of every key that has a rule for them, and no others to be taken.
func TestAllowedWords(t *testing.T) {
	restricted := 0
	for _, k := range Describe() {
		if k.Type != "text" {
			if k.Allowed != nil {
				t.Errorf("%s is a %s with words", k.Key, k.Type)
			}
			continue
		}
		if k.Allowed == nil {
			if !slices.Contains([]string{"name", "init_from", "data.tokenizer.file", "data.field", "data.cache", "train.sample.prompt"}, k.Key) {
				t.Errorf("%s has no list of words", k.Key)
			}
			continue
		}
		restricted++
		if !slices.Contains(k.Allowed, k.Default) {
			t.Errorf("%s: the default %s is not among %v", k.Key, k.Default, k.Allowed)
		}
	}
	if restricted < 15 {
		t.Errorf("%d keys have words", restricted)
	}
}
