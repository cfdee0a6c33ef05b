package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
)

type configFlags struct {
	runFlags
	keys, presets bool
	diff          string
}

func newConfig() *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use:   "config [RUN.yaml|RUN]",
		Short: "show a run file with every key filled in, the known keys, or the presets",
		Long: `Show a run file, a preset or the settings of a run in its folder with every key filled in; what it prints is itself a run file. --diff shows
only the keys that another one has otherwise.`,
		Example: `  prenorm config quickstart > my.yaml
  prenorm config my.yaml --set model.layers=6 --diff quickstart
  prenorm config runs/mine --diff runs/other
  prenorm config --keys                             # every key, its default and meaning
  prenorm config --presets`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeRunFile,
		RunE:              f.run,
	}
	f.setFlag(cmd)
	cmd.Flags().BoolVar(&f.keys, "keys", false, "list every key of a run file with its type, default, meaning and words")
	cmd.Flags().BoolVar(&f.presets, "presets", false, "list the run files that are built in")
	cmd.Flags().StringVar(&f.diff, "diff", "", "show the keys in which this `run file`, preset or run's folder differs")
	must(cmd.RegisterFlagCompletionFunc("diff", completeRunFile))
	return cmd
}

func (f *configFlags) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(exclusive(cmd, "keys", "presets"), exclusive(cmd, "diff", "keys"), exclusive(cmd, "diff", "presets")); err != nil {
		return err
	}
	if f.keys || f.presets {
		if len(args) > 0 {
			return wrongUsage(cmd, "--keys and --presets take no run file")
		}
		f.list(cmd)
		return nil
	}
	if err := arguments(1, 1, aRunFile)(cmd, args); err != nil {
		return err
	}
	l, err := f.load(cmd, args[0])
	if err != nil {
		return err
	}
	if f.diff == "" {
		_, err := cmd.OutOrStdout().Write(l.YAML())
		return err
	}
	other, err := (&runFlags{}).load(cmd, f.diff)
	if err != nil {
		return err
	}
	t := newTable()
	changes := configs.Diff(l.Run, other.Run)
	for _, c := range changes {
		t.row(c.Key+":", c.From, "→", c.To)
	}
	if len(changes) == 0 {
		note(cmd.ErrOrStderr(), "no differences")
	}
	t.write(cmd.OutOrStdout(), "")
	return nil
}

// list prints the keys or the presets.
func (f *configFlags) list(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	if f.keys {
		for _, d := range configs.Describe() {
			fmt.Fprintf(out, "%s: %s (%s)\n    %s\n", d.Key, d.Default, d.Type, d.Doc)
			if len(d.Allowed) > 0 {
				fmt.Fprintf(out, "    one of: %s\n", strings.Join(d.Allowed, ", "))
			}
		}
		return
	}
	t := newTable()
	for _, name := range configs.Presets() {
		text, _ := configs.Preset(name)
		t.row(name, headline(string(text)))
	}
	t.write(out, "")
}

// headline is a preset's first comment line.
func headline(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	return strings.TrimSuffix(line, ".")
}
