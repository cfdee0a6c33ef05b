package main

import "github.com/spf13/cobra"

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "look at a run's text before it is trained on",
		Long:  `Work with the text of a run.`,
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataReport())
	return cmd
}
