package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/token"
)

// texts are the documents that a command line names.
type texts struct{ *corpus.Corpus }

// openTexts opens what the patterns of a command line name, which the caller closes.
func (f *textFlags) openTexts(cmd *cobra.Command, patterns []string) (texts, error) {
	if err := f.checkText(cmd); err != nil {
		return texts{}, err
	}
	if slices.Contains(patterns, "-") {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	cfg := data.Default()
	f.read(&cfg)
	c, err := dataset.OpenTexts(patterns, cfg, cmd.InOrStdin())
	if err != nil {
		return texts{}, usageError{ofTrained(err)}
	}
	return texts{c}, nil
}

// texts yields the documents' texts, divided at some of the places.
func (t texts) texts(places token.Places) token.Texts {
	return dataset.Texts(t.Documents(corpus.Train), places)
}

type tokenizerCompareFlags struct {
	tokenizers []string
	asJSON     bool
	textFlags
}

func newTokenizerCompare() *cobra.Command {
	f := &tokenizerCompareFlags{}
	cmd := &cobra.Command{
		Use:   "compare TEXT... --tokenizer KIND|FILE|RUN...",
		Short: "tokens a byte of several tokenizers on a text",
		Long: `Compare tokenizers on texts: files, globs, folders, or - for standard input. For each it says how many ids it has, how many tokens the text
becomes, that per byte and its inverse, how fast one thread encodes, and whether the text comes back from the ids.`,
		Example: "  prenorm tokenizer compare book.txt --tokenizer gpt2 --tokenizer o200k --tokenizer book.tok",
		Args:    arguments(1, -1, "texts"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringArrayVar(&f.tokenizers, "tokenizer", nil, "a `kind|file|run`, see prenorm tokenizer --help (repeatable)")
	must(cmd.RegisterFlagCompletionFunc("tokenizer", completeTokenizer))
	f.addText(cmd, "fail", "")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
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

func (f *tokenizerCompareFlags) run(cmd *cobra.Command, patterns []string) (err error) {
	if len(f.tokenizers) == 0 {
		return wrongUsage(cmd, "--tokenizer is missing: name kinds, files, or folders of runs or checkpoints")
	}
	tokenizers := make([]token.Tokenizer, len(f.tokenizers))
	for i, name := range f.tokenizers {
		var err error
		if tokenizers[i], err = openTokenizer(cmd, name); err != nil {
			return err
		}
	}
	c, err := f.openTexts(cmd, patterns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	figures, places := make([]tokenizerFigures, len(tokenizers)), token.PlacesOf(tokenizers[0])
	for i, t := range tokenizers {
		figures[i] = tokenizerFigures{Tokenizer: f.tokenizers[i], Vocab: t.Vocab(), RoundTrip: true}
		places &= token.PlacesOf(t)
	}
	var ids []int32
	var back []byte
	for text, err := range c.texts(places) {
		if err != nil {
			return usageError{ofTrained(err)}
		}
		for len(text) > 0 {
			n := places.Cut(text, 1<<20)
			for i, t := range tokenizers {
				ids, back = figures[i].add(t, text[:n], ids[:0], back[:0])
			}
			text = text[n:]
		}
	}
	noteTexts(cmd, c.Note())
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
