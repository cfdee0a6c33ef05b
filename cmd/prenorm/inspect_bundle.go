package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"prenorm/train"
)

// isFile says whether a path is that of a file: runs are folders, so it is a bundle, or nothing to look at.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// inspectBundle writes what a bundle says of its step and of those before, without running anything.
func inspectBundle(cmd *cobra.Command, path string) error {
	for _, name := range []string{"step", "plot", "loss", "matrices"} {
		if cmd.Flags().Changed(name) {
			return wrongUsage(cmd, "--%s is for a run's folder, and %s is a file", name, path)
		}
	}
	b, err := train.ReadBundle(path)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	printReport(w, b)
	fmt.Fprintf(w, "text      %s replay %s --text\n", programName(), shellWord(path))
	return nil
}
