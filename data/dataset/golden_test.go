package dataset

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/data"
)

// TestPlainTextKeepsItsBits holds the shards of plain text, under their names, to those that the first version of this package wrote, so that
// caches and checkpoints of any version are those of every other. Texts are short, as long as several stretches, or between; they come from
// files and standard input, and are divided in every way.
func TestPlainTextKeepsItsBits(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 40 {
		write(t, fmt.Sprintf("many/%02d.txt", i), fmt.Sprint(i, " ", words(100+37*i)))
	}
	write(t, "mixed/a.md", "\xEF\xBB\xBF"+words(5000))
	write(t, "mixed/b.txt", words(5<<20))
	write(t, "mixed/c.txt", words(300))
	write(t, "mixed/d.txt", "")
	write(t, "one.txt", words(9<<20))
	write(t, "line.txt", strings.Repeat("word ", 1<<20))
	write(t, "bad.txt", words(700)+"\xFF\xFE\xFF "+words(700))
	for _, test := range []struct {
		name, train string
		set         func(c *data.Config)
		want        string
	}{
		{"many by hash", "many", nil, "847e9ba685a46e40"},
		{"many by end", "many", func(c *data.Config) { c.Val.By, c.Val.Fraction = "end", 0.3 }, "170cf2c832d860c5"},
		{"mixed by hash", "mixed", func(c *data.Config) { c.Val.Fraction = 0.5 }, "02823bdea496d92b"},
		{"mixed by end", "mixed", func(c *data.Config) { c.Val.By, c.Val.Fraction = "end", 0.4 }, "0c2718ef50c6c1c6"},
		{"mixed, and files of its own", "mixed", func(c *data.Config) { c.Val.Files = []string{"mixed/b.txt"} }, "4e9aca83949b73e7"},
		{"one", "one.txt", func(c *data.Config) { c.Tokenizer.Kind = "byte" }, "018a62ccfc2dcd25"},
		{"one beside many", "one.txt", func(c *data.Config) { c.Val.Files = []string{"many"} }, "70c2c094c7d72f09"},
		{"standard input", "-", func(c *data.Config) { c.Val.Fraction = 0.37 }, "e299b96c1ad3795a"},
		{"no line ends", "line.txt", func(c *data.Config) { c.Val.Fraction = 0.5 }, "6054c84a5e56dbba"},
		{"replaced", "bad.txt", func(c *data.Config) { c.Invalid = "replace" }, "b7e84aa4c876868e"},
	} {
		cfg := data.Default()
		cfg.Train = []string{test.train}
		cfg.Tokenizer.Kind, cfg.Tokenizer.Vocab = "gpt2", 300
		if test.set != nil {
			test.set(&cfg)
		}
		if err := os.RemoveAll("cache"); err != nil {
			t.Fatal(err)
		}
		one, err := os.ReadFile("one.txt")
		if err != nil {
			t.Fatal(err)
		}
		d, err := Open(cfg, Options{Dir: "cache", Stdin: bytes.NewReader(one)})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		stats := fmt.Sprint(d.Stats)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		fmt.Fprintln(sum, stats)
		shards, _ := filepath.Glob("cache/*.tokens")
		for _, path := range shards {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(sum, filepath.Base(path), len(content))
			sum.Write(content)
		}
		if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != test.want || len(shards) != 2 {
			t.Errorf("%s: %s, want %s; %d shards, %s", test.name, got, test.want, len(shards), stats)
		}
	}
}
