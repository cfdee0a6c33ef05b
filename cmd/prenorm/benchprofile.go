package main

import (
	"fmt"
	"path/filepath"
	"runtime/pprof"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/train/bench"
	"prenorm/train/profile"
)

// Endings of bench's --profile: what is written follows from them.
const traceEnding = ".json"

var cpuEndings = []string{".pprof", ".prof"}

// checkProfile refuses a profile that would have nothing in it, or whose kind is not known.
func (f *benchFlags) checkProfile(cmd *cobra.Command, parts []string) error {
	switch ending := filepath.Ext(f.profile); {
	case f.profile == "" || slices.Contains(cpuEndings, ending):
		return nil
	case ending != traceEnding:
		return wrongUsage(cmd, "--profile %s: the file's name must end in .json, a trace for https://ui.perfetto.dev, or in .pprof or .prof, a CPU profile for go tool pprof", f.profile)
	case len(parts) > 0 && !slices.Contains(parts, "train"):
		return wrongUsage(cmd, "--profile %s is a trace of training steps, and train is not among the parts (for a CPU profile let the name end in .pprof)", f.profile)
	}
	return nil
}

// benchProfile is the file of bench's --profile, nil for none.
type benchProfile struct {
	*traceFile
	running bool // a CPU profile
}

func (f *benchFlags) openProfile() (*benchProfile, error) {
	if f.profile == "" {
		return nil, nil
	}
	file, err := openTrace(f.profile)
	if err != nil {
		return nil, err
	}
	return &benchProfile{traceFile: file}, nil
}

// start begins a CPU profile, where that is what the file is for.
func (p *benchProfile) start() error {
	if p == nil || filepath.Ext(p.Name()) == traceEnding {
		return nil
	}
	if err := pprof.StartCPUProfile(p.traceFile); err != nil {
		return fmt.Errorf("--profile: %w (leave out --cpuprofile)", err)
	}
	p.running = true
	return nil
}

// finish writes what was measured.
func (p *benchProfile) finish(cmd *cobra.Command, r *bench.Report, steps *profile.Recorder) error {
	switch {
	case p == nil:
		return nil
	case p.running:
		p.stop()
		note(cmd.ErrOrStderr(), "CPU profile written to %s", p.Name())
		return nil
	}
	if err := steps.WriteChrome(p.traceFile, fmt.Sprintf("%s: training steps on %s in %s", r.Name, r.Device, r.Precision)); err != nil {
		return err
	}
	note(cmd.ErrOrStderr(), "profile of training steps written to %s", p.Name())
	return nil
}

func (p *benchProfile) stop() {
	if p.running {
		pprof.StopCPUProfile()
		p.running = false
	}
}

// Close ends what is running, after an error, and closes the file.
func (p *benchProfile) Close() error {
	if p == nil {
		return nil
	}
	p.stop()
	return p.traceFile.Close()
}
