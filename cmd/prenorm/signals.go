package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"prenorm/train"
	"prenorm/train/checkpoint"
)

// What commands say that they do at the first Ctrl-C.
const (
	savesFirst  = "stopping: preparing text ends at once, training after this micro-batch and a save"
	keepsRuns   = "stopping; finished runs are kept"
	keepsTokens = "stopping; nothing is kept but text that was prepared"
	keepsNone   = "stopping; nothing unfinished is kept"
	keepsParts  = "stopping; what there is of both runs stays"
)

// interruptible returns a context that the first Ctrl-C, request of the system to end, or end of the terminal cancels; notes are then told
// what the command does. The second calls quit, except for the end of the terminal, of which both the system and a shell may tell. Until
// release ends the watch, a reader of the output that goes away does not end the process.
func interruptible(parent context.Context, notes io.Writer, does string, quit func(code int)) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup, which a watch would undo
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		cancel()
		note(notes, "\n%s; again to quit at once", does)
		for {
			select {
			case s := <-signals:
				if s != syscall.SIGHUP {
					quit(exitInterrupted)
					return
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Reset(syscall.SIGPIPE)
		cancel()
		close(done)
	}
}

// patience is how long a terminal that takes nothing holds up the end of the process.
const patience = 300 * time.Millisecond

// atOnce ends the process at the second Ctrl-C, and says so before, with what last has to say of what there is. A terminal that takes nothing
// holds it up for a moment only.
func atOnce(notes io.Writer, last func() string, exit func(code int)) func(code int) {
	return func(code int) {
		said := make(chan struct{})
		go func() {
			defer close(said)
			note(notes, "stopping at once%s", last())
		}()
		select {
		case <-said:
		case <-time.After(patience):
		}
		exit(code)
	}
}

// quitting is atOnce where there is nothing more to say.
func quitting(cmd *cobra.Command) func(code int) {
	return atOnce(cmd.ErrOrStderr(), func() string { return "" }, os.Exit)
}

// lastSaved says which checkpoint of the run in a folder was saved last.
func lastSaved(dir string) string {
	entries, err := checkpoint.List(checkpoint.OS, filepath.Join(dir, train.CheckpointFolder))
	if err != nil || len(entries) == 0 {
		return "; no checkpoint is saved in " + dir
	}
	return "; the last saved checkpoint is " + entries[len(entries)-1].Dir
}

// stopping is [interruptible] for work that asks again and again whether to stop: stop returns errInterrupted from then on, and so does stdin.
func stopping(cmd *cobra.Command, does string) (stop func() error, stdin io.Reader, release func()) {
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), does, quitting(cmd))
	return stopOf(ctx), inputOf(ctx, cmd.InOrStdin()), release
}

// stopOf returns errInterrupted once ctx has ended.
func stopOf(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return nil
	}
}
