package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/model/block"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "explain where the norm sits: each placement's equation, wiring, gradients and initialisation",
		Long: `Explain placements of the norm, from the same table that models are built from.

In the equations x is the residual stream, F a sub-layer (attention or MLP), N the number of blocks, l a block's number from 1, and J_f' the
transposed Jacobian of f, which is what carries the gradient back through f.`,
		Example: `  prenorm explain placements                        # all in one table
  prenorm explain placement deepnorm
  prenorm explain backward post                     # from the loss to the embedding`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "placements", Short: "list every placement with its equation and initialisation", Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { listPlacements(cmd.OutOrStdout()); return nil },
	}
	one := &cobra.Command{
		Use: "placement NAME", Short: "explain one placement: equation, wiring, gradients, initialisation, optimizer", Args: arguments(1, 1, "one placement, such as post"),
		ValidArgsFunction: completePlacements,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := placementNamed(cmd, args[0])
			if err == nil {
				explainPlacement(cmd.OutOrStdout(), p)
			}
			return err
		},
	}
	backward := &cobra.Command{
		Use: "backward [PLACEMENT]", Short: "follow the gradient from the loss to the embedding (default: pre)", Args: arguments(0, 1, "at most one placement, such as post"),
		ValidArgsFunction: completePlacements,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := placementNamed(cmd, slices.Concat(args, []string{"pre"})[0])
			if err == nil {
				explainBackward(cmd.OutOrStdout(), p)
			}
			return err
		},
	}
	cmd.AddCommand(list, one, backward)
	return cmd
}

// completePlacements completes one name of a placement.
func completePlacements(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return block.Names(), cobra.ShellCompDirectiveNoFileComp
}

// placementNamed finds a placement.
func placementNamed(cmd *cobra.Command, name string) (block.Placement, error) {
	p, ok := block.Lookup(name)
	if !ok {
		return p, wrongUsage(cmd, "there is no placement %q (placements: %s)", name, strings.Join(block.Names(), ", "))
	}
	return p, nil
}

// listPlacements prints the equations, then the initialisations.
func listPlacements(w io.Writer) {
	t := newTable()
	for _, name := range block.Names() {
		p, _ := block.Lookup(name)
		t.row(p.Name, p.Equation)
	}
	t.write(w, "")
	fmt.Fprintln(w, "\nInitial values. N is the number of blocks; writers of the stream are the output projection and the MLP's last matrix.")
	t = newTable()
	t.row(block.Start{}.Columns()...)
	for _, s := range block.Starts() {
		t.row(s.Cells()...)
	}
	t.write(w, "")
}

// page prints titled parts of indented text.
type page struct{ io.Writer }

func (p page) part(title, text string) {
	fmt.Fprintf(p, "\n%s\n", title)
	for line := range strings.Lines(text + "\n") {
		fmt.Fprintln(p, strings.TrimRight("  "+line, " \n"))
	}
}

// explainPlacement is the page of one placement.
func explainPlacement(w io.Writer, p block.Placement) {
	fmt.Fprintf(w, "%s\n  %s\n  %s\n", p.Name, p.Equation, p.Paper)
	about, optimizer, traps := sections(p.About)
	out := page{w}
	out.part("What it is", about)
	out.part("Forward", p.Diagram.Forward)
	out.part("Backward (read from right to left; J' is a transposed Jacobian)", p.Diagram.Backward+"\n\n"+p.Backward)
	out.part("Initial values", initialValues(p))
	out.part("Optimizer", optimizer)
	if traps != "" {
		out.part("Traps", traps)
	}
	fmt.Fprintf(w, "\nIn a run file:  model: {norm: {placement: %s}}\nNext:           %s explain backward %s\n", p.Name, programName(), p.Name)
}

// sections cuts a placement's text at the words that open its parts.
func sections(text string) (about, optimizer, traps string) {
	about, rest, _ := strings.Cut(text, "\nOptimizer: ")
	optimizer, traps, _ = strings.Cut(rest, "\nTraps: ")
	return about, optimizer, traps
}

// initialValues says how the parameters of a placement start.
func initialValues(p block.Placement) string {
	s := p.Start()
	var b strings.Builder
	t := newTable(1, 2, 3, 4)
	fmt.Fprintf(&b, "base     %s: %s; tables N(0, 1/width); gains 1, biases 0\n", s.Base, block.Bases[s.Base])
	fmt.Fprintf(&b, "writers  %s (output projection and the MLP's last matrix, whose output is added to the stream)\n", s.Writers)
	fmt.Fprintf(&b, "factor   %s on values, output projection and MLP; queries and keys as base\n", s.Factor)
	if p.Gate != nil {
		fmt.Fprintf(&b, "trained factors on the branches start at %s\n", s.Gate)
	}
	depths := []int{6, 12, 24, 48}
	head, rows := []string{"N"}, [][]string{{"writers"}, {"factor"}, {"trained factor"}}
	for _, n := range depths {
		head = append(head, fmt.Sprint(n))
		writers := 1.0
		if p.Writers == "scaled" {
			writers = invRoot(2 * n)
		}
		rows[0] = append(rows[0], fmt.Sprintf("%.3f", writers*p.BranchFactor(n, n)))
		rows[1] = append(rows[1], fmt.Sprintf("%.3f", p.BranchFactor(n, n)))
		if p.Gate != nil {
			rows[2] = append(rows[2], fmt.Sprintf("%g", p.Gate(n)))
		}
	}
	t.row(head...)
	for _, r := range rows {
		if len(r) > 1 {
			t.row(r...)
		}
	}
	b.WriteString("in figures, on the base's standard deviation:\n")
	t.write(&b, "  ")
	return strings.TrimRight(b.String(), "\n")
}
