package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data/token"
	"prenorm/train/metrics"
)

func newTokenizerInspect() *cobra.Command {
	var name string
	var tokens bool
	cmd := &cobra.Command{
		Use:   "inspect --tokenizer KIND|FILE|RUN",
		Short: "show a tokenizer: its kind, ids, special tokens and tokens",
		Long: `Show a tokenizer. With --tokens there is a line for each id, the id and its bytes as a quoted string of Go; a byte that is not part of a
character is \x and two digits, and an id that nothing has is empty.`,
		Example: "  prenorm tokenizer inspect --tokenizer o200k\n  prenorm tokenizer inspect --tokenizer book.tok --tokens | tail",
		Args:    arguments(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := openTokenizer(cmd, name)
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
