package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// remedies are what texts of packages data/corpus and data/token advise for a run file, and the advice where the command line names a text: for a
// trained model, which has no run file and whose tokenizer is what it is, and for tokenizers. A test holds the left sides to what the packages say.
var remedies = strings.NewReplacer(
	"set data.invalid_utf8 to replace (--set data.invalid_utf8=replace)", "add --invalid-utf8 replace",
	", or set data.format to txt.gz (--set data.format=txt.gz)", "",
	", or set data.format to txt.zst (--set data.format=txt.zst)", "",
	", or set data.format to parquet (--set data.format=parquet)", "",
	"--set data.field=NAME", "--field NAME",
	"convert the files or leave them out, or --set data.nul=drop leaves the characters out", "convert the files or leave them out",
	"(data.invalid_utf8: replace)", "(--invalid-utf8 replace)",
	"(data.invalid_utf8: drop)", "(--invalid-utf8 drop)",
	"leave the file out, or set data.nul to keep or drop (--set data.nul=drop)", "leave the file out",
	"mend the text, set data.invalid_utf8: replace, set data.tokenizer.unknown: unk, or use kind byte or bpe", "mend the text",
	"train the tokenizer on text that has it, set data.tokenizer.unknown: unk, or use kind byte or bpe",
	"leave it out, or use a model that was trained on text that has it, with data.tokenizer.unknown: unk, or with tokenizer kind byte or bpe",
)

// checkRemedies are flags of prenorm check for those of commands that read a run file.
var checkRemedies = strings.NewReplacer("--set precision=fp32", "--precision fp32")

// replayRemedies leave out a flag that prenorm replay does not have, nor need: the CPU replays steps of every precision.
var replayRemedies = strings.NewReplacer(" --set precision=fp32", "")

// reportRemedies are flags of prenorm data report where it is given texts and no run file.
var reportRemedies = strings.NewReplacer("--set data.tokenizer.file=", "--tokenizer ")

// advised is an error with other remedies in its text.
type advised struct {
	err      error
	remedies *strings.Replacer
}

// ofTrained puts the remedies of commands without a run file into an error's text.
func ofTrained(err error) error { return advised{err, remedies} }

// ofCheck puts the flags of prenorm check into an error's text.
func ofCheck(err error) error { return advised{err, checkRemedies} }

// ofReplay puts the flags of prenorm replay into an error's text.
func ofReplay(err error) error { return advised{err, replayRemedies} }

// noteTexts tells what a corpus notes of texts that the command line names, where it notes anything.
func noteTexts(cmd *cobra.Command, words string) {
	if words != "" {
		note(cmd.ErrOrStderr(), "%s", remedies.Replace(words))
	}
}

func (e advised) Error() string { return e.remedies.Replace(e.err.Error()) }
func (e advised) Unwrap() error { return e.err }
