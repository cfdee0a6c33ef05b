package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data/shard"
	"prenorm/data/token"
	"prenorm/train"
)

func newTokenizer() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokenizer",
		Short: "train, use, show and compare tokenizers",
		Long: `Train, use, show and compare tokenizers. A tokenizer is named by a kind that needs no training (byte, gpt2, p50k, cl100k, o200k) or by a file:
one of prenorm's, a tokenizer.json of Hugging Face's library tokenizers (byte-level BPE), a SentencePiece model (BPE) or nanoGPT's meta.pkl. What a file has that is not
supported is refused by its name. A run takes a file by data.tokenizer.file. The folder of a run, or of one checkpoint in it, is its tokenizer: the
checkpoint is read without its weights, and what is read must have its checksum. A kind goes before a file or folder of its name (./byte is none).`,
		Example: `  prenorm tokenizer train book.txt --vocab 8000 --out book.tok
  prenorm tokenizer encode book.txt --tokenizer book.tok > book.ids
  prenorm tokenizer decode book.ids --tokenizer book.tok
  prenorm tokenizer inspect --tokenizer runs/quickstart
  prenorm tokenizer compare book.txt --tokenizer book.tok --tokenizer gpt2 --tokenizer tokenizer.json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []func() *cobra.Command{newTokenizerTrain, newTokenizerEncode, newTokenizerDecode, newTokenizerInspect, newTokenizerCompare, newTokenizerExport} {
		cmd.AddCommand(c())
	}
	return cmd
}

// tokenizerFlag is --tokenizer for one.
func tokenizerFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "tokenizer", "", "a `kind|file|run`, see prenorm tokenizer --help")
	must(cmd.RegisterFlagCompletionFunc("tokenizer", completeTokenizer))
}

func openTokenizer(cmd *cobra.Command, name string) (token.Tokenizer, error) {
	if name == "" {
		return nil, wrongUsage(cmd, "--tokenizer is missing: name a kind, a file, or the folder of a run or checkpoint")
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() && !slices.Contains(token.Kinds(), name) {
		t, refused, err := train.OpenTokenizer(name)
		noteRefused(cmd, refused)
		return t, err
	}
	t, err := token.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: name one of these, or the folder of a run or checkpoint", err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// eachInput calls f with every file that is named, or with standard input where none is or where it is named -.
func eachInput(cmd *cobra.Command, names []string, f func(name string, r io.Reader) error) error {
	if len(names) == 0 {
		names = []string{"-"}
	}
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return wrongUsage(cmd, "- is named twice: standard input can be read only once")
	}
	for _, name := range names {
		if err := oneInput(cmd, name, f); err != nil {
			return err
		}
	}
	return nil
}

func oneInput(cmd *cobra.Command, name string, f func(name string, r io.Reader) error) error {
	if name == "-" {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
		return f("<stdin>", cmd.InOrStdin())
	}
	file, err := os.Open(name)
	if err != nil {
		return usageError{err}
	}
	defer file.Close()
	return f(name, file)
}

type tokenizerTrainFlags struct {
	out, format string
	force       bool
	textFlags
	token.Training
}

func newTokenizerTrain() *cobra.Command {
	f := &tokenizerTrainFlags{}
	cmd := &cobra.Command{
		Use:   "train TEXT... --out FILE",
		Short: "train a byte-level BPE vocabulary",
		Long: `Train a byte-level BPE vocabulary on texts: files, globs, folders, or - for standard input. Text is split into pre-tokens by a pattern; the pair
