package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

type diffFlags struct{ asJSON bool }

func newDiff() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "compare two checkpoints bit by bit",
		Long: `Compare two checkpoints: weights and optimizer tensor by tensor, bit by bit, the state of the run, its settings and its tokenizer. A run's folder
stands for its newest whole checkpoint. A run that was stopped and gone on with has the same state as one that was not: this shows it. The exit
code is 0 where both are the same, and where only settings differ that change no result, such as workers or checkpoint.background; it is 1 where
anything else does.`,
		Example: `  prenorm diff runs/a runs/b
  prenorm diff runs/a/checkpoints/step-00000100 runs/a/checkpoints/step-00000200 --json`,
		Args:              arguments(2, 2, "two folders of runs or of checkpoints"),
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the differences as JSON")
	return cmd
}

// diffRecord is how two checkpoints differ.
type diffRecord struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Same bool   `json:"same"` // bit for bit, settings too

	SameState bool          `json:"same_state"` // all but settings that change no result
	State     []string      `json:"state,omitempty"`
	Settings  []diffSetting `json:"settings,omitempty"`
	Files     []string      `json:"files,omitempty"` // others than the settings
	Tensors   []diffTensor  `json:"tensors,omitempty"`
}

// diffSetting is a key of the run file that two checkpoints disagree on.
type diffSetting struct {
	Key  string `json:"key"`
	A    string `json:"a"`
	B    string `json:"b"`
	Free bool   `json:"free"` // it changes no result
}

type diffTensor struct {
	Name     string        `json:"name"`
	Only     string        `json:"only,omitempty"`
	Shapes   string        `json:"shapes,omitempty"`
	Elements int           `json:"elements"`
	Changed  int           `json:"changed"`
	Largest  metrics.Float `json:"largest"`
	Relative metrics.Float `json:"relative"`
}

func (f *diffFlags) run(cmd *cobra.Command, a, b string) error {
	var loaded []*checkpoint.Loaded
	for _, path := range []string{a, b} {
		c, refused, err := train.OpenCheckpoint(path)
		if err != nil {
			return err
		}
		noteRefused(cmd, refused)
		loaded = append(loaded, c)
	}
	d, err := checkpoint.Compare(loaded[0], loaded[1])
	if err != nil {
		return err
	}
	r := diffRecord{A: loaded[0].Dir, B: loaded[1].Dir, Same: d.Same(), State: d.State, Files: d.Files}
	for _, t := range d.Tensors {
		r.Tensors = append(r.Tensors, diffTensor{t.Name, t.Only, t.Shapes, t.Elements, t.Changed, metrics.Float(t.Largest), metrics.Float(t.Relative)})
	}
	r.compareSettings(loaded[0], loaded[1])
	if err := f.print(cmd, r); err != nil {
		return err
	}
	if !r.SameState {
		return errReported
	}
	return nil
}

// compareSettings tells run files that differ key by key. One that cannot be read, or whose keys are all the same, stays among the files.
func (r *diffRecord) compareSettings(a, b *checkpoint.Loaded) {
	old, errA := configs.Parse(train.ConfigFile, a.Files[train.ConfigFile], nil)
	now, errB := configs.Parse(train.ConfigFile, b.Files[train.ConfigFile], nil)
	if slices.Contains(r.Files, train.ConfigFile) && errA == nil && errB == nil {
		for _, c := range configs.Diff(old.Run, now.Run) {
			r.Settings = append(r.Settings, diffSetting{c.Key, c.From, c.To, freedomOf(c.Key) == free})
		}
	}
	if len(r.Settings) > 0 {
		r.Files = slices.DeleteFunc(r.Files, func(name string) bool { return name == train.ConfigFile })
	}
	r.SameState = len(r.State)+len(r.Files)+len(r.Tensors) == 0 && !slices.ContainsFunc(r.Settings, func(s diffSetting) bool { return !s.Free })
}

func (f *diffFlags) print(cmd *cobra.Command, r diffRecord) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return writeJSON(out, r)
	}
	fmt.Fprintf(out, "a: %s\nb: %s\n", r.A, r.B)
	if r.Same {
		fmt.Fprintln(out, "same, bit for bit: weights, optimizer, state, settings and tokenizer")
		return nil
	}
	if len(r.State) > 0 {
		fmt.Fprintf(out, "state: %s differ\n", strings.Join(r.State, ", "))
	}
	for _, s := range r.Settings {
		free := ""
		if s.Free {
			free = " (changes no result)"
		}
		fmt.Fprintf(out, "settings: %s %s, %s%s\n", s.Key, s.A, s.B, free)
	}
	if r.SameState {
		fmt.Fprintln(out, "the rest is the same, bit for bit: weights, optimizer, state and tokenizer")
	}
	if len(r.Files) > 0 {
		fmt.Fprintf(out, "files: %s differ\n", strings.Join(r.Files, ", "))
	}
	t := newTable(1, 2, 3)
	t.row("tensor", "changed", "largest", "relative")
	for _, d := range r.Tensors {
		switch {
		case d.Only != "":
			t.row(d.Name, "only in "+d.Only)
		case d.Shapes != "":
			t.row(d.Name, d.Shapes)
		default:
			t.row(d.Name, fmt.Sprintf("%d of %d", d.Changed, d.Elements), fmt.Sprintf("%.3g", d.Largest), fmt.Sprintf("%.3g", d.Relative))
		}
	}
	if len(r.Tensors) > 0 {
		t.write(out, "  ")
	}
	return nil
}
