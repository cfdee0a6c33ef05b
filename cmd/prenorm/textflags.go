package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data"
)

// textFlags say how texts are read that a command line names.
type textFlags struct{ invalid, field string }

// addText adds the flags. invalid is the default of --invalid-utf8; otherwise says what holds without the flags where that is not their default.
func (f *textFlags) addText(cmd *cobra.Command, invalid, otherwise string) {
	cmd.Flags().StringVar(&f.invalid, "invalid-utf8", invalid, "what happens to text that is not UTF-8: `fail|replace|drop` (by U+FFFD"+otherwise+")")
	field := "the `key` or column of a row's text in .jsonl, .csv and .parquet"
	if otherwise != "" {
		field += " (" + strings.TrimPrefix(otherwise, "; ") + ")"
	}
	cmd.Flags().StringVar(&f.field, "field", "", field)
	must(cmd.RegisterFlagCompletionFunc("invalid-utf8", cobra.FixedCompletions(data.InvalidKinds, cobra.ShellCompDirectiveNoFileComp)))
}

// checkText refuses a word that is none of the flag's.
func (f *textFlags) checkText(cmd *cobra.Command) error {
	if cmd.Flags().Changed("invalid-utf8") && !slices.Contains(data.InvalidKinds, f.invalid) {
		return wrongUsage(cmd, "--invalid-utf8 %q: wants drop, fail or replace", f.invalid)
	}
	return nil
}

// read puts what the flags give into settings.
func (f *textFlags) read(cfg *data.Config) {
	if f.invalid != "" {
		cfg.Invalid = f.invalid
	}
	if f.field != "" {
		cfg.Field = f.field
	}
}
