// Peers is this project's side of comparisons with other tokenizers; see README.md beside it.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"prenorm/data/token"
	"prenorm/data/token/varied"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	do := flag.String("do", "", "text, table, encode or train")
	size := flag.Int("bytes", 100_000_000, "text: how many bytes")
	seed := flag.Uint64("seed", 1, "text: the seed")
	name := flag.String("tokenizer", "", "table and encode: a kind or a file")
	in := flag.String("in", "", "encode: the text; train: a folder of texts")
	out := flag.String("out", "", "the file to write")
	vocab := flag.Int("vocab", 32000, "train: how many ids, the separator included")
	pattern := flag.String("pattern", "gpt2", "train: how text is split")
	flag.Parse()
	switch *do {
	case "text":
		return os.WriteFile(*out, varied.Text(*seed, *size), 0o666)
	case "table":
		return table(*name, *out)
	case "encode":
		return encode(*name, *in, *out)
	case "train":
		return train(*in, *out, *pattern, *vocab)
	}
	return fmt.Errorf("-do %q is none of: text, table, encode, train", *do)
}

// table writes a vocabulary as tiktoken reads it: the bytes of each token in base64, a space and its id.
func table(name, out string) error {
	t, err := token.Open(name)
	if err != nil {
		return err
	}
	special := map[int32]bool{}
	for _, s := range t.(token.WithSpecials).Specials() {
		special[s.ID] = true
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for id := range int32(t.Vocab()) {
		bytes, err := t.Decode(nil, id)
		if err != nil {
			return err
		}
		if len(bytes) > 0 && !special[id] {
			fmt.Fprintf(w, "%s %d\n", base64.StdEncoding.EncodeToString(bytes), id)
		}
	}
	return w.Flush()
}

// encode writes a text's ids as int32, little endian, and prints the seconds that one thread took for encoding alone.
func encode(name, in, out string) error {
	runtime.GOMAXPROCS(1)
	t, err := token.Open(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	start := time.Now()
	ids, err := t.Encode(nil, text)
	took := time.Since(start)
	if err != nil {
		return err
	}
	fmt.Println(took.Seconds())
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := binary.Write(w, binary.LittleEndian, ids); err != nil {
		return err
	}
	return w.Flush()
}

// train learns a vocabulary from the files of a folder, writes it as a tokenizer.json and prints the seconds that training took.
func train(in, out, pattern string, vocab int) error {
	names, err := filepath.Glob(filepath.Join(in, "*"))
	if err != nil {
		return err
	}
	var texts [][]byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	start := time.Now()
	t, err := token.Train(token.Training{Vocab: vocab, Pattern: pattern, Bytes: token.BytesAsGPT2}, func(yield func([]byte, error) bool) {
		for _, text := range texts {
			if !yield(text, nil) {
				return
			}
		}
	}, nil)
	took := time.Since(start)
	if err != nil {
		return err
	}
	fmt.Println(took.Seconds())
	file, err := token.MarshalHF(t)
	if err != nil {
		return err
	}
	return os.WriteFile(out, file, 0o666)
}
