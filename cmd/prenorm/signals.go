package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first Ctrl-C, request of the system to end, or end of the terminal cancels; the second calls
// quit, except for the end of the terminal, of which both the system and a shell may tell. Until release ends the watch, a reader of the
// output that goes away does not end the process.
func interruptible(parent context.Context, notes io.Writer, quit func(code int)) (ctx context.Context, release func()) {
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
		note(notes, "\nstopping after this micro-batch; saves first; again to quit at once")
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
