package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/regular"
	"prenorm/kernels"
	"prenorm/train/bench"
	"prenorm/train/profile"
)

// benchParts are what can be measured, in order.
var benchParts = []string{"kernels", "train", "sample"}

type benchFlags struct {
	runFlags
	config, compare, profile string
	seconds                  float64
	asJSON                   bool
}

func newBench() *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench [kernels] [train] [sample]",
		Short: "measure how fast this machine trains and samples a model",
		Long: `Measure a model on this machine, with random weights and tokens: no text is needed. Without a word all three parts are measured:

  kernels  every call of the training step, each shape once
  train    whole training steps, clipping and the optimizer included, and each kernel's part of them
  sample   reading a prompt, and writing token by token, with weights in float32, in bfloat16 and in 8 bits

Beside the figures stand ceilings that are measured first: the memory traffic of a large copy and of reading, and the arithmetic of the
best square matrix product, in the run's precision, and on a CPU of multiply-adds in registers, which is then what shares are of. A
kernel's share of the ceiling is the least time that its arithmetic or its memory traffic (every view once: what is written at the speed
of a copy, with as much of what is read, and what is read besides at that of reading) would take there, over the time it took; it is above
100% where a cache holds the views. The training step's share of peak is the model's arithmetic in matrix products and attention (the
backward pass as computed, without what it computes again) over the ceiling of arithmetic: model FLOPs utilisation against what was
measured, not against a data sheet. Writing token by token is held against reading from memory as it was right before or after, whichever
was faster. For the step's kernels some more steps are timed launch by launch; on a GPU that costs time itself, so that their sum may be
more than the step's median. On a CPU the reference kernels are timed too, where that is quick: "naive" is how many times slower they are.

--profile FILE writes a trace of three training steps, launch by launch, where FILE ends in .json, and a CPU profile of what is measured,
for go tool pprof, where it ends in .pprof or .prof. --compare reads the JSON of an earlier call and prints ratios: above 1 is faster now.`,
		Example: `  prenorm bench --config quickstart
  prenorm bench train --config gpt2-124m --device cuda --json > before.json
  prenorm bench train --config gpt2-124m --device cuda --set kernels.matmul=own --compare before.json
  prenorm bench train --config quickstart --profile trace.json   # open it at https://ui.perfetto.dev
  prenorm bench sample --config quickstart --profile cpu.pprof   # go tool pprof -top cpu.pprof`,
		ValidArgs: benchParts,
		RunE:      f.run,
	}
	cmd.Flags().StringVar(&f.config, "config", "quickstart", "`run file`, preset or run's folder whose model and training are measured")
	cmd.Flags().Float64Var(&f.seconds, "seconds", 5, "about how many `seconds` each part measures")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	cmd.Flags().StringVar(&f.compare, "compare", "", "print ratios to the figures in this `file`, which --json wrote")
	cmd.Flags().StringVar(&f.profile, "profile", "", "write a profile to this `file`: NAME.json for https://ui.perfetto.dev, NAME.pprof for go tool pprof")
	f.setFlag(cmd)
	f.runDeviceFlags(cmd)
	must(cmd.RegisterFlagCompletionFunc("config", completeRunFile))
	return cmd
}

// check refuses what no machine would make right, and opens the older figures.
func (f *benchFlags) check(cmd *cobra.Command, parts []string) (old *bench.Report, err error) {
	for _, p := range parts {
		if !slices.Contains(benchParts, p) {
			return nil, wrongUsage(cmd, "there is nothing called %q to measure (parts: %s)", p, strings.Join(benchParts, ", "))
		}
	}
	if !(f.seconds > 0 && f.seconds <= 3600) {
		return nil, wrongUsage(cmd, "--seconds %g: wants a number above 0, up to 3600", f.seconds)
	}
	if err := f.checkProfile(cmd, parts); err != nil {
		return nil, err
	}
	if f.compare == "" {
		return nil, nil
	}
	if f.asJSON {
		return nil, wrongUsage(cmd, "--json and --compare exclude each other: compare the files that two calls with --json wrote")
	}
	file, err := regular.Open(f.compare)
	if err != nil {
		return nil, usageError{fmt.Errorf("--compare: %w", err)}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxReport))
	if err != nil {
		return nil, usageError{fmt.Errorf("--compare: %w", err)}
	}
	return reportOf(f.compare, text)
}

