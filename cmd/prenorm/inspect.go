package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/regular"
	"prenorm/train"
	pages "prenorm/train/lab/report"
	"prenorm/train/metrics"
	"prenorm/train/stream"
)

type inspectFlags struct {
	step     int64
	plot     string
	loss     string
	matrices bool
}

func newInspect() *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect RUN|BUNDLE",
		Short: "show a run's residual stream and its gradient, by layer and over time",
		Long: `Show what a run recorded at inspected steps (train.inspect.every): for every sub-layer the size of the residual stream before and behind
it, of what its branch adds, and of the gradient: what comes from above, and of that below the sub-layer the part that came along the
straight path and the part through the branch. Sizes are root mean squares over the elements. They are those of the first micro-batch of the
step, before its update. Sub-layers have the names of their tensors, which count from 0: layers.0 is the first block, block 1 of lab drop; plots write
"0 attn" for layers.0.attn.

The second table follows the stream over time: its size below the first sub-layer and above the last, the slope of its growth with depth on
logarithmic scales (0.5 where every sub-layer adds the same variance), and the gradient at both ends. The third has the matrices: how large
the update was beside the weights, about 1e-3 in most healthy runs.

Of a bundle, the file of a step that training held back, it shows what was recorded of the step and of the last steps before it.`,
		Example: `  prenorm inspect runs/quickstart
  prenorm inspect runs/quickstart --step 1 --matrices
  prenorm inspect runs/quickstart --plot stream.png   # layers by steps; .svg and .pdf too
  prenorm inspect runs/quickstart --loss loss.png     # losses beside ln V, unigram and bigram
  prenorm inspect runs/book/guard/step-00000123.zip   # a step that was held back`,
		Args:              arguments(1, 1, "the folder of a run, or a bundle"),
		ValidArgsFunction: completeInspected,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().Int64Var(&f.step, "step", 0, "the step shown by layer, 0 = the last that was inspected")
	cmd.Flags().StringVar(&f.plot, "plot", "", "draw heat maps, sub-layers by steps, to a `file`: .png, .svg or .pdf")
	cmd.Flags().BoolVar(&f.matrices, "matrices", false, "list every matrix, not kinds of them")
	cmd.Flags().StringVar(&f.loss, "loss", "", "draw the losses with the lines of reference of the run's text to a `file`: .png or .svg")
	must(cmd.RegisterFlagCompletionFunc("loss", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return lossFormats, cobra.ShellCompDirectiveFilterFileExt
	}))
	must(cmd.RegisterFlagCompletionFunc("plot", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return stream.Formats, cobra.ShellCompDirectiveFilterFileExt
	}))
	return cmd
}

func (f *inspectFlags) run(cmd *cobra.Command, dir string) error {
	for _, other := range []string{"plot", "step", "matrices"} {
		if err := exclusive(cmd, "loss", other); err != nil {
			return err
		}
	}
	if isFile(dir) {
		return inspectBundle(cmd, dir)
	}
	if f.plot != "" {
		if _, err := stream.Format(f.plot); err != nil {
			return wrongUsage(cmd, "--plot %w", err)
		}
	}
	if f.loss != "" {
		if !slices.Contains(lossFormats, strings.ToLower(strings.TrimPrefix(filepath.Ext(f.loss), "."))) {
			return wrongUsage(cmd, "--loss %s: the name ends in .%s", f.loss, strings.Join(lossFormats, " or ."))
		}
		return drawLoss(cmd.OutOrStdout(), f.loss, dir)
	}
	h, err := historyOf(dir)
	if err != nil {
		return err
	}
	at := len(h) - 1
	if f.step != 0 {
		if at = slices.IndexFunc(h, func(r metrics.Inspect) bool { return r.Step == f.step }); at < 0 {
			return fmt.Errorf("--step %d was not inspected; inspected were steps %s", f.step, steps(h))
		}
	}
	w := cmd.OutOrStdout()
	if f.plot != "" {
		if err := drawTo(f.plot, h, titleOf(dir)); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %d inspected steps\n", f.plot, len(h))
		return nil
	}
	printSublayers(w, h[at])
	printTrends(w, h)
	printMatrices(w, h[at], f.matrices)
	return nil
}

// historyOf reads a run's inspected steps.
func historyOf(dir string) (stream.History, error) {
	records, err := recordsOf(dir)
	if err != nil {
		return nil, err
	}
	h := stream.Of(records)
	if len(h) == 0 {
		return nil, fmt.Errorf("%s: no step was inspected: train with --set train.inspect.every=50, or another interval", dir)
	}
	return h, nil
}

