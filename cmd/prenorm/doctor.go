package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// status is the outcome of one examination.
type status string

const (
	fine    status = "ok"
	warning status = "warn"
	failed  status = "FAIL"
)

// finding is one line of the doctor's report.
type finding struct {
	status status
	what   string // was examined
	found  string
	remedy string // where something is wrong
}

// examinations are what the doctor looks at, in order.
var examinations = []func() []finding{examineProgram, examineMachine, examineBackends, examineFolder, examineText}

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "test this build and this machine",
		Long: `Look at this build and this machine: processor, memory, the backends and whether each trains as the reference does, a GPU with its driver
and libraries, whether files in the current folder are written safely, and the text of the quickstart. The exit code is 1 where something
fails.`,
		Example: `  prenorm doctor`,
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []finding
			for _, examine := range examinations {
				all = append(all, examine()...)
			}
			return printFindings(cmd.OutOrStdout(), all)
		},
	}
}

// printFindings prints a line for each finding, and its remedy below it.
func printFindings(w io.Writer, all []finding) error {
	width, bad := 0, false
	for _, f := range all {
		width = max(width, len(f.what))
		bad = bad || f.status == failed
	}
	for _, f := range all {
		fmt.Fprintf(w, "%-4s  %-*s  %s\n", f.status, width, f.what, f.found)
		if f.remedy != "" {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", 4+2+width+2), f.remedy)
		}
	}
	if bad {
		return errReported
	}
	return nil
}
