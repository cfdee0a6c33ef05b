package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// prepareFolder makes a run's folder ready for train.Run: it refuses settings that the run in it does not allow, moves that run away where
// --fresh asks for it, and writes the run file as resolved. It returns what changed within the run.
func (f *trainFlags) prepareFolder(cmd *cobra.Command, l *configs.Loaded, source runSource, c *claim) (changed []configs.Change, err error) {
	if err := c.sweep(); err != nil {
		return nil, err
	}
	if f.fresh {
		err = c.setAside(cmd)
	} else {
		if changed, err = f.checkRun(cmd, l, source); err == nil {
			err = c.startOver(cmd)
		}
		if err == nil && f.fromStep < 0 {
			err = c.tidy(cmd, f.newest, l.Run.Checkpoint)
		}
	}
	if err != nil {
		return nil, err
	}
	if f.fromStep >= 0 {
		if err := c.goBack(cmd, f.fromStep); err != nil {
			return nil, err
		}
	}
	c.wrote = true
	return changed, shard.WriteFile(filepath.Join(source.dir, train.ConfigFile), l.YAML())
}

// ownFile is the run file by which the run in a folder goes on: that of its newest whole checkpoint, or the one of --from-step, or the folder's own before there is
// one. The folder's may hold what was asked for and never came into the run.
func (f *trainFlags) ownFile(cmd *cobra.Command, dir string) (string, error) {
	config := filepath.Join(dir, train.ConfigFile)
	newest, err := f.base(dir)
	if f.fresh && err != nil { // it starts anew because of that
		return config, nil
	}
	if err != nil || newest == "" {
		return config, err
	}
	file := filepath.Join(newest, train.ConfigFile)
	saved, err := regular.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the settings of the run in %s: %w", dir, err)
	}
	if now, err := regular.ReadFile(config); err == nil && !bytes.Equal(now, saved) && !onlyFree(now, saved) {
		note(cmd.ErrOrStderr(), "warning: %s is not what the run was saved with; it goes on by %s (change settings with --set)", config, file)
	}
	return file, nil
}

// onlyFree says whether two run files differ in keys alone that cannot change a result. Such changes come into a run's folder at once, and
// into its checkpoints with the next one.
func onlyFree(now, saved []byte) bool {
	a, errA := configs.Parse(train.ConfigFile, now, nil)
	b, errB := configs.Parse(train.ConfigFile, saved, nil)
	return errors.Join(errA, errB) == nil &&
		!slices.ContainsFunc(configs.Diff(a.Run, b.Run), func(c configs.Change) bool { return freedomOf(c.Key) != free })
}

// checkRun compares the run in the folder, where there is one, with the run that is asked for.
func (f *trainFlags) checkRun(cmd *cobra.Command, l *configs.Loaded, source runSource) ([]configs.Change, error) {
	dir := source.dir
	newest, err := f.base(dir)
	if err != nil {
		return nil, err
	}
	f.newest = newest
	if newest == "" {
		if f.resume {
			return nil, usageError{fmt.Errorf("--resume: %s holds no checkpoint to go on from: name the run's folder with --out, or leave --resume out to start a run", dir)}
		}
		return nil, nil
	}
	file := filepath.Join(newest, train.ConfigFile)
	text, err := regular.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the settings of the run in %s: %w", dir, err)
	}
	old, err := configs.Parse(file, text, nil)
	if err != nil {
		return nil, err
	}
	if err := l.KeepRuled(old.Run); err != nil {
		return nil, err
	}
	changed, err := f.compare(cmd, old.Run, l, source, file)
	if err != nil {
		return nil, err
	}
	changed = append(changed, f.looseEnough(cmd, old.Run.Checkpoint, l)...)
	step := stepOf(newest)
	f.finished = step == int64(l.Run.Train.Steps)
	if step > int64(l.Run.Train.Steps) {
		return nil, usageError{fmt.Errorf("%s is at step %d already, and train.steps is %d: set it to %d or more, or start anew with --fresh or another --out",
			dir, step, l.Run.Train.Steps, step)}
	}
	return changed, nil
}

// stepOf is the step of a checkpoint's folder, -1 where it is none.
func stepOf(dir string) int64 {
	if step, ok := checkpoint.StepOf(filepath.Base(dir)); ok {
		return step
	}
	return -1
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
	case under("checkpoint"), under("train.log"), under("train.inspect"), slices.Contains([]string{"train.guard.bundles", "name", "device", "kernels.matmul", "workers", "data.cache"}, key):
		return free
	case under("train"), slices.Contains([]string{"data.train", "data.val.files", "data.stages", "precision"}, key):
		return explicit
	}
	return fixed
}

// namesText says whether a key names text, which training compares itself.
func namesText(key string) bool { return key == "data.train" || key == "data.val.files" }

// compare refuses differences between the folder's run and the new one that nobody asked for, or that cannot be, and returns the others.
// file is the newest checkpoint's run file.
func (f *trainFlags) compare(cmd *cobra.Command, old configs.Run, l *configs.Loaded, source runSource, file string) (changed []configs.Change, err error) {
	var refused []configs.Change
	stuck := false
	for _, c := range configs.Diff(old, l.Run) {
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
		return nil, f.refusal(cmd, refused, stuck, l, source, file)
	}
	return changed, nil
}

// refusal lists the differences and what can be done.
func (f *trainFlags) refusal(cmd *cobra.Command, refused []configs.Change, stuck bool, l *configs.Loaded, source runSource, file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s holds a run with other settings:\n", source.dir)
	own := programName() + " train " + shellWord(source.dir)
	if !exists(filepath.Join(source.dir, train.ConfigFile)) {
		own = programName() + " train " + shellWord(file) + " --out " + shellWord(source.dir)
	}
	for _, c := range refused {
		says := "file says"
		switch {
		case f.given(c.Key):
			says = "--set says"
		case !l.Given(c.Key):
			says = "the default is"
		}
		fmt.Fprintf(&b, "  %s: run has %s, %s %s\n", c.Key, c.From, says, c.To)
	}
	fmt.Fprintf(&b, "To go on with the run's own settings:\n  %s\n", own)
	if !stuck {
		again := commandLine(cmd, source.path)
		for _, c := range refused {
			again += " --set " + shellWord(c.Key+"="+c.To)
		}
		fmt.Fprintf(&b, "To change them from here on:\n  %s\n", again)
	}
	fmt.Fprint(&b, "To start another run, add --fresh (the old one is kept) or name another folder with --out.")
	return usageError{errors.New(b.String())}
}