// titleOf names a run and what it trains, as far as its folder says.
func titleOf(dir string) string {
	path := filepath.Join(dir, train.ConfigFile)
	title := filepath.Base(filepath.Clean(dir))
	text, err := regular.ReadFile(path)
	if err != nil {
		return title
	}
	l, err := configs.Parse(path, text, nil)
	if err != nil {
		return title
	}
	m := l.Run.Model
	return fmt.Sprintf("%s: %s %s, %s of width %d", title, m.Norm.Placement, m.Norm.Kind, counted(m.Layers, "layer"), m.Width)
}

// steps lists the steps of a history.
func steps(h stream.History) string {
	words := make([]string, len(h))
	for i, r := range h {
		words[i] = fmt.Sprint(r.Step)
	}
	if len(words) > 12 {
		words = append(append(words[:5:5], "…"), words[len(words)-3:]...)
	}
	return strings.Join(words, ", ")
}

// drawTo draws the history to a file.
func drawTo(path string, h stream.History, title string) error {
	format, err := stream.Format(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := stream.Draw(&b, h, title, format); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// figure writes a number with three digits, short for people.
func figure(x float64) string {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return "NaN"
	case size != 0 && (size >= 1e4 || size < 1e-2):
		return strings.Replace(strconv.FormatFloat(x, 'e', 2, 64), "e-0", "e-", 1)
	}
	return pages.Plain(x)
}

// angle writes a cosine.
func angle(x metrics.Float) string { return fmt.Sprintf("%+.2f", float64(x)) }

// part writes a part of a gradient, or a dash where there is no such path.
func part(x metrics.Float) string {
	if x == 0 {
		return "-"
	}
	return figure(float64(x))
}

func printSublayers(w io.Writer, r metrics.Inspect) {
	fmt.Fprintf(w, "step %d, the stream at each sub-layer\n", r.Step)
	t := newTable(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	t.row("", "in", "branch", "ratio", "cosine", "out", "max", "grad", "straight", "through", "cosine")
	for _, s := range slices.Backward(r.Sublayers) {
		t.row(s.Name, figure(float64(s.In)), figure(float64(s.Branch)), figure(float64(s.Ratio)), angle(s.Cosine), figure(float64(s.Out)),
			figure(float64(s.Max)), figure(float64(s.Grad)), part(s.Straight), part(s.Through), angle(s.GradCosine))
	}
	t.write(w, "  ")
	fmt.Fprintln(w, "  in, out: the stream before and behind; ratio: branch/in; cosine: of branch and in; grad: by out; of that by in, what came straight\n"+
		"  and through the branch, and their cosine. layers.0 is the first block, which lab drop counts as block 1")
}

// mostTrends is how many steps the table over time shows.
const mostTrends = 16

func printTrends(w io.Writer, h stream.History) {
	fmt.Fprintln(w, "\nover time")
	t := newTable(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	t.row("step", "first in", "last out", "growth", "slope", "max", "branch/in", "grad last", "grad first", "straight")
	for _, r := range spread(h, mostTrends) {
		x := stream.TrendOf(r)
		t.row(fmt.Sprint(x.Step), figure(x.First), figure(x.Last), figure(x.Last/x.First), fmt.Sprintf("%+.2f", x.Slope), figure(x.Max), figure(x.Ratio),
			figure(x.Top), figure(x.Bottom), fmt.Sprintf("%.0f%%", 100*x.Straight))
	}
	t.write(w, "  ")
	fmt.Fprintln(w, "  growth: last out/first in; slope: of log out by log depth; grad: behind the last and the first sub-layer; straight: its share of\n"+
		"  both parts' squares")
}

// spread picks at most n records, evenly, the first and the last among them.
func spread(h stream.History, n int) stream.History {
	if len(h) <= n {
		return h
	}
	picked := make(stream.History, n)
	for i := range picked {
		picked[i] = h[i*(len(h)-1)/(n-1)]
	}
	return picked
}

func printMatrices(w io.Writer, r metrics.Inspect, all bool) {
	fmt.Fprintf(w, "\nstep %d, matrices\n", r.Step)
	if all {
		t := newTable(1, 2, 3, 4)
		t.row("", "weight", "grad", "update", "update/weight")
		for _, m := range r.Matrices {
			t.row(m.Name, figure(float64(m.Weight)), figure(float64(m.Grad)), figure(float64(m.Update)), figure(float64(m.Ratio)))
		}
		t.write(w, "  ")
		return
	}
	t := newTable(1, 2, 3, 4, 5, 6, 7)
	t.row("", "layers", "weight", "grad", "least grad", "update/weight: least", "median", "most")
	for _, g := range stream.Groups(r.Matrices) {
		t.row(g.Name, fmt.Sprint(g.Count), figure(g.Weight), figure(g.Grad), figure(g.Least), figure(g.Low), figure(g.Median), figure(g.High))
	}
	t.write(w, "  ")
}
