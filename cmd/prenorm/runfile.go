package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/train"
)

// runFlags are the flags of commands that read a run file.
type runFlags struct {
	sets    []string
	device  string
	workers int
}

// setFlag is --set alone.
func (r *runFlags) setFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&r.sets, "set", nil, "set a key of the run file: `key=value`, such as train.steps=100 (repeatable)")
	must(cmd.RegisterFlagCompletionFunc("set", completeKeys))
}

// deviceWords are the values of --device.
var deviceWords = []string{"auto", "cpu", "cuda"}

// deviceFlags are --device and --workers of commands whose device is the flag's, whatever a run file says.
func (r *runFlags) deviceFlags(cmd *cobra.Command) {
	r.addDevice(cmd, "auto", "auto, cpu or cuda; auto is the GPU where one can be used, else the CPU")
}

// runDeviceFlags are --device and --workers of commands that follow the run file without them.
func (r *runFlags) runDeviceFlags(cmd *cobra.Command) {
	r.addDevice(cmd, "", "auto, cpu or cuda (default the run's own)")
}

func (r *runFlags) addDevice(cmd *cobra.Command, device, help string) {
	cmd.Flags().StringVar(&r.device, "device", device, help)
	cmd.Flags().IntVar(&r.workers, "workers", 0, "threads of the CPU backend, 0 = all cores; in place of the run's own")
	must(cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions(deviceWords, cobra.ShellCompDirectiveNoFileComp)))
}

// checkDevice refuses a --device that no run file checks.
func (r *runFlags) checkDevice(cmd *cobra.Command) error {
	if slices.Contains(deviceWords, r.device) {
		return nil
	}
	return wrongUsage(cmd, "--device %q is not known (allowed: %s)", r.device, strings.Join(deviceWords, ", "))
}

// load reads the run file or preset, or the settings of the run in a folder, with the flags applied. A --device that has a default of its own is
// the command's matter and not the run's. Warnings go to the command's error output.
func (r *runFlags) load(cmd *cobra.Command, path string) (*configs.Loaded, error) {
	if isRunFolder(path) {
		file, err := (&trainFlags{fromStep: -1}).ownFile(cmd, path)
		if err != nil {
			return nil, err
		}
		return r.loadBy(cmd, func(sets []string) (*configs.Loaded, error) { return loadOwn(file, path, sets) })
	}
	if err := wrongFolder(cmd, path); err != nil {
		return nil, err
	}
	return r.loadBy(cmd, func(sets []string) (*configs.Loaded, error) { return configs.Load(path, sets) })
}

// loadOwn reads the settings of the run in a folder. Those of a checkpoint are not to be changed: messages name the run's folder, and none of
// their lines.
func loadOwn(file, dir string, sets []string) (*configs.Loaded, error) {
	if file != filepath.Join(dir, train.ConfigFile) {
		return configs.LoadKept(file, dir, sets)
	}
	return configs.Load(file, sets)
}

// loadBy is load with a way to read the run file.
func (r *runFlags) loadBy(cmd *cobra.Command, read func(sets []string) (*configs.Loaded, error)) (*configs.Loaded, error) {
	sets := slices.Clone(r.sets)
	if flag := cmd.Flags().Lookup("device"); flag != nil && flag.DefValue == "" && flag.Changed {
		sets = append(sets, "device="+r.device)
	}
	if flag := cmd.Flags().Lookup("workers"); flag != nil && flag.Changed {
		sets = append(sets, "workers="+strconv.Itoa(r.workers))
	}
	l, err := read(sets)
	if err != nil {
		var problems *configs.Error
		if errors.As(err, &problems) {
			return nil, err
		}
		return nil, usageError{err}
	}
	for _, w := range l.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
	return l, nil
}

// manifestFile is what tells a checkpoint's folder from others.
const manifestFile = "manifest.json"

// aRunFile is what commands take that go by the settings of a run.
const aRunFile = "one run file, preset (such as quickstart) or run's folder"

// isRunFolder says whether a path is the folder of a run. A preset of that name comes first, unless the folder holds a run.
func isRunFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && exists(filepath.Join(path, train.ConfigFile)) && !exists(filepath.Join(path, manifestFile))
}

// given says whether --set gave a key, or a section that holds it.
func (r *runFlags) given(key string) bool {
	return slices.ContainsFunc(r.sets, func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		name = strings.TrimSpace(name)
		return key == name || strings.HasPrefix(key, name+".")
	})
}

// must is for errors that only a mistake of this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
