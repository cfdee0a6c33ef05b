package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func init() { cobra.EnableCommandSorting = false } // the help lists commands in the order of work

// commands are the sub-commands in the order of work.
var commands = []func() *cobra.Command{
	newTrain, newSample, newEval, newInspect, newReplay, newVerify, newDiff, newVerifyResume, newPlan, newBench, newConfig, newTokenizer, newData, newLab, newRepro, newExplain, newCheck, newDoctor,
}

// execute runs the program with its arguments and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	p := &profiles{}
	root := newRoot(p)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	addCompletion(root)
	err := root.ExecuteContext(ctx)
	if stopErr := p.stop(); err == nil {
		err = stopErr
	}
	return report(errOut, err)
}

func newRoot(p *profiles) *cobra.Command {
	root := &cobra.Command{
		Use:   "prenorm",
		Short: "Train small language models, and write text with them",
		Long: `prenorm trains small decoder-only Transformers from a text, goes on exactly where a run was stopped, and writes text with what it
trained. A run is described by one YAML file; several are built in. RUN.yaml stands for such a file or the name of one that is built in, and RUN
for the folder of a run: where a command takes the one for its settings, it takes the other too.

Exit codes: 0 for success; 2 where the command line, the run file or this build cannot do what is asked for, on any machine; 130 after
Ctrl-C; 1 for every other failure, such as a GPU without its driver, or a comparison above its limit.`,
		Example: `  prenorm train quickstart                          # a first model, in minutes on a CPU
  prenorm sample runs/quickstart --prompt "The"     # text from it
  prenorm train quickstart --set data.train=my.txt --out runs/mine
  prenorm config --presets                          # the built-in run files`,
		Version:           version(),
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return p.start() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagMistake)
	root.SetHelpCommand(&cobra.Command{Use: "help", Hidden: true, RunE: func(*cobra.Command, []string) error { return root.Help() }})
	p.flags(root)
	for _, c := range commands {
		root.AddCommand(c())
	}
	root.SetUsageTemplate(usageTemplate)
	return root
}

// usageTemplate is the part of the help below a command's description.
const usageTemplate = `Usage:
  {{if eq .Name "completion"}}{{.CommandPath}} SHELL{{else if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}
{{- if .HasAvailableSubCommands}}

{{if eq .Name "completion"}}Shells:{{else}}Commands:{{end}}
{{- range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableSubCommands}}

{{.CommandPath}} {{if eq .Name "completion"}}SHELL --help tells more of a shell.{{else}}COMMAND --help tells more of a command.{{end}}{{end}}
`

// unknownCommand refuses a word that is no sub-command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
	}
	return wrongUsage(cmd, "there is no command %q%s", args[0], hint)
}
