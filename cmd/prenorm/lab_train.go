package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/model/block"
	"prenorm/train/lab"
	pages "prenorm/train/lab/report"
)

// labTrainFlags are the flags of commands that train.
type labTrainFlags struct {
	labFlags
	rates   []float64
	warmups []int
	jobs    int
}

func (f *labTrainFlags) flags(cmd *cobra.Command, name string, rates []float64, seeds []int64, placements ...string) {
	f.placementsFlag(cmd, placements...)
	f.seedsFlag(cmd, seeds...)
	ratesVar(cmd.Flags(), &f.rates, "lrs", rates, "learning `rates`, separated by commas")
	wholesVar(cmd.Flags(), &f.warmups, "warmups", nil, "0,50", "`steps` of warm-up, separated by commas (default: the run file's)")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "runs at once on the CPU, each with one thread, 0 = as many as there are cores; 1 gives one run all threads")
	f.setFlag(cmd)
	f.outFlag(cmd, name)
	f.runDeviceFlags(cmd)
}

// grid reads the run file and makes the comparison.
func (f *labTrainFlags) grid(cmd *cobra.Command, path string) (lab.Grid, *configs.Loaded, error) {
	if err := f.check(cmd, block.Names()); err != nil {
		return lab.Grid{}, nil, err
	}
	slices.Sort(f.rates)
	f.rates = slices.Compact(f.rates)
	if len(f.rates) == 0 || !(f.rates[0] > 0) || f.rates[len(f.rates)-1] > 10 {
		return lab.Grid{}, nil, wrongUsage(cmd, "--lrs %v: want learning rates above 0, at most 10", f.rates)
	}
	if f.jobs < 0 {
		return lab.Grid{}, nil, wrongUsage(cmd, "--jobs %d: wants 0 or more", f.jobs)
	}
	loaded, err := f.load(cmd, path)
	if err != nil {
		return lab.Grid{}, nil, warmupRemedy(err)
	}
	if err := loaded.NeedsData(); err != nil {
		return lab.Grid{}, nil, err
	}
	r := loaded.Run
	slices.Sort(f.warmups)
	for _, w := range f.warmups {
		if w < 0 || w >= r.Train.Steps {
			return lab.Grid{}, nil, wrongUsage(cmd, "--warmups %d: wants 0 to %d, one less than train.steps", w, r.Train.Steps-1)
		}
	}
	for _, name := range f.placements {
		placed := r.Model.WithPlacement(name)
		placed.Layers = r.Model.Layers // all have one depth
		if err := placed.Problems().Err(); err != nil {
			return lab.Grid{}, nil, usageError{fmt.Errorf("%s with placement %s: %w", path, name, err)}
		}
	}
	return lab.Grid{Model: r.Model, Train: r.Train, Placements: f.placements, Rates: f.rates, Seeds: f.seeds, Warmups: slices.Compact(f.warmups)}, loaded, nil
}

// warmupRemedy adds what to type to a run file's problem with its warm-up, which is the one that a comparison of few steps meets.
func warmupRemedy(err error) error {
	var problems *configs.Error
	if !errors.As(err, &problems) {
		return err
	}
	for i, p := range problems.Problems {
		if p.Key == "train.schedule.warmup" {
			problems.Problems[i].What += "; add --set train.schedule.warmup=-1"
		}
	}
	return err
}

// train trains a grid of a run file and writes the page.
func (f *labTrainFlags) train(cmd *cobra.Command, path string, report func(lab.Grid, *lab.Text, []lab.Place) pages.Report) error {
	g, loaded, err := f.grid(cmd, path)
	if err != nil {
		return err
	}
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), keepsRuns, quitting(cmd))
	defer release()
	text, err := lab.OpenText(loaded.Run.Data, firstOf(loaded.Run.Data.Cache, filepath.Join(f.out, "data")), stopOf(ctx))
	if err != nil {
		return err
	}
	defer text.Close()
	if g.Model.Vocab == 0 {
		g.Model.Vocab = text.Vocab
	}
	if g.Model.Vocab < text.Vocab {
		return usageError{fmt.Errorf("model.vocab is %d, the tokenizer has %d ids: set model.vocab to 0 (the tokenizer's) or to %d or more", g.Model.Vocab, text.Vocab, text.Vocab)}
	}
	note(cmd.OutOrStdout(), "%s of %s into %s; finished runs are kept there and not trained again", counted(g.Size(), "run"), counted(g.Train.Steps, "step"), f.out)
	runner := f.runner(cmd, text, loaded.Run.Device, loaded.Run.Workers)
	places, err := g.Run(ctx, runner)
	if ctx.Err() != nil {
		note(cmd.OutOrStdout(), "stopped; the same command goes on with the runs that are left")
		return errInterrupted
	}
	if err != nil {
		return err
	}
	wide, places, added, err := g.Widen(runner, places)
	if err != nil {
		return err
	}
	if added > 0 {
		note(cmd.OutOrStdout(), "shown as well: %s that earlier commands left in the folder, with the same settings but for placement, rate, warm-up or seed", counted(added, "run"))
	}
	return f.write(cmd, report(wide, text, places))
}

// runner trains on the flags' device: on the CPU several runs at once, on a GPU one after the other.
func (f *labTrainFlags) runner(cmd *cobra.Command, text *lab.Text, device string, workers int) *lab.Runner {
	return newRunner(cmd, f.out, text, device, workers, f.jobs)
}

