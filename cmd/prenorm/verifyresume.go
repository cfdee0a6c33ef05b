package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

type verifyResumeFlags struct {
	runFlags
	steps int
	other int
	keep  string
}

func newVerifyResume() *cobra.Command {
	f := &verifyResumeFlags{}
	cmd := &cobra.Command{
		Use:   "verify-resume RUN.yaml|RUN",
		Short: "show that a killed run goes on as if nothing had happened",
		Long: `Train a run for 2 K steps, and once more, kill that process once it has saved step K, and have it go on from there to 2 K steps; then
compare every byte of both states: weights, optimizer, place in the text, and the losses of every step. It is done with your own run file,
or the settings of the run in a folder, on this machine, in a folder of its own; runs/ is not touched. The exit code is 1 where anything
differs. Killed itself, it leaves its folder prenorm-verify-resume-… among the temporary files, which may be removed.`,
		Example: `  prenorm verify-resume quickstart --steps 20
  prenorm verify-resume run.yaml --steps 50 --resume-workers 1   # go on with another number of threads`,
		Args:              arguments(1, 1, aRunFile),
		ValidArgsFunction: completeRunFile,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.setFlag(cmd)
	cmd.Flags().IntVar(&f.steps, "steps", 10, "K, the `steps` before the kill, and after it")
	cmd.Flags().IntVar(&f.other, "resume-workers", 0, "threads of the CPU backend after the kill, 0 = as before")
	cmd.Flags().StringVar(&f.keep, "out", "", "keep both runs in this new `folder` (default: a temporary one, removed where they are the same)")
	f.runDeviceFlags(cmd)
	must(cmd.MarkFlagDirname("out"))
	return cmd
}

func (f *verifyResumeFlags) run(cmd *cobra.Command, file string) error {
	loaded, err := f.load(cmd, file)
	if err != nil {
		return err
	}
	if err := loaded.NeedsData(); err != nil {
		return err
	}
	switch steps := loaded.Run.Train.Steps; {
	case f.steps < 1 || 2*f.steps > steps:
		return wrongUsage(cmd, "--steps %d: wants 1 to %d, half of the run's %d steps", f.steps, steps/2, steps)
	case f.other < 0:
		return wrongUsage(cmd, "--resume-workers %d: wants 0 or more", f.other)
	case slices.Contains(loaded.Run.Data.Paths(), "-"):
		return wrongUsage(cmd, "the text comes from standard input, which can be read once: name files with --set data.train=PATH")
	}
	dir, err := f.folder()
	if err != nil {
		return err
	}
	if isRunFolder(file) { // which training would go on with
		file = filepath.Join(dir, "run.yaml")
		if err := shard.WriteFile(file, loaded.YAML()); err != nil {
			return err
		}
	}
	does := keepsNone
	if f.keep != "" {
		does = keepsParts
	}
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), does, quitting(cmd))
	defer release()
	v := &resumeCheck{verifyResumeFlags: f, cmd: cmd, file: file, dir: dir}
	differ, err := v.compare(ctx)
	if err == nil && differ == "" {
		fmt.Fprintf(cmd.OutOrStdout(), "same, bit for bit: %d steps, and %d + %s + %d\n", 2*f.steps, v.at, v.between(), 2*int64(f.steps)-v.at)
		if f.keep == "" {
			return os.RemoveAll(dir)
		}
		return nil
	}
	if errors.Is(err, errInterrupted) {
		return errors.Join(err, v.given())
	}
	if err != nil {
		return fmt.Errorf("%w (what there is of both runs: %s)", err, dir)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "NOT the same: %s\nboth runs: %s (prenorm diff compares them)\n", differ, dir)
	return errReported
}

// given says how far an interrupted check came, and removes both runs where they are in a folder that nobody named.
func (v *resumeCheck) given() error {
	out := v.cmd.OutOrStdout()
	fmt.Fprintf(out, "stopped: nothing was compared; %d of %d steps were trained without a kill, %d with one\n", len(losses(v.whole())), 2*v.steps, len(losses(v.parts())))
	if v.keep != "" {
		fmt.Fprintf(out, "what there is of both runs: %s\n", v.dir)
		return nil
	}
	return os.RemoveAll(v.dir)
}

// folder makes the folder of both runs.
func (f *verifyResumeFlags) folder() (string, error) {
	if f.keep == "" {
		return os.MkdirTemp("", "prenorm-verify-resume-")
	}
	if err := os.Mkdir(f.keep, 0o777); err != nil {
		return "", usageError{fmt.Errorf("--out: %w", err)}
	}
	return f.keep, nil
}

// resumeCheck is one check at work.
type resumeCheck struct {
	*verifyResumeFlags
	cmd  *cobra.Command
	file string
	dir  string
	at   int64 // the step that the killed run goes on from
	over bool  // it came to its end before it was killed
}

// between is what happened where the run goes on.
func (v *resumeCheck) between() string {
	if v.over {
		return "put back to its checkpoint, not killed"
	}
	return "kill"
}

func (v *resumeCheck) whole() string { return filepath.Join(v.dir, "whole") }
func (v *resumeCheck) parts() string { return filepath.Join(v.dir, "parts") }

