package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// stepFlag is a step on the command line.
type stepFlag int64

func (s *stepFlag) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *stepFlag) Type() string   { return "step" }

func (s *stepFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return errors.New("wants the step of a checkpoint, a number such as 300 (another run starts from one that was set aside with --set init_from=FOLDER)")
	}
	*s = stepFlag(n)
	return nil
}

// disk is what checkpoints are read from, until Ctrl-C.
func (f *trainFlags) disk() checkpoint.FS {
	if f.stop == nil {
		return checkpoint.OS
	}
	return checkpoint.Stoppable(checkpoint.OS, f.stop)
}

// base is the checkpoint that the run in a folder goes on from: the newest whole one, or that of --from-step; "" where there is none.
func (f *trainFlags) base(dir string) (string, error) {
	root := filepath.Join(dir, train.CheckpointFolder)
	if f.fromStep < 0 {
		newest, _, err := train.Newest(f.disk(), dir)
		return newest, err
	}
	entries, err := checkpoint.List(checkpoint.OS, root)
	if err != nil {
		return "", err
	}
	var steps []string
	var damaged error
	for _, e := range entries {
		if e.Step != f.fromStep {
			steps = append(steps, fmt.Sprint(e.Step))
			continue
		}
		if _, damaged = checkpoint.Audit(f.disk(), e.Dir); damaged == nil {
			return e.Dir, nil
		}
	}
	aside, err := asideOf(root, f.fromStep)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 && aside == "" {
		return "", usageError{fmt.Errorf("--from-step %d: %s has no checkpoint at all: leave --from-step out to start at step 0", f.fromStep, dir)}
	}
	switch {
	case errors.Is(damaged, errInterrupted):
		return "", damaged
	case errors.Is(damaged, checkpoint.ErrNewer):
		return "", fmt.Errorf("--from-step %d: the checkpoint cannot be read: %w", f.fromStep, damaged)
	case damaged != nil:
		return "", fmt.Errorf("--from-step %d: the checkpoint is not whole: %w%s", f.fromStep, damaged, aside)
	}
	return "", usageError{fmt.Errorf("--from-step %d: %s has no checkpoint of that step (steps: %s)%s", f.fromStep, dir, strings.Join(steps, ", "), aside)}
}

// asideOf says which checkpoints of a step were set aside, and how one of them becomes the run's again; "" where none was.
func asideOf(root string, step int64) (text string, err error) {
	dirs, err := checkpoint.Aside(checkpoint.OS, root)
	for _, dir := range dirs {
		name, _, _ := strings.Cut(filepath.Base(dir), ".")
		if at, ok := checkpoint.StepOf(name); ok && at == step {
			text += "\n  " + dir
		}
	}
	if text != "" {
		text = "\nset aside of it:" + text + "\n" + comeBack + "; its measurements are in a metrics.aside-N.jsonl, to be put in the place of metrics.jsonl"
	}
	return text, err
}

// comeBack says how a run returns to what was set aside.
const comeBack = "to come back to one, cut .aside-N off its name, and go on from its step"

// goBack makes the checkpoint of --from-step the newest: those above it step aside, and what was measured after it is kept beside.
func (c *claim) goBack(cmd *cobra.Command, step int64) error {
	dir := c.before.dir
	root := filepath.Join(dir, train.CheckpointFolder)
	entries, err := checkpoint.List(checkpoint.OS, root)
	if err != nil || len(entries) == 0 || entries[len(entries)-1].Step <= step {
		return err
	}
	copied, err := keepMetrics(dir)
	if err != nil {
		return fmt.Errorf("--from-step: %w", err)
	}
	if c.aside, err = checkpoint.SetAside(checkpoint.OS, root, step); err != nil {
		return fmt.Errorf("--from-step: %w", err)
	}
	measured := ""
	if copied != "" {
		measured = " " + copied + " with the measurements, and"
	}
	note(cmd.OutOrStdout(), "going back to step %d; nothing is deleted:%s", step, measured)
	for _, moved := range c.aside {
		note(cmd.OutOrStdout(), "  %s", moved)
	}
	if len(c.aside) > 0 {
		note(cmd.OutOrStdout(), "%s", comeBack)
	}
	return nil
}

// startOver says of a run whose folder has no checkpoint that it begins at step 0, and keeps beside it what was measured before.
func (c *claim) startOver(cmd *cobra.Command) error {
	dir := c.before.dir
	entries, err := checkpoint.List(checkpoint.OS, filepath.Join(dir, train.CheckpointFolder))
	measured := sizeOf(filepath.Join(dir, train.MetricsFile)) > 0
	if err != nil || len(entries) > 0 || c.config == nil && !measured {
		return err
	}
	text := "no checkpoint yet: starting at step 0"
	if measured {
		copied, err := keepMetrics(dir)
		if err != nil {
			return err
		}
		text += "; what was measured before is in " + copied
	}
	note(cmd.OutOrStdout(), "%s", text)
	return nil
}

// keepMetrics copies a run's measurements to a new file beside them, as a run that goes on from an older step drops what comes after it. One of
// the same bytes that is there already is taken for it. It returns the file's path, "" where nothing was measured.
func keepMetrics(dir string) (string, error) {
	data, err := regular.ReadFile(filepath.Join(dir, train.MetricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("metrics.aside-%d.jsonl", n))
		if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, shard.WriteFile(path, data)
		} else if err != nil {
			return "", err
		} else if !info.Mode().IsRegular() || info.Size() != int64(len(data)) {
			continue
		}
		if there, err := regular.ReadFile(path); err != nil || bytes.Equal(there, data) {
			return path, err
		}
	}
}
