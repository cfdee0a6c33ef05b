package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prenorm/configs"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1   // everything else: files, data, the machine
	exitUsage       = 2   // the command line or the run file is wrong, or asks for what no machine does with this build
	exitInterrupted = 130 // as shells report an interrupted program
)

// usageError is an error of the command line or the run file.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// wrongUsage is a usageError that points to the command's help.
func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+"\nSee %s --help.", append(args, cmd.CommandPath())...)}
}

var (
	errInterrupted = errors.New("interrupted")
	errReported    = errors.New("the output says what failed")
)

// report prints an error and returns the exit code. Problems of a run file are printed as they are, so that an editor can jump to file:line.
func report(w io.Writer, err error) int {
	var problems *configs.Error
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &problems):
		fmt.Fprintln(w, problems)
		return exitUsage
	}
	fmt.Fprintln(w, "prenorm:", withAdvice(err))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// exclusive refuses two flags together.
func exclusive(cmd *cobra.Command, a, b string) error {
	if cmd.Flags().Changed(a) && cmd.Flags().Changed(b) {
		return wrongUsage(cmd, "--%s and --%s exclude each other", a, b)
	}
	return nil
}

// arguments checks how many arguments a command has. what names them in the message: "one run file or preset".
func arguments(low, high int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < low || high >= 0 && len(args) > high {
			return wrongUsage(cmd, "%s takes %s, not %d", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}
