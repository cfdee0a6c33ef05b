package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train"
)

// looseEnough sees that a run which goes on removes no checkpoint that its own policy keeps, unless the command line says so: where it does not,
// the run's policy stays, and that is said. It returns the keys that the command line tightens.
func (f *trainFlags) looseEnough(cmd *cobra.Command, old train.Checkpoint, l *configs.Loaded) (tightened []configs.Change) {
	now := &l.Run.Checkpoint
	for _, k := range []struct {
		key     string
		was     int
		is      *int
		tighter func(was, is int) bool
	}{
		{"checkpoint.keep", old.Keep, &now.Keep, fewerKept},
		{"checkpoint.keep_best", old.KeepBest, &now.KeepBest, func(was, is int) bool { return is < was && now.Keep > 0 }},
		{"checkpoint.keep_every", old.KeepEvery, &now.KeepEvery, func(was, is int) bool { return fewerMultiples(was, is) && now.Keep > 0 }},
	} {
		if !k.tighter(k.was, *k.is) {
			continue
		}
		c := configs.Change{Key: k.key, From: strconv.Itoa(k.was), To: strconv.Itoa(*k.is)}
		if f.given(k.key) {
			tightened = append(tightened, c)
			continue
		}
		*k.is = k.was
		note(cmd.OutOrStdout(), "%s stays %s as the run has it: %s would remove checkpoints that it keeps (--set %s=%s does so)", c.Key, c.From, c.To, c.Key, c.To)
	}
	return tightened
}

// fewerKept says whether checkpoint.keep keeps fewer than before; 0 keeps all.
func fewerKept(was, is int) bool { return is > 0 && (was == 0 || is < was) }

// fewerMultiples says whether some step is a multiple of what checkpoint.keep_every was, and not of what it is; 0 is for none.
func fewerMultiples(was, is int) bool { return was > 0 && (is == 0 || was%is != 0) }