// compare trains both runs and says how they differ, "" for not at all.
func (v *resumeCheck) compare(ctx context.Context) (string, error) {
	whole, parts := v.whole(), v.parts()
	say := func(format string, args ...any) { note(v.cmd.ErrOrStderr(), format, args...) }
	say("training %d steps …", 2*v.steps)
	if _, err := v.train(ctx, whole, v.workers, 0); err != nil {
		return "", err
	}
	say("training again, to be killed after step %d …", v.steps)
	if _, err := v.train(ctx, parts, v.workers, v.steps); err != nil {
		return "", err
	}
	var err error
	if v.at, err = v.putBack(parts); err != nil {
		return "", err
	}
	say("going on from step %d …", v.at)
	if differ, err := v.goOn(ctx, parts); differ != "" || err != nil {
		return differ, err
	}
	return v.differ(whole, parts, stopOf(ctx))
}

// train runs the program in a process of its own until step 2 K, or kills it once it has saved the given step and written down one after it. Once
// ctx ends it kills it at once. It returns what the process said.
func (v *resumeCheck) train(ctx context.Context, dir string, workers, kill int) (said string, err error) {
	stop := stopOf(ctx)
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{"train", v.file, "--out", dir, "--max-step", strconv.Itoa(2 * v.steps)}
	for _, s := range slices.Concat(v.sets, []string{"train.log.every=1", "checkpoint.every=" + strconv.Itoa(v.steps), keepsAll}) {
		args = append(args, "--set", s)
	}
	if v.cmd.Flags().Changed("device") {
		args = append(args, "--device", v.device)
	}
	if workers > 0 {
		args = append(args, "--workers", strconv.Itoa(workers))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out bytes.Buffer
	c := exec.CommandContext(ctx, self, args...) // is killed when ctx ends
	c.Stdout, c.Stderr = &out, &out
	diesWithParent(c)
	runtime.LockOSThread() // the thread that starts it must not end before it
	defer runtime.UnlockOSThread()
	if err := c.Start(); err != nil {
		return "", errors.Join(err, stop())
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			if stopped := stop(); stopped != nil {
				return "", stopped
			}
			text := strings.TrimSpace(out.String())
			if err != nil {
				return "", fmt.Errorf("train: %w\n%s", err, text)
			}
			if kill > 0 {
				v.over = true
				note(v.cmd.ErrOrStderr(), "it came to its end before it could be killed: what it saved there is removed")
			}
			return text, nil
		case <-time.After(time.Millisecond):
			if kill > 0 && savedStep(dir) >= int64(kill) && len(losses(dir)) > kill {
				cancel()
				<-ended
				return "", stop()
			}
		}
	}
}

// losses are the lines of the metrics of a run that are of its steps, applied or held back, without what depends on the clock.
func losses(dir string) (lines []string) {
	data, err := regular.ReadFile(filepath.Join(dir, train.MetricsFile))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var r struct {
			Kind     string          `json:"kind"`
			Step     int64           `json:"step"`
			Loss     json.RawMessage `json:"loss"`
			GradNorm json.RawMessage `json:"grad_norm"`
		}
		switch err := json.Unmarshal(line, &r); {
		case err != nil:
		case r.Kind == metrics.KindTrain:
			lines = append(lines, fmt.Sprintf("step %d: loss %s, gradient norm %s", r.Step, r.Loss, r.GradNorm))
		case r.Kind == metrics.KindGuard:
			lines = append(lines, fmt.Sprintf("step %d: held back %s", r.Step, line))
		}
	}
	return lines
}

// workersLine is the number of threads in a run file as it is written out.
var workersLine = regexp.MustCompile(`(?m)^workers: .*\n`)

// differ compares the runs' checkpoints of step 2 K, and their metrics. Nothing is compared once stop returns an error.
func (v *resumeCheck) differ(whole, parts string, stop func() error) (string, error) {
	var states []*checkpoint.Loaded
	for _, dir := range []string{whole, parts} {
		c, _, err := train.OpenCheckpoint(dir)
		if err := errors.Join(err, stop()); err != nil {
			return "", err
		}
		if c.Step != int64(2*v.steps) {
			return "", errors.New(dir + " ended at step " + strconv.FormatInt(c.Step, 10))
		}
		states = append(states, c)
	}
	if v.other > 0 { // the one setting that was changed
		for _, s := range states {
			s.Files[train.ConfigFile] = workersLine.ReplaceAll(s.Files[train.ConfigFile], nil)
		}
	}
	d, err := checkpoint.Compare(states[0], states[1])
	if err != nil {
		return "", err
	}
	if !d.Same() {
		return fmt.Sprintf("%d tensors, state %v, files %v", len(d.Tensors), d.State, d.Files), nil
	}
	x, y := losses(whole), losses(parts)
	if !slices.Equal(x, y) {
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				return x[i] + " without a kill, with it " + y[i], nil
			}
		}
		return fmt.Sprintf("%d steps are recorded without a kill, %d with it", len(x), len(y)), nil
	}
	return "", nil
}
