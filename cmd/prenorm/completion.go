package main

import (
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
)

// addCompletion adds cobra's command with words of this program. It writes to what is root's output at this time.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Short = "write a script that completes commands, presets, runs and keys in a shell"
		c.Long = `Write a script with which a shell completes commands, presets, the folders of runs, keys of --set, their words, and files.

The script for bash needs the package bash-completion of the system (with Homebrew: bash-completion@2); without it nothing completes.`
		c.Example = `  prenorm completion bash > /etc/bash_completion.d/prenorm
  source <(prenorm completion zsh)
  prenorm completion fish > ~/.config/fish/completions/prenorm.fish
  prenorm completion powershell | Out-String | Invoke-Expression`
		c.Args = knownShell
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// knownShell refuses a word that is none of the sub-commands.
func knownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var shells []string
	for _, c := range cmd.Commands() {
		shells = append(shells, c.Name())
	}
	return wrongUsage(cmd, "there is no script for %q (shells: %s)", args[0], strings.Join(shells, ", "))
}

// completeKeys completes the key of --set, and its value where only some words are allowed.
func completeKeys(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	name, _, valued := strings.Cut(word, "=")
	var found []string
	for _, d := range configs.Describe() {
		switch {
		case !valued:
			found = append(found, cobra.CompletionWithDesc(d.Key+"=", d.Doc))
		case d.Key == name:
			allowed := d.Allowed
			if d.Type == "true/false" {
				allowed = []string{"true", "false"}
			}
			for _, w := range allowed {
				found = append(found, name+"="+w)
			}
		}
	}
	if valued {
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
