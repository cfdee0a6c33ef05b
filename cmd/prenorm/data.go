package main

import "github.com/spf13/cobra"

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "look at a run's text before it is trained on, and hand its tokens to other programs",
		Long: `Work with the text of a run. Token files of other programs need no import: data.train: train.bin names one as it is, with the tokenizer that
it was made with in data.tokenizer.`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataReport(), newDataExport())
	return cmd
}
