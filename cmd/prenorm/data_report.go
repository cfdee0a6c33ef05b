package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/data/dataset"
	"prenorm/data/shard"
	"prenorm/data/survey"
	"prenorm/data/token"
	"prenorm/train/metrics"
)

type dataReportFlags struct {
	runFlags
	out, tokenizer string
	asJSON         bool
}

func newDataReport() *cobra.Command {
	f := &dataReportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN.yaml|RUN | report FILE...",
		Short: "what is in a text: sizes, scripts, copies, overlap, and what little knowledge reaches",
		Long: `Survey the text of a run file, a preset or the run in a folder, or of files, globs and folders: documents, bytes and tokens, lengths,
odd characters, scripts, documents that are copies of others or nearly so, validation text that occurs in the training text, the lines of
reference that losses are told by, and what gzip and zstd make of the text. Files are divided, and named, as a run would. Of several
sources (data.sources) there is a table of each and of all, their weights beside their sizes, copies across them, and which one's
validation text is in which one's training text. Token files (.bin of nanoGPT or llm.c) are looked at by the text that their ids stand
for, where --tokenizer or the run file names their tokenizer, and by their ids alone where nothing does.

The tokens of a run's text are kept where training looks for them (data.cache, or runs/NAME/data), so that the run starts at once; those
of files are not kept. Copies within a source are left out of training by data.duplicates. docs/data-report.md says how every figure is
made, and what memory it takes.`,
		Example: `  prenorm data report run.yaml
  prenorm data report runs/quickstart
  prenorm data report quickstart --set data.train=corpus/ --out report   # report/report.html, with plots
  prenorm data report 'texts/*.jsonl.gz' --tokenizer gpt2 --json
  prenorm data report train.bin --tokenizer gpt2`,
		Args:              arguments(1, -1, "a run file, a preset or a run's folder, or files of text"),
		ValidArgsFunction: completeReported,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.setFlag(cmd)
	cmd.Flags().StringVar(&f.tokenizer, "tokenizer", "", "a `kind|file` in place of data.tokenizer (default for files: byte)")
	cmd.Flags().StringVar(&f.out, "out", "", "write report.html, its plots and tables to this `folder`")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	must(cmd.MarkFlagDirname("out"))
	must(cmd.RegisterFlagCompletionFunc("tokenizer", cobra.FixedCompletions(token.Kinds(), cobra.ShellCompDirectiveDefault)))
	return cmd
}

// source reads the run file, or puts the files into the default one. kept says whether the tokens are a run's.
func (f *dataReportFlags) source(cmd *cobra.Command, args []string) (run configs.Run, kept bool, err error) {
	if near := problem.Closest(args[0], configs.Presets()); near != "" && len(args) == 1 && near != args[0] && !exists(args[0]) {
		return run, false, wrongUsage(cmd, "there is no text, run file or preset %s (did you mean %s?)", args[0], near)
	}
	extension := strings.ToLower(filepath.Ext(args[0]))
	if len(args) == 1 && (extension == ".yaml" || extension == ".yml" || slices.Contains(configs.Presets(), args[0]) || isRunFolder(args[0])) {
		loaded, err := f.load(cmd, args[0])
		if err != nil {
			return run, false, err
		}
		if err := loaded.NeedsData(); err != nil {
			return run, false, err
		}
		run, kept = loaded.Run, true
	} else {
		defaults := "data: {tokenizer: {kind: byte}}"
		if !slices.ContainsFunc(args, func(path string) bool { return !shard.IsForeign(path) }) {
			defaults = "{}" // ids have the tokenizer that they were made with, or an unknown one
		}
		loaded, err := configs.Parse("the command line", []byte(defaults), f.sets)
		if err != nil {
			return run, false, err
		}
		run = loaded.Run
		run.Data.Train = args
	}
	switch {
	case f.tokenizer == "":
	case slices.Contains(token.Kinds(), f.tokenizer):
		run.Data.Tokenizer.Kind, run.Data.Tokenizer.File = f.tokenizer, ""
	case !exists(f.tokenizer):
		return run, false, wrongUsage(cmd, "--tokenizer %s: is neither a file%s nor a kind%s: the kinds are %s", f.tokenizer, problem.MeantPath(f.tokenizer),
			meantWord(f.tokenizer, token.Kinds()), strings.Join(token.Kinds(), ", "))
	default:
		run.Data.Tokenizer.File = f.tokenizer
	}
	return run, kept, nil
}

