package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/model/sample"
	"prenorm/train"
)

type sampleFlags struct {
	runFlags
	prompt, promptFile string
	options            sample.Options
	overflow           string
	count, tokens      int
	stops              []string
	weightsFlags
	asJSON bool
}

func newSample() *cobra.Command {
	f := &sampleFlags{}
	cmd := &cobra.Command{
		Use:   "sample RUN|CHECKPOINT",
		Short: "write text with a trained model",
		Long: `Write text with the newest checkpoint of a run's folder, or with one checkpoint's folder. The text goes on from the prompt: that of
--prompt, of --prompt-file, or what is piped in (one line break at its end is dropped). It ends after --tokens, at a --stop text, or where
the model ends the document. The same model, prompt, options and seed give the same text.

The filters work in the order penalty, temperature, top-k, top-p, min-p. With --weights bf16 or int8, a CPU keeps keys and values in
bfloat16 too.`,
		Example: `  prenorm sample runs/quickstart --prompt "The"
  prenorm sample runs/quickstart --prompt "The" -n 3 --temperature 0.7 --top-k 50
  echo "Light is" | prenorm sample runs/quickstart --stop . --seed 7
  prenorm sample runs/quickstart/checkpoints/step-00000300 --temperature 0   # the likeliest text`,
		Args:              sampleArguments,
		ValidArgsFunction: completeRun,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	s := cmd.Flags()
	s.StringVarP(&f.prompt, "prompt", "p", "", "`text` to go on from, - = standard input")
	s.StringVar(&f.promptFile, "prompt-file", "", "`file` with the text to go on from, - = standard input")
	s.Float64Var(&f.options.Temperature, "temperature", 0.8, "flattens (above 1) or sharpens the choice, 0 = always the likeliest token")
	s.IntVar(&f.options.TopK, "top-k", 0, "choose among the `k` likeliest tokens, 0 = all")
	s.Float64Var(&f.options.TopP, "top-p", 0, "choose among the likeliest tokens that make up this `share`, 0 = all")
	s.Float64Var(&f.options.MinP, "min-p", 0, "leave out tokens below this `share` of the likeliest one's probability")
	s.Float64Var(&f.options.RepetitionPenalty, "repetition-penalty", 0, "makes tokens seen before less likely when above 1")
	s.Int64Var(&f.options.Seed, "seed", 0, "starts the random choices (default the run's seed)")
	s.IntVarP(&f.count, "samples", "n", 1, "number of texts, with a line --- between them")
	s.IntVar(&f.tokens, "tokens", 200, "the most tokens that a text gets")
	s.StringArrayVar(&f.stops, "stop", nil, "end before this `text` (repeatable)")
	s.StringVar(&f.overflow, "overflow", sample.Slide, "when the context is full: slide (forget the oldest half) or stop")
	f.weightsFlag(cmd)
	s.BoolVar(&f.asJSON, "json", false, "write each text as a line of JSON")
	f.deviceFlags(cmd)
	must(cmd.RegisterFlagCompletionFunc("overflow", cobra.FixedCompletions([]string{sample.Slide, sample.Stop}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *sampleFlags) run(cmd *cobra.Command, path string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if err := errors.Join(exclusive(cmd, "prompt", "prompt-file"), f.checkWeights(cmd)); err != nil {
		return err
	}
	prompt, err := readPrompt(cmd, f.prompt, f.promptFile)
	if err != nil {
		return err
	}
	t, err := f.open(cmd, path)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.pack(f.weights); err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") {
		f.options.Seed = t.run.Seed
	}
	sampler, err := sample.NewSampler(f.options)
	if err != nil {
		return err
	}
	w := &writer{sampleFlags: f, trained: t, sampler: sampler, prompt: prompt, out: cmd.OutOrStdout()}
	w.terminal = !f.asJSON && isTerminal(w.out)
	if w.ids, err = train.PromptIDs(t.tokenizer, prompt); err != nil {
		return usageError{fmt.Errorf("prompt: %w", ofTrained(err))}
	}
	o := sample.GeneratorOptions{Overflow: f.overflow, Vocab: t.tokenizer.Vocab()}
	if w.group, err = sample.NewGroup(t.weights, o, min(f.count, sample.GroupSize)); err != nil {
		return err
	}
	defer w.group.Free()
	return w.all(cmd)
}

// sampleArguments takes one folder, and says where a prompt goes that stands behind it.
func sampleArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return wrongUsage(cmd, "%s takes one folder, of a run or of a checkpoint. The prompt goes with --prompt:\n  %s sample %s --prompt %s",
			cmd.CommandPath(), programName(), shellWord(args[0]), shellWord(strings.Join(args[1:], " ")))
	}
	return arguments(1, 1, "the folder of a run or of a checkpoint")(cmd, args)
}

// check refuses what no model would make right.
func (f *sampleFlags) check(cmd *cobra.Command) error {
	problems := f.options.Problems()
	if f.overflow != sample.Slide && f.overflow != sample.Stop {
		problems.OneOf("overflow", f.overflow, sample.Slide, sample.Stop)
	}
	problems.Whole("samples", f.count, 1, 1<<20)
	problems.Whole("tokens", f.tokens, 1, 1<<30)
	for _, s := range f.stops {
		if s == "" {
			problems.Addf("stop", "is empty, and would end every text at once")
		}
	}
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = "--" + strings.ReplaceAll(p.Key, "_", "-") + ": " + p.What
	}
	return wrongUsage(cmd, "%s", strings.Join(lines, "\n"))
}
