package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/corpus"
	"prenorm/kernels"
	"prenorm/train"
)

type trainFlags struct {
	runFlags
	out, profile  string
	fresh, resume bool
	dry, anyway   bool
	maxSeconds    float64
	maxStep       int64
	fromStep      int64 // -1 for the newest checkpoint

	stop     func() error // returns errInterrupted once there was a Ctrl-C; nil = nobody looks
	newest   string       // checkpoint that is gone on from, "" = none
	finished bool         // the folder's run was at its last step before
	outcome  train.Outcome
}

func newTrain() *cobra.Command {
	f := &trainFlags{}
	cmd := &cobra.Command{
		Use:   "train RUN.yaml|RUN",
		Short: "train a model from a run file, or go on with a run that was stopped",
		Long: `Train a model as a run file or preset says. The run's folder holds its settings, measurements and checkpoints; where it holds a run
already, training goes on from the newest whole checkpoint, with the same result as if it had never stopped. Settings that would
change the result must stay as they were, or be changed by --set; the model, the text and the seed cannot change within a run.

Texts (data.train) are files, folders and globs of .txt, .md, .jsonl, .csv, .tsv and .parquet, each also as .gz, .zst and in .tar, or - for
standard input; docs/data.md tells more. Text whose preparation was interrupted is gone on with where that was.

A run's folder in place of a run file goes on with that run in it, by its own settings, from any directory where its text is found.

Before anything starts, everything that would make the run fail later is said at once and refused: text, tokenizer or weights that are not
there, text shorter than a block, ids that the model lacks, and memory or disk that is not there. --dry-run does that too, and takes three
steps to say what memory, time and disk the run takes; it leaves nothing in the run's folder but the prepared text and run.lock. A step
of four times more or fewer tokens than its learning rate was chosen for is warned of: chosen by the run file for its own sizes, where
--set changes them and not train.optimizer.lr, or by the preset that has the same model, optimizer and rate.
A run whose validations read more tokens than its training is warned of too, where train.eval.windows was not given.

Ctrl-C stops the run after saving it, as the end of the terminal does, or before its first step at once; a second Ctrl-C quits at once, and
says which checkpoint was saved last. The exit code is then 130.`,
		Example: `  prenorm train quickstart
  prenorm train quickstart --set data.train=book.txt --set train.steps=1000 --out runs/book
  prenorm train quickstart --set data.train='[corpus/, dump.jsonl.zst]' --set data.field=body
  prenorm train run.yaml --max-seconds 3600        # stop and save after an hour; the same command goes on
  prenorm train runs/book --set train.steps=2000   # make the run in this folder longer
  prenorm train runs/book --from-step 2000 --set train.optimizer.lr=1e-4   # go on from an older checkpoint
  prenorm train run.yaml --fresh                   # start anew, keeping the old run in a folder beside
  prenorm train run.yaml --dry-run                 # what would it take, and would it come to its end?`,
		Args:              arguments(1, 1, aRunFile),
		ValidArgsFunction: completeRunFile,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.setFlag(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "the run's `folder` (default runs/NAME)")
	cmd.Flags().BoolVar(&f.fresh, "fresh", false, "start anew; the old run is moved to FOLDER/old-1, nothing is deleted")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on with the folder's run, and fail where it holds none")
	f.fromStep = -1
	cmd.Flags().Var((*stepFlag)(&f.fromStep), "from-step", "go on from the checkpoint of this `step`; newer ones are set aside, nothing is deleted")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "take three steps, say what the run takes, and keep nothing")
	cmd.Flags().BoolVar(&f.anyway, "ignore-estimates", false, "start although the memory, or the disk for token files, that the run is estimated to take is not there")
	cmd.Flags().Float64Var(&f.maxSeconds, "max-seconds", 0, "stop and save after this many `seconds`, 0 = no limit")
	cmd.Flags().Int64Var(&f.maxStep, "max-step", 0, "stop and save after this `step` of the run, whose schedule stays that of all its steps; 0 = no limit")
	cmd.Flags().StringVar(&f.profile, "profile", "", "write a trace of a few steps (10 to 12 from here on) to this `file`, for https://ui.perfetto.dev")
	f.runDeviceFlags(cmd)
	must(cmd.MarkFlagDirname("out"))
	return cmd
}

func (f *trainFlags) run(cmd *cobra.Command, path string) error {
	for _, pair := range [][2]string{{"fresh", "resume"}, {"dry-run", "fresh"}, {"dry-run", "from-step"}, {"dry-run", "profile"}, {"dry-run", "max-step"}, {"dry-run", "max-seconds"}, {"fresh", "from-step"}} {
		if err := exclusive(cmd, pair[0], pair[1]); err != nil {
			return err
		}
	}
	if !(f.maxSeconds >= 0 && f.maxSeconds < 1e9) {
		return wrongUsage(cmd, "--max-seconds %g: wants a number of seconds from 0 to 1e9", f.maxSeconds)
	}
	if f.maxStep < 0 {
		return wrongUsage(cmd, "--max-step %d: wants a step from 1 on, or 0", f.maxStep)
	}
	does := savesFirst
	if f.dry {
		does = keepsTokens
	}
	var dir atomic.Value // the run's folder, once it is known
	quit := atOnce(cmd.ErrOrStderr(), func() string {
		if d, known := dir.Load().(string); known && !f.dry {
			return lastSaved(d)
		}
		return ""
	}, os.Exit)
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), does, quit)
	defer release()
	f.stop = stopOf(ctx)
	source, err := f.source(cmd, path)
	if err != nil {
		return err
	}
	if source.own {
		dir.Store(source.dir)
		return f.claimed(ctx, cmd, nil, source)
	}
	loaded, err := f.loadRun(cmd, source)
	if err != nil {
		return err
	}
	if source.dir == "" {
		source.dir = filepath.Join("runs", loaded.Run.Name)
	}
	dir.Store(source.dir)
	return f.claimed(ctx, cmd, loaded, source)
}

