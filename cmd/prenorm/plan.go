package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/train"
	"prenorm/train/metrics"
)

type planFlags struct {
	runFlags
	params, asJSON bool
}

func newPlan() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan RUN.yaml|RUN",
		Short: "show a run's parameters, memory and arithmetic before it starts",
		Long: `Show what a run will take, by its run file or its folder: parameters by role, the bytes that training allocates, and the arithmetic.
The memory is that of the compiled programs, to the byte; what Go's runtime and the text's buffers take comes on top.

The text is not needed. Only for a tokenizer of kind char it decides the vocabulary: its characters are counted where it is there, and
else 96 are assumed, which the output says; --set model.vocab=N gives another number.

Floating-point operations are those of matrix products and attention: a multiply-add counts as two, attention as if nothing were masked,
and the backward pass as computed, without what it computes again.`,
		Example: `  prenorm plan quickstart
  prenorm plan gpt2-124m --set train.batch=4 --json
  prenorm plan quickstart --params                  # every tensor
  prenorm plan runs/quickstart`,
		Args:              arguments(1, 1, aRunFile),
		ValidArgsFunction: completeRunFile,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.setFlag(cmd)
	f.deviceFlags(cmd)
	cmd.Flags().BoolVar(&f.params, "params", false, "list every tensor: shape, role, initial values, weight decay")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, path string) error {
	if err := f.checkDevice(cmd); err != nil {
		return err
	}
	l, err := f.load(cmd, path)
	if err != nil {
		return err
	}
	run := l.Run
	if cmd.Flags().Changed("device") || !f.given("device") {
		f.override(cmd, &run)
	}
	vocab, source, err := vocabOf(cmd, l)
	if err != nil {
		return err
	}
	run.Model.Vocab = vocab
	be, err := openPlanner(run.Device, run.Options(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer be.Close()
	p, err := planOf(be, run)
	if err != nil {
		return err
	}
	p.VocabSource = source
	if f.params {
		p.Tensors = p.tensors()
	}
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), p)
	}
	p.print(cmd.OutOrStdout(), run)
	return nil
}

func (p *plan) print(w io.Writer, run configs.Run) {
	fmt.Fprintf(w, "%s, %s\n", run.Name, train.Describe(run.Model, p.Parameters.Total))
	if p.VocabSource == vocabAssumed {
		fmt.Fprintf(w, "vocab %d assumed (printable ASCII and line break): the text is not there to count; --set model.vocab=N\n", p.Vocab)
	}
	fmt.Fprintln(w, "\nparameters")
	p.printRoles(w)
	if p.Tensors != nil {
		fmt.Fprintln(w, "\ntensors, in the order of checkpoints")
		printTensors(w, p.Tensors)
	}
	fmt.Fprintf(w, "\nmemory on %s in %s\n", p.Device, p.Precision)
	p.Memory.print(w)
	fmt.Fprintln(w, "\ntokens")
	t := newTable(1)
	t.row("a step", grouped(p.Tokens.Step), fmt.Sprintf("%s × %s × %d accumulated", counted(run.Train.Batch, "sequence"), counted(run.Model.Context, "token"), run.Train.Accumulate))
	t.row("the run", grouped(p.Tokens.Run), counted(run.Train.Steps, "step"))
	t.write(w, "  ")
	fmt.Fprintln(w, "\nfloating-point operations")
	t = newTable(1)
	a := p.Arithmetic
	t.row("a token, forward", metrics.Count(a.ForwardToken))
	t.row("a token, training", metrics.Count(a.TrainToken))
	t.row("a step", metrics.Count(a.Step))
	t.row("the run", metrics.Count(a.Run))
	t.write(w, "  ")
}

func (p *plan) printRoles(w io.Writer) {
	t := newTable(1, 2, 3)
	for _, r := range p.Parameters.Roles {
		t.row(r.Role, counted(r.Tensors, "tensor"), grouped(r.Values), fmt.Sprintf("%.1f%%", 100*float64(r.Values)/float64(p.Parameters.Total)))
	}
	t.row("total", counted(p.Parameters.Tensors, "tensor"), grouped(p.Parameters.Total), "")
	t.write(w, "  ")
}

func (m memory) print(w io.Writer) {
	t := newTable(1)
	t.row("weights", metrics.Bytes(m.Weights))
	t.row("gradients", metrics.Bytes(m.Gradients))
	t.row("optimizer", metrics.Bytes(m.Moments), m.Optimizer)
	t.row("training step", metrics.Bytes(m.Train), "activations and their gradients")
	t.row("validation", metrics.Bytes(m.Eval))
	t.row("sampling", metrics.Bytes(m.Sample), fmt.Sprintf("%s of them the cache of keys and values", metrics.Bytes(m.Cache)))
	t.row("in all", metrics.Bytes(m.Total), fmt.Sprintf("%s bytes", grouped(m.Total)))
	switch {
	case m.Background:
		t.row("copy for saving", metrics.Bytes(m.Saving), "more, on the host: checkpoints are written while training goes on")
	case m.Saving > 0:
		t.row("while saving", metrics.Bytes(m.Saving), "more, on the host: training waits")
	default:
		t.row("copy for saving", "none", "training waits while a checkpoint is written")
	}
	if m.Rewind > 0 {
		t.row("copy to rewind to", metrics.Bytes(m.Rewind), "more, on the host; checkpoints are larger by it")
	}
	if m.Recent > 0 {
		t.row("last batches", metrics.Bytes(m.Recent), "more, on the host: a bundle has those of the last steps")
	}
	if m.Bundling > 0 {
		t.row("copy for a bundle", metrics.Bytes(m.Bundling), "more, on the host, while one is written; not beside a copy for saving that training waits for")
	}
	if m.Bundle > 0 {
		t.row("a bundle", metrics.Bytes(m.Bundle), "on disk, and the text, where a step is held back (train.guard.bundles)")
	}
	t.write(w, "  ")
}

func printTensors(w io.Writer, list []tensor) {
	t := newTable(2)
	for _, p := range list {
		decay := ""
		if p.Decay {
			decay = "decays"
		}
		start := "all " + problem.Number(p.Mean)
		if p.Std != 0 {
			start = fmt.Sprintf("N(%s, %.4g²)", problem.Number(p.Mean), p.Std)
		}
		t.row(p.Name, strings.ReplaceAll(strings.Trim(fmt.Sprint(p.Shape), "[]"), " ", "×"), grouped(p.Values), p.Role, start, decay)
	}
	t.write(w, "  ")
}

// counted is a number of things in words: "1 tensor", "8 tensors".
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
