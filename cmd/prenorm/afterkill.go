package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// sweep removes the unfinished run files, and copies of measurements, that killed processes have left in the run's folder.
func (c *claim) sweep() error {
	return shard.SweepOwn(c.before.dir, func(name string) bool {
		aside, _ := filepath.Match("metrics.aside-*.jsonl", name)
		return aside || name == train.ConfigFile
	})
}

// tidy removes the checkpoints that a process which was killed right after a save had not come to remove, by the policy that it had. Where
// nobody was killed, or the policy is another now, one too many is there because somebody put it there: the next save decides. newest is the
// checkpoint that is gone on from.
func (c *claim) tidy(cmd *cobra.Command, newest string, now train.Checkpoint) error {
	if newest == "" || !c.lock.AfterKill() {
		return nil
	}
	dir := c.before.dir
	was, keep, known := keepOf(dir, newest)
	if !known || was.Keep != now.Keep || was.KeepBest != now.KeepBest || was.KeepEvery != now.KeepEvery {
		return nil
	}
	root := filepath.Join(dir, train.CheckpointFolder)
	if spare, err := anySpare(root, keep); err != nil || !spare {
		return err
	}
	removed, err := checkpoint.Prune(c.lock.Guard(checkpoint.OS), root, keep)
	for _, dir := range removed {
		note(cmd.OutOrStdout(), "removed %s, which the process before would have removed, had it not been killed", dir)
	}
	return err
}

// anySpare says whether a policy has no reason for one of the checkpoints under root, all of them taken for whole: none is read for that.
func anySpare(root string, keep checkpoint.Keep) (bool, error) {
	entries, err := checkpoint.List(checkpoint.OS, root)
	for i, e := range entries {
		if len(keep.Reasons(len(entries)-1-i, e.Step)) == 0 {
			return true, nil
		}
	}
	return false, err
}