func (f *dataReportFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := mayBeFolder(cmd, "out", f.out); err != nil {
		return err
	}
	run, kept, err := f.source(cmd, args)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "prenorm-report-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	dir := temporary
	if kept {
		dir = filepath.Join("runs", run.Name, "data")
		if isRunFolder(args[0]) {
			dir = filepath.Join(args[0], "data")
		}
	}
	does := keepsNone
	if kept {
		does = keepsTokens
	}
	stop, input, release := stopping(cmd, does)
	defer release()
	stages := metrics.NewStages(cmd.ErrOrStderr())
	defer func() { stages.End(err) }()
	stdin, closeInput, err := rereadable(cmd, input, run.Data.Paths(), temporary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeInput()) }()
	ids, err := survey.IDs(run.Data, stop)
	if err != nil {
		return err
	}
	if ids != nil { // training would refuse the run, and would not look for its tokens
		dir, run.Data.Cache = temporary, ""
	}
	progress, words := dataset.WithUnit(stages.Show), strings.NewReplacer()
	if !kept {
		words = reportRemedies
	}
	d, err := dataset.Open(run.Data, dataset.Options{Dir: dir, Temporary: dir == temporary, Stdin: stdin(), Tokenizer: ids, Progress: progress, Stop: stop, Log: func(line string) { stages.Line(words.Replace(line)) }, Text: inSurvey})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	s, err := survey.Run(run.Data, d, survey.Options{Stdin: stdin(), Dir: temporary, Progress: progress, Stop: stop})
	if err != nil {
		return err
	}
	stages.Close()
	if proved := d.Proved(run.Data); proved != "" {
		note(cmd.ErrOrStderr(), "%s", proved)
	}
	return f.write(cmd, s, strings.Join(args, ", "))
}

// inSurvey passes over what is told of the texts, as the survey's notes have it.
func inSurvey(string) {}

// rereadable returns what input has, the command's standard input, anew with every call of stdin, nil where no text is to come from it, by way of a
// file in a folder.
func rereadable(cmd *cobra.Command, input io.Reader, patterns []string, dir string) (stdin func() io.Reader, closeFile func() error, err error) {
	if !slices.Contains(patterns, "-") {
		return func() io.Reader { return nil }, func() error { return nil }, nil
	}
	hintTerminal(cmd.InOrStdin(), cmd.ErrOrStderr())
	file, err := os.Create(filepath.Join(dir, "stdin"))
	if err != nil {
		return nil, nil, err
	}
	size, err := io.Copy(file, input)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reading text from standard input: %w", err), file.Close())
	}
	return func() io.Reader { return io.NewSectionReader(file, 0, size) }, file.Close, nil
}

// write prints the survey, and makes its page where a folder is named.
func (f *dataReportFlags) write(cmd *cobra.Command, s *survey.Survey, name string) error {
	out := cmd.OutOrStdout()
	page := surveyPage(s, name)
	notes := out
	if f.asJSON {
		if err := writeJSON(out, s); err != nil {
			return err
		}
		notes = cmd.ErrOrStderr()
	} else {
		printPage(out, page)
	}
	if f.out == "" {
		return nil
	}
	path, err := page.Write(f.out)
	if err == nil {
		fmt.Fprintf(notes, "\nwritten: %s\n", path)
	}
	return err
}
