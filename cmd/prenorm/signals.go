package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first Ctrl-C, or request of the system to end, cancels; the second calls quit. release ends the
// watch.
func interruptible(parent context.Context, notes io.Writer, quit func(code int)) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		note(notes, "\nstopping after this micro-batch; saves first; again to quit at once")
		cancel()
		select {
		case <-signals:
			quit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
		close(done)
	}
}
