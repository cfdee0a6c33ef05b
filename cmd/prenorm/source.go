package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// runSource is where a run's settings come from and where the run is.
type runSource struct {
	path string // as on the command line
	file string // the run file, or the name of a preset
	dir  string // the run's folder, "" = runs/NAME
	own  bool   // the settings are those in the run's own folder
}

// source tells a run file from a run's folder.
func (f *trainFlags) source(cmd *cobra.Command, path string) (runSource, error) {
	if !isRunFolder(path) {
		return runSource{path: path, file: path, dir: f.out}, wrongFolder(cmd, path)
	}
	config := filepath.Join(path, train.ConfigFile)
	if f.out != "" {
		return runSource{}, wrongUsage(cmd, "--out %s: a run's folder goes on in that folder; for another run by its settings give %s", shellWord(f.out), shellWord(config))
	}
	return runSource{path: path, file: config, dir: filepath.Clean(path), own: true}, nil
}

// wrongFolder refuses a folder that is none of a run, with what to give in its place. One with a preset's name stands for the preset.
func wrongFolder(cmd *cobra.Command, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || isRunFolder(path) || slices.Contains(configs.Presets(), path) {
		return nil
	}
	if exists(filepath.Join(path, manifestFile)) {
		if cmd.Name() == "train" {
			return wrongUsage(cmd, "%s is the folder of a checkpoint: give its run's folder, or start another run from it with --set %s", path, shellWord("init_from="+path))
		}
		return wrongUsage(cmd, "%s is the folder of a checkpoint: give its run's folder, or its settings, %s", path, filepath.Join(path, train.ConfigFile))
	}
	if run := train.RunOf(path); run != path {
		return wrongUsage(cmd, "%s is the folder of a run's checkpoints: give the run's folder, %s", path, run)
	}
	return wrongUsage(cmd, "%s holds no run, as it has no %s: give a run file, a preset or the folder of a run, such as runs/quickstart", path, train.ConfigFile)
}

// isFolder says whether a path is that of a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sight is what a run's folder was before a command.
type sight struct {
	dir  string
	made []string // the folder and those above it that did not exist, innermost first
}

// lookAt looks at a run's folder.
func lookAt(dir string) sight {
	s := sight{dir: dir}
	for at := filepath.Clean(dir); !exists(at); at = filepath.Dir(at) {
		s.made = append(s.made, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	return s
}

// restore gives up the lock of the run's folder. After a start that failed, it removes the folders that this command made and that nothing came into:
// what is in the run's folder while it is locked, and the folder itself only where it is empty, as another process may come into it meanwhile.
func (s sight) restore(lock *checkpoint.RunLock) error {
	if len(s.made) == 0 || !nothingIn(s.dir) { // text that was prepared stays, and the lock's file as ever
		return lock.Unlock()
	}
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if name := e.Name(); err == nil && name != "run.lock" && name != "run.pid" {
			err = os.Remove(filepath.Join(s.dir, name)) // a file or an empty folder
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("emptying the run folder that was not used: %w", err), lock.Unlock())
	}
	if err := lock.Remove(); err != nil {
		return fmt.Errorf("removing the run folder that was not used: %w", err)
	}
	for _, dir := range s.made {
		if os.Remove(dir) != nil { // it holds something else by now
			break
		}
	}
	return nil
}

// nothingIn says whether a run's folder holds no more than what every start writes: the run file, the lock, empty folders and empty files.
func nothingIn(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		switch {
		case e.IsDir():
			inside, err := os.ReadDir(filepath.Join(dir, e.Name()))
			return err != nil || len(inside) > 0
		case e.Name() == train.ConfigFile, e.Name() == "run.lock", e.Name() == "run.pid":
			return false
		}
		info, err := e.Info()
		return err != nil || info.Size() > 0
	})
}

// sizeOf is the size of a file, 0 where there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
