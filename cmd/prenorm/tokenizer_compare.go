package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prenorm/data/corpus"
	"prenorm/data/token"
	"prenorm/train/metrics"
)

// texts are the documents that a command line names.
type texts struct{ *corpus.Corpus }

func openTexts(cmd *cobra.Command, patterns []string, invalid string) (texts, error) {
	if slices.Contains(patterns, "-") {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	c, err := corpus.Texts(patterns, invalid, cmd.InOrStdin())
	if err != nil {
		return texts{}, usageError{err}
	}
	return texts{c}, nil
}

// texts yields the documents' texts.
func (t texts) texts() token.Texts {
	return func(yield func([]byte, error) bool) {
		for d, err := range t.Documents(corpus.Train) {
			if !yield(d.Text, err) {
				return
			}
		}
	}
}

type tokenizerCompareFlags struct {
	tokenizers []string
	invalid    string
	asJSON     bool
}

func newTokenizerCompare() *cobra.Command {
	f := &tokenizerCompareFlags{}
	cmd := &cobra.Command{
		Use:   "compare TEXT... --tokenizer KIND|FILE...",
		Short: "tokens a byte of several tokenizers on a text",
		Long: `Compare tokenizers on texts: files, globs, folders, or - for standard input. For each it says how many ids it has, how many tokens the text
becomes, that per byte and its inverse, how fast one thread encodes, and whether the text comes back from the ids.`,
		Example: "  prenorm tokenizer compare book.txt --tokenizer gpt2 --tokenizer o200k --tokenizer book.tok",
		Args:    arguments(1, -1, "texts"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringArrayVar(&f.tokenizers, "tokenizer", nil, "a `kind|file`, see prenorm tokenizer --help (repeatable)")
	cmd.Flags().StringVar(&f.invalid, "invalid-utf8", "fail", "what happens to text that is not UTF-8: `fail|replace` (by U+FFFD)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	must(cmd.MarkFlagRequired("tokenizer"))
	return cmd
}

// tokenizerFigures are what is said of one tokenizer.
type tokenizerFigures struct {
	Tokenizer     string  `json:"tokenizer"`
	Vocab         int     `json:"vocab"`
	Tokens        int64   `json:"tokens"`
	Bytes         int64   `json:"bytes"`
	TokensPerByte float64 `json:"tokens_per_byte"`
	Seconds       float64 `json:"seconds"` // of encoding with one thread
	RoundTrip     bool    `json:"round_trip"`
	Error         string  `json:"error,omitempty"` // the tokenizer cannot express the text; the figures above are of what came before
}

func (f *tokenizerCompareFlags) run(cmd *cobra.Command, patterns []string) error {
	tokenizers := make([]token.Tokenizer, len(f.tokenizers))
	for i, name := range f.tokenizers {
		var err error
		if tokenizers[i], err = openTokenizer(name); err != nil {
			return err
		}
	}
	c, err := openTexts(cmd, patterns, f.invalid)
	if err != nil {
		return err
	}
	figures := make([]tokenizerFigures, len(tokenizers))
	for i, t := range tokenizers {
		figures[i] = tokenizerFigures{Tokenizer: f.tokenizers[i], Vocab: t.Vocab(), RoundTrip: true}
	}
	var ids []int32
	var back []byte
	for text, err := range c.texts() {
		if err != nil {
			return usageError{err}
		}
		for len(text) > 0 {
			n := token.Cut(text, 1<<20)
			for i, t := range tokenizers {
				ids, back = figures[i].add(t, text[:n], ids[:0], back[:0])
			}
			text = text[n:]
		}
	}
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), figures)
	}
	table := newTable(1, 2, 3, 4, 5)
	table.row("tokenizer", "ids", "tokens", "tokens a byte", "bytes a token", "MB/s", "comes back")
	for _, g := range figures {
		table.row(g.row()...)
	}
	table.write(cmd.OutOrStdout(), "")
	return nil
}

// add encodes one more text, and lends its memory on.
func (g *tokenizerFigures) add(t token.Tokenizer, text []byte, ids []int32, back []byte) ([]int32, []byte) {
	if g.Error != "" {
		return ids, back
	}
	start := time.Now()
	ids, err := t.Encode(ids, text)
	g.Seconds += time.Since(start).Seconds()
	if err == nil {
		back, err = t.Decode(back, ids...)
	}
	if err != nil {
		g.Error, g.RoundTrip = err.Error(), false
		return ids, back
	}
	g.Tokens += int64(len(ids))
	g.Bytes += int64(len(text))
	g.TokensPerByte = float64(g.Tokens) / float64(g.Bytes)
	g.RoundTrip = g.RoundTrip && bytes.Equal(back, text)
	return ids, back
}

func (g *tokenizerFigures) row() []string {
	if g.Error != "" {
		return []string{g.Tokenizer, fmt.Sprint(g.Vocab), "", "", "", "", "no: " + g.Error}
	}
	back := "no"
	if g.RoundTrip {
		back = "yes"
	}
	return []string{g.Tokenizer, fmt.Sprint(g.Vocab), grouped(g.Tokens), fmt.Sprintf("%.4f", g.TokensPerByte), fmt.Sprintf("%.3f", 1/g.TokensPerByte),
		fmt.Sprintf("%.1f", float64(g.Bytes)/1e6/max(g.Seconds, 1e-9)), back}
}

func newTokenizerInspect() *cobra.Command {
	var name string
	var tokens bool
	cmd := &cobra.Command{
		Use:   "inspect --tokenizer KIND|FILE",
		Short: "show a tokenizer: its kind, ids, special tokens and tokens",
		Long: `Show a tokenizer. With --tokens there is a line for each id, the id and its bytes as a quoted string of Go; a byte that is not part of a
character is \x and two digits, and an id that nothing has is empty.`,
		Example: "  prenorm tokenizer inspect --tokenizer o200k\n  prenorm tokenizer inspect --tokenizer book.tok --tokens | tail",
		Args:    arguments(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := openTokenizer(name)
			if err != nil {
				return err
			}
			if tokens {
				return listTokens(cmd, t)
			}
			return showTokenizer(cmd, t)
		},
	}
	tokenizerFlag(cmd, &name)
	cmd.Flags().BoolVar(&tokens, "tokens", false, "list all tokens")
	return cmd
}

func listTokens(cmd *cobra.Command, t token.Tokenizer) error {
	var text []byte
	for id := range int32(t.Vocab()) {
		var err error
		if text, err = t.Decode(text[:0], id); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%d\t%s\n", id, strconv.Quote(string(text))); err != nil {
			return err
		}
	}
	return nil
}

