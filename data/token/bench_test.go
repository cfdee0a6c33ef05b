package token

import (
	"go/build"
	"os"
	"path/filepath"
	"testing"

	"prenorm/data/token/varied"
)

// opticks is the longest plain text that every Go installation has: Newton's Opticks, 567 kB.
func opticks(b *testing.B) []byte {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(build.Default.GOROOT, "src", "testdata", "Isaac.Newton-Opticks.txt"))
	if err != nil {
		b.Skip(err)
	}
	return text
}

func BenchmarkTrainBPE(b *testing.B) {
	text := opticks(b)
	for _, c := range []struct {
		name  string
		vocab int
	}{{"1k", 1024}, {"8k", 8192}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := New(Config{Kind: "bpe", Vocab: c.vocab}, one(string(text)), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	text := opticks(b)
	for _, kind := range Kinds() {
		b.Run(kind, func(b *testing.B) {
			tokenizer, err := New(Config{Kind: kind, Vocab: 1024}, one(string(text)), nil)
			if err != nil {
				b.Fatal(err)
			}
			var ids []int32
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if ids, err = tokenizer.Encode(ids[:0], text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(text))/float64(len(ids)), "bytes/id")
		})
	}
}

// BenchmarkEncodeVaried encodes text with few repeated words: what a cache does not help.
func BenchmarkEncodeVaried(b *testing.B) {
	text := varied.Text(1, 4<<20)
	for _, p := range publishedKinds {
		b.Run(p.kind, func(b *testing.B) {
			tokenizer, err := New(Config{Kind: p.kind}, nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			var ids []int32
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if ids, err = tokenizer.Encode(ids[:0], text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