of ids that occurs most often within them is merged, again and again, while one occurs twice and its token has at most 256 bytes. Of equal counts the pair of
the smaller left id merges first, then of the smaller right id, so the order of the bytes' ids decides ties: by value, as runs with kind bpe
have it, or as in GPT-2's vocabulary, which gives the merges that Hugging Face's library tokenizers learns.`,
		Example: `  prenorm tokenizer train 'books/*.txt' --vocab 8000 --out books.tok
  prenorm tokenizer train books --vocab 32000 --pattern o200k --special '<|user|>' --out books.tok
  prenorm tokenizer train books --vocab 32000 --bytes gpt2 --format huggingface --out tokenizer.json`,
		Args: arguments(1, -1, "texts"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "the `file` to write")
	forceFlag(cmd, &f.force)
	cmd.Flags().IntVar(&f.Vocab, "vocab", 8192, "ids: 256 bytes, the merges, the separator and the special tokens")
	cmd.Flags().StringVar(&f.Pattern, "pattern", "gpt2", "how text is split: `"+strings.Join(token.Patterns(), "|")+"`")
	cmd.Flags().StringVar(&f.Bytes, "bytes", token.BytesByValue, "the order of the bytes' ids: `"+strings.Join(token.ByteOrders(), "|")+"`")
	cmd.Flags().StringArrayVar(&f.Specials, "special", nil, "a special token besides the separator <|endoftext|>: its `text` (repeatable)")
	cmd.Flags().StringVar(&f.format, "format", "prenorm", "the file's format: `prenorm|huggingface`")
	f.addText(cmd, "fail", "")
	must(cmd.RegisterFlagCompletionFunc("pattern", cobra.FixedCompletions(token.Patterns(), cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("bytes", cobra.FixedCompletions(token.ByteOrders(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *tokenizerTrainFlags) run(cmd *cobra.Command, texts []string) (err error) {
	write, known := map[string]func(token.Tokenizer) ([]byte, error){"prenorm": token.Tokenizer.Marshal, "huggingface": token.MarshalHF}[f.format]
	if !known {
		return wrongUsage(cmd, "--format %q is not known (allowed: prenorm, huggingface)", f.format)
	}
	if err := mayWrite(cmd, f.out, f.force, texts...); err != nil {
		return err
	}
	c, err := f.openTexts(cmd, texts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	t, err := token.Train(f.Training, c.texts(token.PlacesToTrain("bpe")), nil)
	if err != nil {
		return usageError{ofTrained(err)}
	}
	noteTexts(cmd, c.Note())
	if t.Vocab() < f.Vocab {
		note(cmd.ErrOrStderr(), "the text yields %d of the %d token ids asked for (--vocab)", t.Vocab(), f.Vocab)
	}
	return writeTokenizer(cmd, f.out, t, write)
}

// writeTokenizer writes a file and says what it holds.
func writeTokenizer(cmd *cobra.Command, path string, t token.Tokenizer, write func(token.Tokenizer) ([]byte, error)) error {
	file, err := write(t)
	if err != nil {
		return usageError{err}
	}
	if err := shard.WriteFile(path, file); err != nil {
		return fmt.Errorf("writing the tokenizer: %w", err)
	}
	note(cmd.OutOrStdout(), "%s: %d ids, kind %s", path, t.Vocab(), t.Kind())
	return nil
}

func newTokenizerExport() *cobra.Command {
	var name, out string
	force := false
	cmd := &cobra.Command{
		Use:   "export --tokenizer KIND|FILE|RUN --out FILE",
		Short: "write a tokenizer as a tokenizer.json",
		Long: `Write a tokenizer as a tokenizer.json for Hugging Face's libraries tokenizers and transformers, which give the same ids by it: byte-level BPE, byte
and char. A SentencePiece model cannot be written so; its own file is what other programs read. In these libraries text that reads as a special token is
that token, as with prenorm tokenizer encode --special; docs/tokenizers.md says how they are told not to look for any.`,
		Example: `  prenorm tokenizer export --tokenizer runs/quickstart --out tokenizer.json
  prenorm tokenizer export --tokenizer cl100k --out tokenizer.json`,
		Args: arguments(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mayWrite(cmd, out, force); err != nil {
				return err
			}
			t, err := openTokenizer(cmd, name)
			if err != nil {
				return err
			}
			return writeTokenizer(cmd, out, t, token.MarshalHF)
		},
	}
	tokenizerFlag(cmd, &name)
	cmd.Flags().StringVar(&out, "out", "", "the `file` to write")
	forceFlag(cmd, &force)
	return cmd
}

func forceFlag(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "replace the file that is there")
}

// mayWrite refuses to replace a file that nobody said may be replaced: runs go by the tokenizer's file that they name. A file that is read for
// what is written is never replaced; it is found among the patterns, if they do not name it by its folder.
func mayWrite(cmd *cobra.Command, out string, force bool, read ...string) error {
	for _, pattern := range read {
		paths, _ := filepath.Glob(os.ExpandEnv(pattern))
		for _, path := range append(paths, os.ExpandEnv(pattern)) {
			if sameFile(path, out) {
				return wrongUsage(cmd, "--out: %s is what is read, and would be replaced: name another place", out)
			}
		}
	}
	switch {
	case out == "":
		return wrongUsage(cmd, "--out is missing: name the file to write")
	case isFolder(out):
		return wrongUsage(cmd, "--out %s: is a folder: name a file in it", out)
	case exists(out) && !force:
		return wrongUsage(cmd, "--out %s: is there already: name another file, or replace it with --force", out)
	}
	return nil
}

// sameFile says whether two names are of one file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, also := os.Stat(b)
	return err == nil && also == nil && os.SameFile(first, second)
}

// errNoSpecials is for tokenizers without special tokens.
var errNoSpecials = errors.New("--special: this tokenizer has no special tokens")
