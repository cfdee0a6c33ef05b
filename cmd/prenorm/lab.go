package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/model/block"
	pages "prenorm/train/lab/report"
)

func newLab() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "measure what placements of the norm do: before training, in training, and after it",
		Long: `Measure what placements of the norm do. Each command writes one folder: its figures as CSV, plots as SVG and PNG, and report.html, a page that
needs nothing beside it.`,
		Example: `  prenorm lab init --placements pre,post,deepnorm   # streams and gradients by depth, without training
  prenorm lab paths --placements pre,post           # by how many branches the gradient comes down
  prenorm lab compare quickstart --placements pre,post --lrs 1e-3,3e-3 --seeds 1,2
  prenorm lab drop runs/quickstart                  # the loss without each block`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(listUsage)
	for _, c := range []func() *cobra.Command{newLabInit, newLabPaths, newLabCompare, newLabLR, newLabDrop} {
		cmd.AddCommand(c())
	}
	return cmd
}

// labFlags are the flags that most commands of the lab have.
type labFlags struct {
	runFlags
	out        string
	placements []string
	seeds      []int64
}

// outFlag is --out with a default below runs/lab.
func (f *labFlags) outFlag(cmd *cobra.Command, name string) {
	cmd.Flags().StringVar(&f.out, "out", filepath.Join("runs", "lab", name), "the `folder` that is written")
	must(cmd.MarkFlagDirname("out"))
}

// placementsFlag is --placements.
func (f *labFlags) placementsFlag(cmd *cobra.Command, def ...string) {
	cmd.Flags().StringSliceVar(&f.placements, "placements", def, "`placements`, separated by commas")
	must(cmd.RegisterFlagCompletionFunc("placements", func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		var words []string
		for _, name := range block.Names() {
			words = append(words, before+name)
		}
		return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}))
}

func (f *labFlags) seedsFlag(cmd *cobra.Command, def ...int64) {
	wholesVar(cmd.Flags(), &f.seeds, "seeds", def, "1,2", "`seeds`, separated by commas")
}

// check refuses lists without entries, placements that do not exist, and a place that is no folder.
func (f *labFlags) check(cmd *cobra.Command, known []string) error {
	if err := mayBeFolder(cmd, "out", f.out); err != nil {
		return err
	}
	if cmd.Flags().Lookup("seeds") != nil && len(f.seeds) == 0 {
		return wrongUsage(cmd, "--seeds wants at least one seed")
	}
	for i, seed := range f.seeds {
		if slices.Contains(f.seeds[:i], seed) {
			return wrongUsage(cmd, "--seeds: %d is given twice, and equal seeds give equal runs (give others)", seed)
		}
	}
	if cmd.Flags().Lookup("placements") == nil {
		return nil
	}
	if len(f.placements) == 0 {
		return wrongUsage(cmd, "--placements wants at least one placement")
	}
	have := map[string]bool{}
	for _, name := range known {
		have[name] = true
	}
	for i, name := range f.placements {
		if slices.Contains(f.placements[:i], name) {
			return wrongUsage(cmd, "--placements: %s is given twice (once is enough)", name)
		}
		if !have[name] {
			return wrongUsage(cmd, "--placements: there is no %q (have %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// write writes the report and prints its tables.
func (f *labFlags) write(cmd *cobra.Command, r pages.Report) error {
	out := cmd.OutOrStdout()
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			fmt.Fprintf(out, "\n%s\n", firstOf(t.Caption, s.Title))
			t.Text(out, "  ")
		}
	}
	path, err := r.Write(f.out)
	if err == nil {
		fmt.Fprintf(out, "\nwritten: %s\n", path)
	}
	return err
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
