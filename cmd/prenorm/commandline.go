package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prenorm/configs/problem"
)

// commandLine is the command line that goes on with a run: this one without --fresh and --from-step, and without other flags that are named.
func commandLine(cmd *cobra.Command, path string, without ...string) string {
	words := []string{programName(), cmd.Name(), shellWord(path)}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			for _, s := range v.GetSlice() {
				words = append(words, "--"+f.Name, shellWord(s))
			}
		default:
			switch {
			case f.Name == "fresh" || f.Name == "from-step" || f.Hidden || slices.Contains(without, f.Name):
			case v.Type() == "bool":
				words = append(words, "--"+f.Name)
			default:
				words = append(words, "--"+f.Name, shellWord(v.String()))
			}
		}
	})
	return strings.Join(words, " ")
}

// shellWord quotes a word for a POSIX shell where it needs quotes.
func shellWord(s string) string { return problem.ShellWord(s) }
