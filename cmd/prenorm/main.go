// Command prenorm trains small language models, goes on with runs that were stopped, and writes text with what it trained.
//
// Each sub-command is one file, which parses its flags, calls packages and prints. The exit code is 0 for success, 1 for a failure, 2 for a
// bad run file or a bad command line, and 130 when the user interrupted.
package main

import (
	"context"
	"os"

	_ "prenorm/kernels/cpu"
	_ "prenorm/kernels/cuda" // empty without the tag gpu
	_ "prenorm/kernels/ref"
)

func main() { os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
