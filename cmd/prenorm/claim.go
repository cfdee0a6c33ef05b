package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// claim is a run's folder in the hands of one command, which holds its lock from before the first look until its end.
type claim struct {
	before sight
	config []byte // of the run file as it was; nil for none
	lock   *checkpoint.RunLock
	wrote  bool     // the run file
	old    string   // where --fresh put the old run, "" = nowhere
	aside  []string // checkpoints that --from-step has set aside
}

// claimFolder makes the folder where it is missing and takes its lock.
func claimFolder(dir string) (*claim, error) {
	c := &claim{before: lookAt(dir)}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, unwritable(dir, fmt.Errorf("run folder: %w", err))
	}
	var err error
	if c.lock, err = checkpoint.Lock(dir); err != nil {
		return nil, unwritable(dir, err)
	}
	c.config, err = regular.ReadFile(filepath.Join(dir, train.ConfigFile)) // another command may have held the folder before
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("run folder: %w", err), c.lock.Unlock())
	}
	return c, nil
}

// unwritable says what to do about a folder that cannot be written to, where err is of that kind. A dry run writes there too: prepared text.
func unwritable(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	if exists(filepath.Join(dir, train.ConfigFile)) {
		return fmt.Errorf("%w: a run is written to: make %s writable, or copy it to where it can be and go on there", err, dir)
	}
	return fmt.Errorf("%w: name a folder that can be written to with --out", err)
}

// release ends the claim. After a start that failed it leaves the folder as it was.
func (c *claim) release(cmd *cobra.Command, failed bool) error {
	if !failed {
		return c.lock.Unlock()
	}
	err := c.lock.Held() // or what is undone would be another's
	if err == nil {
		err = c.undo(cmd)
	}
	if err != nil {
		return errors.Join(err, c.lock.Unlock())
	}
	return c.before.restore(c.lock)
}

// undo brings back the run file, and the run or the checkpoints that were set aside.
func (c *claim) undo(cmd *cobra.Command) error {
	config := filepath.Join(c.before.dir, train.ConfigFile)
	if len(c.aside) > 0 {
		if err := checkpoint.PutBack(checkpoint.OS, filepath.Join(c.before.dir, train.CheckpointFolder), c.aside); err != nil {
			return err
		}
		note(cmd.OutOrStdout(), "the start failed, the checkpoints have their names back")
	}
	switch {
	case c.old != "":
		return c.bringBack(cmd)
	case !c.wrote:
		return nil
	case c.config != nil:
		return shard.WriteFile(config, c.config)
	}
	return os.Remove(config)
}

// runNames are what a run leaves in its folder, in the order in which it is set aside. Checkpoints go last, and come back first: where they
// are, there is the run.
var runNames = []string{train.MetricsFile, train.ConfigFile, train.BundleFolder, train.CheckpointFolder}

// bringBack moves the run that was set aside back, in place of what a start without a checkpoint left.
func (c *claim) bringBack(cmd *cobra.Command) error {
	failed := func(err error) error { return fmt.Errorf("the old run stays in %s: %w", c.old, err) }
	root := filepath.Join(c.before.dir, train.CheckpointFolder)
	if _, err := checkpoint.Clean(checkpoint.OS, root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	for _, name := range slices.Backward(runNames) {
		path := filepath.Join(c.before.dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder with something in it is refused
			return failed(err)
		}
		if err := os.Rename(filepath.Join(c.old, name), path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err)
		}
	}
	if err := os.Remove(c.old); err != nil {
		return err
	}
	note(cmd.OutOrStdout(), "the start failed, the old run is back in %s", c.before.dir)
	return nil
}

// setAside moves what an old run left in the folder to a new folder in it.
func (c *claim) setAside(cmd *cobra.Command) error {
	dir := c.before.dir
	var there []string
	for _, name := range runNames {
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
			return fmt.Errorf("--fresh: the old run is in part in %s: %w", old, err)
		}
	}
	c.old = old
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
