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

	"prenorm/configs"
	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// prepareFolder makes a run's folder ready for train.Run: it refuses settings that the run in it does not allow, moves that run away where
// --fresh asks for it, and writes the run file as resolved.
func (f *trainFlags) prepareFolder(cmd *cobra.Command, l *configs.Loaded, path, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	lock, err := checkpoint.Lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if f.fresh {
		err = setAside(cmd, dir)
	} else {
		err = f.checkRun(cmd, l, path, dir)
	}
	if err != nil {
		return err
	}
	return shard.WriteFile(filepath.Join(dir, train.ConfigFile), l.YAML())
}

// checkRun compares the run in the folder, where there is one, with the run that is asked for.
func (f *trainFlags) checkRun(cmd *cobra.Command, l *configs.Loaded, path, dir string) error {
	newest, _, err := checkpoint.Latest(checkpoint.OS, filepath.Join(dir, train.CheckpointFolder))
	if err != nil {
		return err
	}
	if newest == "" {
		if f.resume {
			return usageError{fmt.Errorf("--resume: %s holds no checkpoint to go on from: name the run's folder with --out, or leave --resume out to start a run", dir)}
		}
		return nil
	}
	file := filepath.Join(newest, train.ConfigFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the settings of the run in %s: %w", dir, err)
	}
	old, err := configs.Parse(file, text, nil)
	if err != nil {
		return err
	}
	if err := f.compare(cmd, old.Run, l.Run, path, dir); err != nil {
		return err
	}
	if step := stepOf(newest); step > int64(l.Run.Train.Steps) {
		return usageError{fmt.Errorf("%s is at step %d already, and train.steps is %d: set it to %d or more, or start anew with --fresh or another --out",
			dir, step, l.Run.Train.Steps, step)}
	}
	return nil
}

// stepOf is the step of a checkpoint's folder.
func stepOf(dir string) int64 {
	entries, _ := checkpoint.List(checkpoint.OS, filepath.Dir(dir))
	for _, e := range entries {
		if e.Dir == dir {
			return e.Step
		}
	}
	return 0
}

// freedom says what a key's change does to a run.
type freedom int

const (
	free     freedom = iota // cannot change the result
	explicit                // changes it, and may where --set says so
	fixed                   // cannot be changed within a run
)

// freedomOf says how free a key is. Keys that name text may change by --set because training compares the text itself.
func freedomOf(key string) freedom {
	under := func(section string) bool { return strings.HasPrefix(key, section+".") }
	switch {
	case under("checkpoint"), under("train.log"), slices.Contains([]string{"name", "device", "workers", "data.cache"}, key):
		return free
	case under("train"), slices.Contains([]string{"data.train", "data.val.files"}, key):
		return explicit
	}
	return fixed
}

// compare refuses differences between the folder's run and the new one that nobody asked for, or that cannot be.
func (f *trainFlags) compare(cmd *cobra.Command, old, run configs.Run, path, dir string) error {
	var refused, changed []configs.Change
	stuck := false
	for _, c := range configs.Diff(old, run) {
		switch how := freedomOf(c.Key); {
		case how == free:
		case how == explicit && f.given(c.Key):
			changed = append(changed, c)
		default:
			refused = append(refused, c)
			stuck = stuck || how == fixed
		}
	}
	if len(refused) > 0 {
		return f.refusal(cmd, refused, stuck, path, dir)
	}
	for _, c := range changed {
		note(cmd.OutOrStdout(), "changed: %s from %s → %s", c.Key, c.From, c.To)
	}
	return nil
}

// refusal lists the differences and what can be done.
func (f *trainFlags) refusal(cmd *cobra.Command, refused []configs.Change, stuck bool, path, dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s holds a run with other settings:\n", dir)
	for _, c := range refused {
		source := "file"
		if f.given(c.Key) {
			source = "--set"
		}
		fmt.Fprintf(&b, "  %s: run has %s, %s says %s\n", c.Key, c.From, source, c.To)
	}
	fmt.Fprintf(&b, "To go on with the run's own settings:\n  prenorm train %s --out %s\n", shellWord(filepath.Join(dir, train.ConfigFile)), shellWord(dir))
	if !stuck {
		again := commandLine(cmd, path)
		for _, c := range refused {
			again += " --set " + shellWord(c.Key+"="+c.To)
		}
		fmt.Fprintf(&b, "To change them from here on:\n  %s\n", again)
	}
	fmt.Fprint(&b, "To start another run, add --fresh (the old one is kept) or name another folder with --out.")
	return usageError{errors.New(b.String())}
}

// setAside moves what an old run left in the folder to a new folder in it. Checkpoints go last: as long as they are there, so is the run.
func setAside(cmd *cobra.Command, dir string) error {
	var there []string
	for _, name := range []string{train.MetricsFile, train.ConfigFile, train.CheckpointFolder} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			there = append(there, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--fresh: %w", err)
		}
	}
	if len(there) == 0 {
		return nil
	}
	old, err := newFolder(dir, "old-")
	if err != nil {
		return fmt.Errorf("--fresh: %w", err)
	}
	for _, name := range there {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(old, name)); err != nil {
			return fmt.Errorf("--fresh: %w", err)
		}
	}
	note(cmd.OutOrStdout(), "the old run is now in %s", old)
	return nil
}

// newFolder makes the first folder of prefix1, prefix2, … that does not exist.
func newFolder(dir, prefix string) (string, error) {
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprint(prefix, n))
		err := os.Mkdir(path, 0o777)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}
