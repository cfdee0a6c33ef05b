package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

type verifyFlags struct{ asJSON bool }

func newVerify() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify RUN|CHECKPOINT...",
		Short: "check that checkpoints are whole",
		Long: `Read every file of checkpoints and hold it against the size and the checksum that were written down when it was saved. A run's folder
stands for all checkpoints in it, and says of each why it is kept. Nothing is changed. The exit code is 1 where one is not whole.`,
		Example: `  prenorm verify runs/quickstart
  prenorm verify runs/quickstart/checkpoints/step-00000300 --json`,
		Args: arguments(1, -1, "folders of runs or of checkpoints"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the findings as JSON")
	return cmd
}

// verifyRecord is what was found of a checkpoint.
type verifyRecord struct {
	Checkpoint string `json:"checkpoint"`
	Whole      bool   `json:"whole"`
	Step       int64  `json:"step,omitempty"`
	Files      int    `json:"files,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`
	Problem    string `json:"problem,omitempty"`

	Kept []string `json:"kept,omitempty"` // why it is; none where the next save removes it, or where this was asked of one checkpoint
}

func (f *verifyFlags) run(cmd *cobra.Command, paths []string) error {
	var records []verifyRecord
	whole := true
	for _, path := range paths {
		dirs, err := checkpointsOf(path)
		if err != nil {
			return err
		}
		first := len(records)
		for _, dir := range dirs {
			a, err := checkpoint.Audit(checkpoint.OS, dir)
			r := verifyRecord{Checkpoint: dir, Whole: err == nil, Step: a.Step, Files: a.Files, Bytes: a.Bytes}
			if err != nil {
				r.Problem, whole = err.Error(), false
			}
			records = append(records, r)
		}
		if dirs[0] != path {
			explainKept(path, records[first:])
		}
	}
	if err := f.print(cmd, records); err != nil {
		return err
	}
	if !whole {
		return errReported
	}
	return nil
}

// checkpointsOf are the checkpoints that a path means.
func checkpointsOf(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder: give that of a run, such as runs/quickstart, or of one checkpoint in it", path)
	}
	entries, err := checkpoint.List(checkpoint.OS, filepath.Join(path, train.CheckpointFolder))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, e.Dir)
	}
	if len(dirs) == 0 { // a checkpoint's own folder, whole or not
		dirs = []string{path}
	}
	return dirs, nil
}

func (f *verifyFlags) print(cmd *cobra.Command, records []verifyRecord) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return writeJSON(out, records)
	}
	for _, r := range records {
		if r.Whole {
			kept := ""
			if len(r.Kept) > 0 {
				kept = "; kept: " + strings.Join(r.Kept, ", ")
			}
			fmt.Fprintf(out, "%s: whole, step %d, %s in %d files%s\n", r.Checkpoint, r.Step, metrics.Bytes(r.Bytes), r.Files, kept)
		} else {
			fmt.Fprintf(out, "%s: NOT WHOLE: %s\n", r.Checkpoint, r.Problem)
		}
	}
	return nil
}