// maxReport bounds what is read as a report, in bytes; one has some kilobytes.
const maxReport = 16 << 20

// reportOf reads what an earlier bench --json wrote.
func reportOf(name string, text []byte) (*bench.Report, error) {
	old := &bench.Report{}
	if err := json.Unmarshal(text, old); err != nil || !(old.Ceilings.Copy > 0) {
		return nil, usageError{fmt.Errorf("--compare: %s does not hold what this version's prenorm bench --json writes (measure anew)", name)}
	}
	return old, nil
}

func (f *benchFlags) run(cmd *cobra.Command, parts []string) (err error) {
	old, err := f.check(cmd, parts)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		parts = benchParts
	}
	l, err := f.loadUnscheduled(cmd)
	if err != nil {
		return err
	}
	run := l.Run
	if run.Model.Vocab, _, err = vocabOf(cmd, l); err != nil {
		return err
	}
	profile, err := f.openProfile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, profile.Close()) }()
	be, err := openBackend(run.Device, run.Options(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer be.Close()
	warnMatMul(cmd, be, l)
	if err := profile.start(); err != nil {
		return err
	}
	r, recording, err := f.measure(cmd, be, run, parts)
	if err != nil {
		return explainMemory(be, run, err)
	}
	if err := profile.finish(cmd, r, recording); err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), r)
	}
	printBench(cmd.OutOrStdout(), r)
	if old != nil {
		printRatios(cmd.OutOrStdout(), old, r)
	}
	return nil
}

// loadUnscheduled reads the run file as that of a run without end: rules and warnings of what happens at which step are not for steps that
// are only timed.
func (f *benchFlags) loadUnscheduled(cmd *cobra.Command) (*configs.Loaded, error) {
	r := f.runFlags
	r.sets = append(slices.Clone(r.sets), "train.steps=1000000000")
	return r.load(cmd, f.config)
}

// measure measures the parts.
func (f *benchFlags) measure(cmd *cobra.Command, be kernels.Backend, run configs.Run, parts []string) (r *bench.Report, recording *profile.Recorder, err error) {
	o := bench.Options{Model: run.Model, Train: run.Train, Seconds: f.seconds, Seed: run.Seed}
	r, err = bench.New(be, o)
	if err != nil {
		return nil, nil, err
	}
	describeBench(r, be, run)
	var naive kernels.Backend
	if be.Name() == "cpu" {
		if naive, err = openKernels("ref", kernels.Options{}); err != nil {
			return nil, nil, err
		}
		defer naive.Close()
	}
	for _, part := range benchParts {
		if !slices.Contains(parts, part) {
			continue
		}
		note(cmd.ErrOrStderr(), "measuring %s …", part)
		switch part {
		case "kernels":
			err = r.MeasureKernels(cmd.Context(), be, naive, o)
		case "train":
			recording, err = f.measureTrain(cmd, be, run, r, o)
		case "sample":
			err = r.MeasureSample(cmd.Context(), be, o)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return r, recording, nil
}

// measureTrain measures training beside the memory that is planned for it.
func (f *benchFlags) measureTrain(cmd *cobra.Command, be kernels.Backend, run configs.Run, r *bench.Report, o bench.Options) (*profile.Recorder, error) {
	p, err := planOf(be, run)
	if err != nil {
		return nil, err
	}
	recording, err := r.MeasureTrain(cmd.Context(), be, o)
	if err != nil {
		return nil, err
	}
	m := p.Memory
	r.Train.Memory = m.Weights + m.Gradients + m.Moments + m.Train
	return recording, nil
}

// describeBench says what is measured on what.
func describeBench(r *bench.Report, be kernels.Backend, run configs.Run) {
	r.Name = run.Name
	if be.Name() == "cpu" {
		r.Workers = run.Workers
		if r.Workers == 0 {
			r.Workers = runtime.GOMAXPROCS(0)
		}
		return
	}
	if d, ok := be.(kernels.Describer); ok {
		if facts, err := d.Describe(); err == nil {
			for _, fact := range facts {
				if fact.Name == "gpu" {
					r.GPU = fact.Value
				}
			}
		}
	}
}
