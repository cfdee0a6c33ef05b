package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs/problem"
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
stands for all checkpoints in it, and says of each why it is kept. Nothing is changed. The exit code is 1 where one is not whole, or is of a
newer format than this version checks.`,
		Example: `  prenorm verify runs/quickstart
  prenorm verify runs/quickstart/checkpoints/step-00000300 --json`,
		Args:              arguments(1, -1, "folders of runs or of checkpoints"),
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
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
	Newer      bool   `json:"newer,omitempty"` // its format is not read: whether it is whole is not known
	none       bool   // there is no checkpoint that could be whole

	Aside bool     `json:"set_aside,omitempty"` // it is none of the run any more
	Kept  []string `json:"kept,omitempty"`      // why it is; none where the next save removes it, or where this was asked of one checkpoint
}

func (f *verifyFlags) run(cmd *cobra.Command, paths []string) error {
	var records []verifyRecord
	whole := true
	for _, path := range paths {
		_ = noteOthers(cmd, train.RunOf(path)) // what cannot be read says so itself
		dirs, aside, err := checkpointsOf(path)
		if err != nil {
			records, whole = append(records, verifyRecord{Checkpoint: path, Problem: err.Error(), none: true}), false
			continue
		}
		first := len(records)
		for _, dir := range slices.Concat(dirs, aside) {
			a, err := checkpoint.Audit(checkpoint.OS, dir)
			r := verifyRecord{Checkpoint: dir, Whole: err == nil, Step: a.Step, Files: a.Files, Bytes: a.Bytes, Aside: slices.Contains(aside, dir)}
			if err != nil {
				r.Problem, r.Newer, whole = err.Error(), errors.Is(err, checkpoint.ErrNewer), false
			}
			records = append(records, r)
		}
		if !slices.Contains(dirs, path) {
			explainKept(train.RunOf(path), records[first:first+len(dirs)])
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

// checkpointsOf are the checkpoints that a path means, and those of its run that were set aside.
func checkpointsOf(path string) (dirs, aside []string, err error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no such folder%s: give that of a run, such as runs/quickstart, or of one checkpoint in it", problem.MeantPath(path))
	} else if err != nil || !info.IsDir() {
		return nil, nil, errors.New("is no folder: give that of a run, such as runs/quickstart, or of one checkpoint in it")
	}
	path = train.RunOf(path)
	root := filepath.Join(path, train.CheckpointFolder)
	entries, err := checkpoint.List(checkpoint.OS, root)
	if err == nil {
		aside, err = checkpoint.Aside(checkpoint.OS, root)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		dirs = append(dirs, e.Dir)
	}
	if len(dirs)+len(aside) > 0 {
		return dirs, aside, nil
	}
	if exists(root) || exists(filepath.Join(path, train.MetricsFile)) || len(filesLike(path, "*")) == 0 {
		return nil, nil, errors.New("holds no checkpoint")
	}
	if !exists(filepath.Join(path, manifestFile)) && !exists(filepath.Join(path, train.StateFile)) {
		return nil, nil, errors.New("holds no checkpoint: give the folder of a run, such as runs/quickstart, or of one checkpoint in it")
	}
	return []string{path}, nil, nil // a checkpoint's own folder, whole or not
}

func (f *verifyFlags) print(cmd *cobra.Command, records []verifyRecord) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return writeJSON(out, records)
	}
	for _, r := range records {
		if r.Whole {
			kept := ""
			if r.Aside {
				kept = "; set aside"
			}
			if len(r.Kept) > 0 {
				kept = "; kept: " + strings.Join(r.Kept, ", ")
			}
			fmt.Fprintf(out, "%s: whole, step %d, %s in %d files%s\n", r.Checkpoint, r.Step, metrics.Bytes(r.Bytes), r.Files, kept)
		} else if r.Newer {
			fmt.Fprintf(out, "%s: not checked: %s\n", r.Checkpoint, r.Problem)
		} else if r.none {
			fmt.Fprintf(out, "%s: %s\n", r.Checkpoint, r.Problem)
		} else {
			fmt.Fprintf(out, "%s: NOT WHOLE: %s\n", r.Checkpoint, r.Problem)
		}
	}
	return nil
}