func showTokenizer(cmd *cobra.Command, t token.Tokenizer) error {
	print, err := token.Fingerprint(t)
	if err != nil {
		return err
	}
	longest, unused := int32(0), 0
	var length int
	for id := range int32(t.Vocab()) {
		text, err := t.Decode(nil, id)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			unused++
		}
		if len(text) > length {
			longest, length = id, len(text)
		}
	}
	out := newTable()
	out.row("kind", t.Kind())
	out.row("ids", grouped(int64(t.Vocab()))+map[bool]string{true: fmt.Sprintf(", of which %d stand for nothing", unused)}[unused > 0])
	separator := "none"
	if t.Separator() >= 0 {
		separator = fmt.Sprint(t.Separator())
	}
	out.row("separator", separator)
	if with, ok := t.(token.WithSpecials); ok {
		var list []string
		for _, s := range with.Specials() {
			list = append(list, fmt.Sprintf("%d %s", s.ID, strconv.Quote(s.Text)))
		}
		if len(list) > 8 {
			list = append(list[:8], fmt.Sprintf("and %d more", len(list)-8))
		}
		out.row("special", strings.Join(list, ", "))
	}
	out.row("longest", fmt.Sprintf("%d, %s", longest, metrics.Bytes(int64(length))))
	out.row("fingerprint", print)
	out.write(cmd.OutOrStdout(), "")
	return nil
}