func newRunner(cmd *cobra.Command, dir string, text *lab.Text, device string, workers, jobs int) *lab.Runner {
	if device == "auto" && !slices.Contains(knownKernels(), "cuda") {
		device = "cpu"
	}
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
		if workers > 0 {
			jobs = min(jobs, workers)
		}
	}
	if device != "cpu" {
		jobs = 1
	}
	began := time.Now()
	return &lab.Runner{Dir: dir, Text: text, Device: device, Jobs: jobs,
		Open: func(each int) (kernels.Backend, error) {
			if each == 0 {
				each = workers
			}
			return openBackend(device, kernels.Options{Workers: each}, cmd.ErrOrStderr())
		},
		Log: func(done, all int, r lab.CellResult, kept bool) {
			note(cmd.ErrOrStderr(), "%s", lab.Progress(done, all, r, kept, began))
		}}
}

func newLabCompare() *cobra.Command {
	f := &labTrainFlags{}
	cmd := &cobra.Command{
		Use:   "compare RUN.yaml|RUN",
		Short: "train placements on the same batches, each at several learning rates and seeds",
		Long: `Train the model of a run file, or of the run in a folder, with several placements, each with the initial values that it asks for, at
several learning rates and with several seeds: runs of one seed read the same batches in the same order. The page ranks the placements by
validation loss at the best rate of each, with the range over seeds, and names runs that diverged, fell back, or sit at the text's unigram
entropy.

Finished runs are kept in the folder: the same command after an interruption goes on with those that are left, and more seeds, rates or
placements only add runs. The page and the tables show all finished runs of the folder whose other settings are the same; give another
--out to see some alone. On the CPU several runs go at once, each with one thread, which is faster for small models than one run with all.`,
		Example: `  prenorm lab compare quickstart --placements pre,post,deepnorm --lrs 1e-3,3e-3 --seeds 1,2,3
  prenorm lab compare run.yaml --set train.steps=200 --set model.layers=12 --out runs/lab/deep`,
		Args: arguments(1, 1, aRunFile), ValidArgsFunction: completeRunFile,
		RunE: func(cmd *cobra.Command, args []string) error { return f.train(cmd, args[0], lab.Grid.CompareReport) },
	}
	f.flags(cmd, "compare", []float64{1e-3, 3e-3}, []int64{1, 2}, "pre", "post")
	return cmd
}

func newLabLR() *cobra.Command {
	f := &labTrainFlags{}
	cmd := &cobra.Command{
		Use:   "lr RUN.yaml|RUN",
		Short: "the largest stable learning rate of each placement, and which rate and warm-up to take",
		Long: `Sweep the learning rate, and the warm-up where several are given, for each placement, with the model of a run file or of the run in a
folder. The page says for each what the largest rate is up to which no run failed, how sensitive the loss is to the rate (Wortsman et al.
2023, arXiv 2309.14322), and which rate and warm-up to take and why. Finished runs are kept in the folder and shown again by a later
command whose other settings are the same.`,
		Example: `  prenorm lab lr quickstart --placements pre,post --set train.steps=200
  prenorm lab lr quickstart --placements post --warmups 0,50 --lrs 3e-4,1e-3,3e-3,1e-2`,
		Args: arguments(1, 1, aRunFile), ValidArgsFunction: completeRunFile,
		RunE: func(cmd *cobra.Command, args []string) error { return f.train(cmd, args[0], lab.Grid.RatesReport) },
	}
	f.flags(cmd, "lr", []float64{3e-4, 1e-3, 3e-3, 1e-2, 3e-2}, []int64{1}, "pre", "post")
	return cmd
}

func newLabDrop() *cobra.Command {
	f := &labFlags{}
	windows := 0
	cmd := &cobra.Command{
		Use:   "drop RUN|CHECKPOINT...",
		Short: "the validation loss of trained models without each of their blocks",
		Long: `Measure a trained model's validation loss without each of its blocks: the block's input is handed on as its output, and nothing is trained
anew. With several runs they are put side by side.`,
		Example: `  prenorm lab drop runs/quickstart
  prenorm lab drop runs/pre runs/lns --windows 64`,
		Args:              arguments(1, -1, "folders of runs or checkpoints"),
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.drop(cmd, args, windows) },
	}
	cmd.Flags().IntVar(&windows, "windows", 0, "read only so many windows of the validation text, evenly spread, 0 = all")
	f.outFlag(cmd, "drop")
	f.deviceFlags(cmd)
	return cmd
}

func (f *labFlags) drop(cmd *cobra.Command, paths []string, windows int) error {
	if windows < 0 {
		return wrongUsage(cmd, "--windows %d: wants 0 or more", windows)
	}
	if err := mayBeFolder(cmd, "out", f.out); err != nil {
		return err
	}
	var results []lab.DropResult
	for _, path := range paths {
		r, err := f.dropOne(cmd.Context(), cmd, path, windows)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	return f.write(cmd, lab.DropReport(results))
}

func (f *labFlags) dropOne(ctx context.Context, cmd *cobra.Command, path string, windows int) (lab.DropResult, error) {
	t, err := f.open(cmd, path)
	if err != nil {
		return lab.DropResult{}, err
	}
	defer t.close()
	if len(t.run.Data.Sources) > 0 || t.run.Data.Starts() {
		return lab.DropResult{}, fmt.Errorf("%s: blocks are dropped from runs on windows over one text only, and this run has data.sources, data.packing or data.cross_documents", path)
	}
	texts, err := t.validation()
	if err != nil {
		return lab.DropResult{}, err
	}
	defer closeTexts(texts)
	return lab.Drop(ctx, strings.TrimSuffix(path, "/"), t.weights, texts[0].text, texts[0].size, windows)
}
