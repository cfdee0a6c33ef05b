package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/token"
)

// offer is what a word of the command line may name. It is made here, as a shell offers either words or files.
type offer struct {
	words       []string // presets, or kinds
	files       []string // endings of files; "" is every file
	runs        bool
	checkpoints bool
}

var (
	runFileOffer = offer{words: configs.Presets(), files: []string{".yaml", ".yml"}, runs: true}
	runOffer     = offer{runs: true, checkpoints: true}
	bundleOffer  = offer{files: []string{".zip"}}
)

// completeRunFile completes presets, YAML files and the folders of runs.
func completeRunFile(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return runFileOffer.only(args, word)
}

// completeRuns completes the folders of runs and of checkpoints, as many as are wanted.
func completeRuns(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return runOffer.complete(word)
}

// completeRun completes one folder of a run or of a checkpoint.
func completeRun(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return runOffer.only(args, word)
}

// completeRunAndTexts completes the folder of a run, and files behind it.
func completeRunAndTexts(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return runOffer.complete(word)
}

// completeInspected completes the folder of a run, or a bundle.
func completeInspected(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return offer{files: bundleOffer.files, runs: true}.only(args, word)
}

// completeReported completes what data report takes: one run file, or texts.
func completeReported(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return offer{words: configs.Presets(), files: []string{""}, runs: true}.complete(word)
}

// completeBundle completes one bundle.
func completeBundle(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return bundleOffer.only(args, word)
}

// completeTokenizer completes a kind that needs no training, a file, or the folder of a run.
func completeTokenizer(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return offer{words: token.Ready(), files: []string{""}, runs: true, checkpoints: true}.complete(word)
}

// only is complete for one argument.
func (o offer) only(args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.complete(word)
}

// complete is what begins with a word: names, files, runs, and the folders on the way to more. What the shell would expand is left to it.
func (o offer) complete(word string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(word, "~") || strings.ContainsAny(word, "$*?[`") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	for _, w := range o.words {
		if strings.HasPrefix(w, word) {
			found = append(found, w)
		}
	}
	found = append(found, o.paths(word)...)
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(found) == 1 && os.IsPathSeparator(found[0][len(found[0])-1]) {
		directive |= cobra.ShellCompDirectiveNoSpace // the word goes on
	}
	return found, directive
}

// paths are the paths that begin with a word. Runs of the folder runs are offered at once, as that is where they are made.
func (o offer) paths(word string) (found []string) {
	dir, base := filepath.Split(word)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil // there is nothing to offer
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" {
			continue
		}
		path := dir + name
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case !info.IsDir():
			if o.takesFile(name) {
				found = append(found, path)
			}
		case o.runs && isRunFolder(path), o.checkpoints && exists(filepath.Join(path, manifestFile)):
			found = append(found, path)
		case path == "runs":
			if inside := o.paths("runs" + string(filepath.Separator)); len(inside) > 0 {
				found = append(found, inside...)
				continue
			}
			fallthrough
		default:
			found = append(found, path+string(filepath.Separator))
		}
	}
	return found
}

func (o offer) takesFile(name string) bool {
	for _, ending := range o.files {
		if strings.HasSuffix(strings.ToLower(name), ending) {
			return true
		}
	}
	return false
}
