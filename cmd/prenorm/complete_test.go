package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand calls f with every command that does something, and the words that name it.
func everyCommand(f func(cmd *cobra.Command, words []string)) {
	root := newRoot(&profiles{})
	addCompletion(root)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.HasAvailableSubCommands() {
			f(cmd, strings.Fields(cmd.CommandPath())[1:])
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
}

// inRun is a folder with a run file, a run with a checkpoint and a bundle, and a text.
func inRun(t *testing.T) (run, saved, bundle string) {
	inTiny(t)
	run = filepath.Join("runs", "tiny")
	saved, bundle = filepath.Join(run, "checkpoints", "step-00000020"), filepath.Join(run, "guard", "step-00000007.zip")
	write(t, filepath.Join(run, "config.yaml"), tiny)
	write(t, filepath.Join(saved, "config.yaml"), tiny)
	write(t, filepath.Join(saved, manifestFile), "{}")
	write(t, bundle, "")
	return run, saved, bundle
}

// offered are the words that the shell is offered.
func offered(t *testing.T, args ...string) []string {
	t.Helper()
	lines := strings.Split(command(append([]string{"__complete"}, args...)...).want(t, exitOK).out, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, ":") })
	return lines[:at]
}

// TestRunFilesAndFolders wants every command that takes a run file to say that it takes a run's folder too, in its usage, its description and its
// mistakes, and to complete both; and one that takes a run's folder to complete that.
func TestRunFilesAndFolders(t *testing.T) {
	run, saved, bundle := inRun(t)
	wants := func(words []string, names ...string) {
		t.Helper()
		got := offered(t, append(words, "")...)
		for _, name := range names {
			if !slices.Contains(got, name) {
				t.Errorf("%s: completes %q, without %s", strings.Join(words, " "), got, name)
			}
		}
	}
	files := 0
	everyCommand(func(cmd *cobra.Command, words []string) {
		name, _, _ := strings.Cut(cmd.Use, " ")
		takes := strings.TrimPrefix(cmd.Use, name)
		switch {
		case strings.Contains(takes, "RUN.yaml"):
			files++
			wants(words, "quickstart", "tiny.yaml", run)
			if !strings.Contains(takes, "RUN.yaml|RUN") {
				t.Errorf("usage %q names run files alone", cmd.Use)
			}
			if help := cmd.Long; !strings.Contains(help, "folder") {
				t.Errorf("%s: the description says nothing of a run's folder", cmd.CommandPath())
			}
			if r := command(append(words, "a", "b")...); name != "report" && !strings.Contains(r.errOut, aRunFile) {
				t.Errorf("%s of two words: %s", cmd.CommandPath(), r.errOut)
			}
		case regexp.MustCompile(`\bRUN\b`).MatchString(takes) && !strings.Contains(takes, "--tokenizer"), takes == " A B":
			wants(words, run)
		}
		for kind, path := range map[string]string{"CHECKPOINT": saved, "BUNDLE": bundle} {
			if !strings.Contains(takes, kind) {
				continue
			}
			if got := offered(t, append(words, path[:len(path)-2])...); !slices.Equal(got, []string{path}) {
				t.Errorf("%s: completes %q, want %s", cmd.CommandPath(), got, path)
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			placeholder, usage := pflag.UnquoteUsage(flag)
			switch {
			case placeholder == "run file":
				wants(append(words, "--"+flag.Name), "quickstart", "tiny.yaml", run)
				if !strings.Contains(usage, "run's folder") {
					t.Errorf("%s --%s: %s", cmd.CommandPath(), flag.Name, usage)
				}
			case strings.HasSuffix(placeholder, "|run"):
				wants(append(words, "--"+flag.Name), "gpt2", "text.txt", run)
			}
		})
	})
	if files < 7 {
		t.Errorf("%d commands take a run file", files)
	}
}

// TestCompletesPaths wants the way to a run to be completed folder by folder, and what only a shell understands to be left to it.
func TestCompletesPaths(t *testing.T) {
	run, _, _ := inRun(t)
	write(t, filepath.Join("other", "big", "config.yaml"), tiny)
	write(t, filepath.Join("other", "small.YML"), tiny)
	write(t, filepath.Join(".hidden", "x.yaml"), tiny)
	inside := func(names ...string) string { return filepath.Join(names...) + string(filepath.Separator) }
	for word, want := range map[string][]string{
		"":                     nil,
		"ti":                   {"tiny.yaml"},
		"ru":                   {run},
		"ot":                   {inside("other")},
		inside("other"):        {filepath.Join("other", "big"), filepath.Join("other", "small.YML")},
		inside("other", "big"): {filepath.Join("other", "big", "config.yaml")},
		inside("nowhere"):      {},
		"./ti":                 {"./tiny.yaml"},
		".h":                   {inside(".hidden")},
		"~/ti":                 {},
		"$HOME":                {},
	} {
		if got := offered(t, "plan", word); want != nil && !slices.Equal(got, want) {
			t.Errorf("%q is completed as %q, want %q", word, got, want)
		} else if slices.Contains(got, inside(".hidden")) && word == "" {
			t.Errorf("hidden folders are offered: %q", got)
		}
	}
	if r := command("__complete", "plan", "ot"); !strings.Contains(r.out, ":6\n") { // no space and no files
		t.Errorf("the way to a folder ends there: %s", r.out)
	}
	if r := command("__complete", "plan", "~/ti"); !strings.Contains(r.out, ":0\n") {
		t.Errorf("the shell is not asked: %s", r.out)
	}
}
