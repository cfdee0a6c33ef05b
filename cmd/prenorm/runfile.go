package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
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

// deviceFlags are --device and --workers.
func (r *runFlags) deviceFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.device, "device", "auto", "auto, cpu or cuda; in place of the run's own")
	cmd.Flags().IntVar(&r.workers, "workers", 0, "threads of the CPU backend, 0 = all cores; in place of the run's own")
	must(cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions([]string{"auto", "cpu", "cuda"}, cobra.ShellCompDirectiveNoFileComp)))
}

// load reads the run file or preset with the flags applied. Warnings go to the command's error output.
func (r *runFlags) load(cmd *cobra.Command, path string) (*configs.Loaded, error) {
	sets := slices.Clone(r.sets)
	if flag := cmd.Flags().Lookup("device"); flag != nil && flag.Changed {
		sets = append(sets, "device="+r.device)
	}
	if flag := cmd.Flags().Lookup("workers"); flag != nil && flag.Changed {
		sets = append(sets, "workers="+strconv.Itoa(r.workers))
	}
	l, err := configs.Load(path, sets)
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

// given says whether --set gave a key, or a section that holds it.
func (r *runFlags) given(key string) bool {
	return slices.ContainsFunc(r.sets, func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		name = strings.TrimSpace(name)
		return key == name || strings.HasPrefix(key, name+".")
	})
}

// completeRunFile completes presets and YAML files.
func completeRunFile(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, name := range configs.Presets() {
		if strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, cobra.ShellCompDirectiveDefault
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// must is for errors that only a mistake of this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
