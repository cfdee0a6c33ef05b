package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
stands for its newest whole checkpoint. The exit code is 1 where anything differs. A run that was stopped and gone on with has the same
state as one that was not: this shows it.`,
		Example: `  prenorm diff runs/a runs/b
  prenorm diff runs/a/checkpoints/step-00000100 runs/a/checkpoints/step-00000200 --json`,
		Args: arguments(2, 2, "two folders of runs or of checkpoints"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the differences as JSON")
	return cmd
}

// diffRecord is how two checkpoints differ.
type diffRecord struct {
	A       string       `json:"a"`
	B       string       `json:"b"`
	Same    bool         `json:"same"`
	State   []string     `json:"state,omitempty"`
	Files   []string     `json:"files,omitempty"`
	Tensors []diffTensor `json:"tensors,omitempty"`
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
	if err := f.print(cmd, r); err != nil {
		return err
	}
	if !r.Same {
		return errReported
	}
	return nil
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
