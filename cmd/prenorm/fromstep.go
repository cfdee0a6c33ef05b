package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// base is the checkpoint that the run in a folder goes on from: the newest whole one, or that of --from-step; "" where there is none.
func (f *trainFlags) base(dir string) (string, error) {
	root := filepath.Join(dir, train.CheckpointFolder)
	if f.fromStep < 0 {
		newest, _, err := checkpoint.Latest(checkpoint.OS, root)
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
		if _, damaged = checkpoint.Audit(checkpoint.OS, e.Dir); damaged == nil {
			return e.Dir, nil
		}
	}
	if damaged != nil {
		return "", fmt.Errorf("--from-step %d: the checkpoint is not whole: %w", f.fromStep, damaged)
	}
	return "", usageError{fmt.Errorf("--from-step %d: %s has no checkpoint of that step (steps: %s)", f.fromStep, dir, strings.Join(steps, ", "))}
}

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
	note(cmd.OutOrStdout(), "going back to step %d; nothing is deleted: %s with the measurements, and", step, copied)
	for _, moved := range c.aside {
		note(cmd.OutOrStdout(), "  %s", moved)
	}
	return nil
}

// keepMetrics copies a run's measurements to a new file beside them, as a run that goes on from an older step drops what comes after it. It
// returns the file's path.
func keepMetrics(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, train.MetricsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("metrics.aside-%d.jsonl", n))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, shard.WriteFile(path, data)
		} else if err != nil {
			return "", err
		}
	}
}
