package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/data"
	"prenorm/data/dataset"
	"prenorm/data/shard"
	"prenorm/train/metrics"
)

// exportedTokenizer is the name of the tokenizer's file. It is prenorm's own format, so it is not named as Hugging Face's.
const exportedTokenizer = "tokenizer.tok"

type dataExportFlags struct {
	runFlags
	format string
	out    string
	force  bool
}

func newDataExport() *cobra.Command {
	f := &dataExportFlags{}
	cmd := &cobra.Command{
		Use:   "export RUN.yaml|RUN --out FOLDER",
		Short: "write a run's tokens as nanoGPT's train.bin and val.bin, or as shards of llm.c",
		Long: `Prepare the text of a run file, or of the run in a folder, and write its tokens in the form of another program, with the tokenizer beside
them: train.bin and val.bin, of several sources NAME-train.bin and NAME-val.bin. nanogpt's form has 2 bytes an id, so the vocabulary has at
most 65536 ids; llm.c's has a header, and for larger vocabularies 4 bytes an id. prenorm reads all: data.train: train.bin, with tokenizer.tok
in data.tokenizer.file; prenorm tokenizer export makes a tokenizer.json of that file.`,
		Example: `  prenorm data export quickstart --out tokens
  prenorm data export run.yaml --format llm.c --out tokens --set data.tokenizer.kind=gpt2
  prenorm data export runs/quickstart --out tokens`,
		Args:              arguments(1, 1, aRunFile),
		ValidArgsFunction: completeRunFile,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.setFlag(cmd)
	cmd.Flags().StringVar(&f.format, "format", shard.NanoGPT, "`nanogpt|llm.c`")
	cmd.Flags().StringVar(&f.out, "out", "", "the `folder` for the files; made if it is missing")
	forceFlag(cmd, &f.force)
	must(cmd.MarkFlagDirname("out"))
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(shard.ForeignFormats, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *dataExportFlags) run(cmd *cobra.Command, file string) (err error) {
	if !slices.Contains(shard.ForeignFormats, f.format) {
		return wrongUsage(cmd, "--format %q: wants %s or %s", f.format, shard.NanoGPT, shard.LLMC)
	}
	if f.out == "" {
		return wrongUsage(cmd, "--out is missing: name the folder for the files")
	}
	l, err := f.load(cmd, file)
	if err != nil {
		return err
	}
	if err := l.NeedsData(); err != nil {
		return err
	}
	if err := f.mayWrite(cmd, l.Run.Data); err != nil {
		return err
	}
	made := !exists(f.out)
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	cache, err := os.MkdirTemp(f.out, "cache-")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(cache)); err != nil && made {
			_ = os.Remove(f.out) // which it is only when nothing is in it
		}
	}()
	stop, stdin, release := stopping(cmd, keepsNone)
	defer release()
	if slices.Contains(l.Run.Data.Paths(), "-") {
		hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	}
	stages := metrics.NewStages(cmd.ErrOrStderr())
	defer func() { stages.End(err) }()
	d, err := dataset.Open(l.Run.Data, dataset.Options{Dir: cache, Temporary: true, Stdin: stdin, Log: stages.Line, Stop: stop, Progress: dataset.WithUnit(stages.Show)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	stages.Close()
	if proved := d.Proved(l.Run.Data); proved != "" {
		note(cmd.OutOrStdout(), "%s", proved)
	}
	return f.write(cmd, d, stop)
}

// binNames are the names of the files of a source, "" for the only one.
func binNames(source string) [2]string {
	if source != "" {
		source += "-"
	}
	return [2]string{source + "train.bin", source + "val.bin"}
}

// mayWrite refuses targets that are there, and those that are read in any case.
func (f *dataExportFlags) mayWrite(cmd *cobra.Command, d data.Config) error {
	read := slices.Concat(d.Train, d.Val.Files, []string{d.Tokenizer.File})
	var names []string
	for _, s := range d.Sources {
		read = slices.Concat(read, s.Train, s.Val)
		pair := binNames(s.Name)
		names = append(names, pair[:]...)
	}
	if len(d.Sources) == 0 {
		pair := binNames("")
		names = pair[:]
	}
	for _, name := range append(names, exportedTokenizer) {
		if err := mayWrite(cmd, filepath.Join(f.out, name), f.force, read...); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files of all sources and the tokenizer
func (f *dataExportFlags) write(cmd *cobra.Command, d *dataset.Dataset, stop func() error) error {
	for _, s := range d.Sources {
		names := binNames(s.Name)
		for i, r := range []*shard.Reader{s.Train, s.Val} {
			path := filepath.Join(f.out, names[i])
			if err := shard.WriteForeign(path, f.format, r, stop); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s tokens\n", path, grouped(r.Len()))
		}
	}
	tokenizer, err := d.Tokenizer.Marshal()
	if err != nil {
		return err
	}
	path := filepath.Join(f.out, exportedTokenizer)
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %d ids\n", path, d.Tokenizer.Kind(), d.Tokenizer.Vocab())
	return shard.WriteFile(path, tokenizer)
}