// loadRun reads a run file that must name text.
func (f *trainFlags) loadRun(cmd *cobra.Command, source runSource) (*configs.Loaded, error) {
	loaded, err := f.loadBy(cmd, func(sets []string) (*configs.Loaded, error) {
		if source.own {
			return loadOwn(source.file, source.dir, sets)
		}
		return configs.Load(source.file, sets)
	})
	if err != nil {
		return nil, err
	}
	return loaded, loaded.NeedsData()
}

// claimed trains in the folder with its lock held from here on. loaded is nil for the settings of the run in the folder.
func (f *trainFlags) claimed(ctx context.Context, cmd *cobra.Command, loaded *configs.Loaded, source runSource) (err error) {
	defer func() { err = f.explain(cmd, source, err) }()
	c, err := claimFolder(source.dir)
	if err != nil {
		return err
	}
	started := false
	defer func() { err = errors.Join(err, c.release(cmd, !started)) }()
	if err := noteOthers(cmd, source.dir); err != nil {
		return err
	}
	if loaded == nil {
		if source.file, err = f.ownFile(cmd, source.dir); err != nil {
			return f.cutShort(cmd, source, err)
		}
		if loaded, err = f.loadRun(cmd, source); err != nil {
			return err
		}
	}
	be, err := openBackend(loaded.Run.Device, loaded.Run.Options(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer be.Close()
	warnMatMul(cmd, be, loaded)
	if f.dry {
		return f.rehearse(ctx, cmd, be, loaded, source)
	}
	started, err = f.train(ctx, cmd, be, loaded, source, c)
	return err
}

// train prepares the folder and trains. It says whether training started; after --fresh, only a checkpoint counts as a start.
func (f *trainFlags) train(ctx context.Context, cmd *cobra.Command, be kernels.Backend, loaded *configs.Loaded, source runSource, c *claim) (started bool, err error) {
	changed, err := f.prepareFolder(cmd, loaded, source, c)
	if err != nil {
		return false, f.cutShort(cmd, source, err)
	}
	for _, c := range changed {
		if !namesText(c.Key) {
			noteChange(cmd, c)
		}
	}
	room := newRoom(be, loaded.Run, source.dir, f.anyway)
	job := f.job(ctx, cmd, loaded, source, room)
	job.Lock = c.lock
	job.MaxTime, job.MaxStep = time.Duration(f.maxSeconds*float64(time.Second)), f.maxStep
	if f.profile != "" {
		file, err := openTrace(f.profile)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		job.Profile = file
	}
	outcome, err := train.Run(ctx, be, job)
	f.outcome = outcome
	before := outcome.Stopped != "" && outcome.Checkpoint == "" // while it prepared
	started = !before && (err == nil || outcome != (train.Outcome{}) && (c.old == "" || outcome.Checkpoint != ""))
	if err != nil {
		return started, f.failed(cmd, be, loaded, source, err)
	}
	for _, c := range changed {
		if namesText(c.Key) { // training has found it to be the same text by now
			noteChange(cmd, c)
		}
	}
	if f.finished {
		note(cmd.OutOrStdout(), "the run was done already, so nothing was trained: %s", f.anotherRun(source))
	}
	if cache := room.cache(); before && !f.fresh && len(filesLike(cache, "*-*")) > 0 {
		note(cmd.OutOrStdout(), "the text that was prepared is kept in %s: the same command goes on where that was", cache)
	}
	return started, conclude(ctx, cmd, f.again(cmd, source, before), source.dir, loaded.Run, outcome)
}

// job is the run of train and of a rehearsal.
func (f *trainFlags) job(ctx context.Context, cmd *cobra.Command, loaded *configs.Loaded, source runSource, room *room) train.Job {
	job := jobOf(loaded.Run)
	job.Dir, job.Config, job.Room = source.dir, loaded.YAML(), room.lacks
	job.ValidationChosen = loaded.Given("train.eval.windows")
	job.Differs = func(config []byte) []string { return modelDiffers(config, loaded.Run) }
	job.Stdin, job.Out = inputOf(ctx, cmd.InOrStdin()), cmd.OutOrStdout()
	if slices.Contains(job.Data.Paths(), "-") {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	return job
}

// failed gives an error of training the places of the keys at fault, and what the run file says of the text that it needs.
func (f *trainFlags) failed(cmd *cobra.Command, be kernels.Backend, loaded *configs.Loaded, source runSource, err error) error {
	var held *train.HeldBack
	if errors.As(err, &held) {
		held.Program = programName()
		held.Command = func(arguments []string) string {
			return strings.Join(append([]string{commandLine(cmd, source.path, "max-step", "resume", "dry-run")}, arguments...), " ")
		}
	}
	noText := errors.Is(err, corpus.ErrNoText)
	if err = located(loaded, err); noText && loaded.Header != "" {
		return fmt.Errorf("%w\n%s says of itself:\n  %s", err, source.path, strings.ReplaceAll(loaded.Header, "\n", "\n  "))
	}
	return outOfMemory(cmd, be, loaded, err)
}

func noteChange(cmd *cobra.Command, c configs.Change) {
	note(cmd.OutOrStdout(), "changed: %s from %s to %s", c.Key, c.From, c.To)
}

// jobOf copies a run's settings.
func jobOf(r configs.Run) train.Job {
	return train.Job{Name: r.Name, Seed: r.Seed, InitFrom: r.InitFrom, Data: r.Data, Model: r.Model, Train: r.Train, Checkpoint: r.Checkpoint}
}

// note prints a line for the user beside the command's output.
func note(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
