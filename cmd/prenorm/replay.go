package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/train"
)

type replayFlags struct {
	runFlags
	text bool
}

func newReplay() *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay BUNDLE",
		Short: "run a step again that training did not apply, from its bundle",
		Long: `Run the step of a bundle again: a step of a run whose loss or gradient was not finite, or a spike, which training held back and wrote down in
the folder guard of the run's folder. The bundle holds all that the step was made of: weights, moments, state, batches, run file and tokenizer,
and the batches, loss and gradient norm of the last steps before it, which are listed.

On the kind of device that it was recorded on, loss and gradient norm have the same bits and the same op is named as the first whose output was
not finite; anything else is exit code 1. With another --device sums differ in their last bits: then it is told what is found there and by how much
loss and norm differ, and the exit code is 1 only where the step is applied. The CPU replays steps of every precision in fp32.

A bundle is a zip archive: report.json in it has the sizes of every tensor, gradient and moment and of each launch's output, batches.txt the text,
before.txt that of the steps before.`,
		Example: `  prenorm replay runs/book/guard/step-00000123.zip
  prenorm replay runs/book/guard/step-00000123.zip --device cpu
  prenorm replay runs/book/guard/step-00000123.zip --text      # the batches as text, with those of the steps before
  prenorm inspect runs/book/guard/step-00000123.zip            # what it says, without running it`,
		Args:              arguments(1, 1, "one bundle"),
		ValidArgsFunction: completeBundle,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.addDevice(cmd, "", "auto, cpu or cuda (default the one that the step was recorded on)")
	cmd.Flags().BoolVar(&f.text, "text", false, "write the batches of the steps before and of the step as text, what cannot be printed escaped, and run nothing")
	return cmd
}

func (f *replayFlags) run(cmd *cobra.Command, path string) error {
	if f.device != "" {
		if err := f.checkDevice(cmd); err != nil {
			return err
		}
	}
	b, err := train.ReadBundle(path)
	if err != nil {
		return err
	}
	if f.text {
		return writeTexts(cmd.OutOrStdout(), b)
	}
	run, err := f.runOf(b)
	if err != nil {
		return err
	}
	be, err := openSettled(run.Device, run.Options(), cmd.ErrOrStderr())
	if err != nil {
		return ofReplay(err)
	}
	defer be.Close()
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), keepsNone, quitting(cmd))
	defer release()
	out := cmd.OutOrStdout()
	printReport(out, b)
	r, err := train.Replay(ctx, be, b, run.Model, run.Train, run.Seed)
	if err != nil {
		return err
	}
	return compareReplay(out, be, b, r)
}

// runOf is the run of a bundle on the device that is asked for.
func (f *replayFlags) runOf(b *train.Bundle) (configs.Run, error) {
	l, err := configs.Parse(b.Path+": "+train.ConfigFile, b.State.Files[train.ConfigFile], nil)
	if err != nil {
		return configs.Run{}, err
	}
	run := l.Run
	run.Device = b.Report.Device
	if f.device != "" {
		run.Device = f.device
	}
	if f.workers > 0 {
		run.Workers = f.workers
	}
	if b.Report.Products == ownProducts {
		run.Kernels.MatMul = ownProducts // what auto came to then, it need not come to here
	}
	if run.Model.Vocab == 0 {
		t, err := token.Unmarshal(b.State.Files[train.TokenizerFile])
		if err != nil {
			return run, fmt.Errorf("bundle %s: %w", b.Path, err)
		}
		run.Model.Vocab = t.Vocab()
	}
	return run, nil
}

// shown is a text of a bundle as a terminal may show it: quoted where there is something in it that cannot be printed, as anybody may have written
// the bundle.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}

// escaped is a long text of a bundle as a terminal may show it: what cannot be printed, line breaks and tabs apart, is written as Go writes it.
func escaped(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// writeTexts writes the batches as text, those of the steps before first.
func writeTexts(w io.Writer, b *train.Bundle) error {
	text := b.Text
	if b.BeforeText != "" {
		text = fmt.Sprintf("%sstep %d  held back: %s\n\n%s", b.BeforeText, b.Report.Step, shown(b.Report.Cause), b.Text)
	}
	_, err := io.WriteString(w, escaped(text))
	return err
}

// printReport writes what the bundle says.
func printReport(w io.Writer, b *train.Bundle) {
	r := b.Report
	fmt.Fprintf(w, "step      %d of %s, recorded on %s in %s\n", r.Step, shown(r.Name), shown(r.Device), shown(r.Precision))
	fmt.Fprintf(w, "cause     %s\n", shown(r.Cause))
	fmt.Fprintf(w, "recorded  loss %v  gradient norm %v  clip factor %.3g  lr %.3g\n", float64(r.Loss), float64(r.GradNorm), float64(r.Clip), r.LR)
	for _, line := range b.BeforeLines() {
		fmt.Fprintf(w, "before    %s\n", line)
	}
	for _, name := range r.Spoiled {
		fmt.Fprintf(w, "spoiled   %s was not finite before the step\n", shown(name))
	}
	printFirst(w, r.First)
}

func printFirst(w io.Writer, first *train.Finding) {
	if first != nil {
		fmt.Fprintf(w, "first     %s\n", shown(first.String()))
	}
}

// compareReplay says what the replay gave, and fails where that is not what was recorded.
func compareReplay(w io.Writer, be kernels.Backend, b *train.Bundle, r train.Replayed) error {
	fmt.Fprintf(w, "replayed  loss %v  gradient norm %v  on %s\n", r.Loss, r.GradNorm, be.Name())
	printFirst(w, r.First)
	same := r.SameBits(b) && r.SameFinding(b)
	switch {
	case r.Applied():
		fmt.Fprintln(w, "NOT the same: the step is well here and would be applied")
	case same:
		fmt.Fprintln(w, "same, bit for bit")
		return nil
	case elsewhere(be, b.Report) != "":
		fmt.Fprintf(w, "held back here too, %s; %s\n", elsewhere(be, b.Report), difference(b.Report, r.Result))
		return nil
	default:
		fmt.Fprintln(w, "NOT the same: loss, gradient norm or the op that is named differ")
	}
	return errReported
}
