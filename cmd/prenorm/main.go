// Command prenorm trains small language models, goes on with runs that were stopped, and writes text with what it trained.
//
// Each sub-command is one file, which parses its flags, calls packages and prints. The exit code is 0 for success, 2 for a
// command line, a run file or a build that cannot do what is asked for on any machine, 130 when the user interrupted, and 1 for any other failure.
package main

import (
	"context"
	"os"

	_ "prenorm/kernels/cpu"
	_ "prenorm/kernels/cuda" // empty without the tag gpu
	_ "prenorm/kernels/ref"
)

func main() { os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
