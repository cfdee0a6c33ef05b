package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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

// stopping is [interruptible] for work that asks again and again whether to stop: stop returns errInterrupted from then on, and so does stdin.
func stopping(cmd *cobra.Command, does string) (stop func() error, stdin io.Reader, release func()) {
	ctx, release := interruptible(cmd.Context(), cmd.ErrOrStderr(), does, os.Exit)
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
