package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// maxPrompt bounds what is read as a prompt, in bytes.
const maxPrompt = 64 << 20

// readPrompt is the text of --prompt, of --prompt-file, or of standard input, where one of them is - or something is piped in. One line break at the end of a
// file or pipe is not part of it.
func readPrompt(cmd *cobra.Command, text, file string) (string, error) {
	in := cmd.InOrStdin()
	switch {
	case text == "-", file == "-":
		hintTerminal(in, cmd.ErrOrStderr())
		return readText(in, "standard input")
	case cmd.Flags().Changed("prompt"):
		return text, nil
	case file == "" && isPiped(in):
		return readText(in, "standard input")
	case file == "":
		return "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", usageError{fmt.Errorf("--prompt-file: %w", err)}
	}
	defer f.Close()
	return readText(f, file)
}

func readText(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	if len(text) > maxPrompt {
		return "", usageError{fmt.Errorf("prompt: %s has more than %d bytes", name, maxPrompt)}
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// isPiped says whether a reader is a pipe or a file, which end, unlike a terminal.
func isPiped(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return r != nil
	}
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular())
}
