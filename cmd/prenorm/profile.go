package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"
)

// profiles are the hidden flags --cpuprofile and --memprofile, for go tool pprof.
type profiles struct {
	cpu, memory string
	file        *os.File
}

func (p *profiles) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile to this `file`")
	f.StringVar(&p.memory, "memprofile", "", "write a profile of allocations to this `file`")
	for _, name := range []string{"cpuprofile", "memprofile"} {
		f.Lookup(name).Hidden = true
	}
}

func (p *profiles) start() error {
	if p.cpu == "" {
		return nil
	}
	var err error
	if p.file, err = os.Create(p.cpu); err != nil {
		return fmt.Errorf("--cpuprofile: %w", err)
	}
	return pprof.StartCPUProfile(p.file)
}

// stop writes what was asked for.
func (p *profiles) stop() error {
	var err error
	if p.file != nil {
		pprof.StopCPUProfile()
		err = p.file.Close()
	}
	if p.memory == "" {
		return err
	}
	f, createErr := os.Create(p.memory)
	if createErr != nil {
		return errors.Join(err, fmt.Errorf("--memprofile: %w", createErr))
	}
	runtime.GC()
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
