package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prenorm/configs/problem"
)

// flagMistake says in words of this program what the parser of flags says in its own.
func flagMistake(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bad *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := problem.Closest(unknown.GetSpecifiedName(), names); near != "" {
			return wrongUsage(cmd, "%w (did you mean --%s?)", err, near)
		}
	case errors.As(err, &missing):
		what, _ := pflag.UnquoteUsage(missing.GetFlag())
		return wrongUsage(cmd, "--%s lacks its value: give a %s behind it", missing.GetFlag().Name, cmp.Or(what, "value"))
	case errors.As(err, &bad):
		if wants, ok := wantedBy[bad.GetFlag().Value.Type()]; ok {
			return wrongUsage(cmd, "--%s %q: wants %s", bad.GetFlag().Name, bad.GetValue(), wants)
		}
	}
	return wrongUsage(cmd, "%w", err)
}

// meantWord is " (did you mean gpt2?)" for a misspelt word, "" where none is near.
func meantWord(word string, allowed []string) string {
	if near := problem.Closest(word, allowed); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// wantedBy are the values of flags by their types. Other types say it themselves.
var wantedBy = map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number, such as 0.5 or 1e-3", "bool": "true or false"}

// withAdvice adds what can be done to an error that ends in the system's own words on a path, as nobody who knew more has added it.
func withAdvice(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) || !strings.HasSuffix(err.Error(), at.Error()) {
		return err
	}
	if advice := adviceOn(at); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// adviceOn is what can be done about a path, "" where nothing is known. It goes by what is there, as systems have different words for it.
func adviceOn(at *fs.PathError) string {
	dir := filepath.Dir(filepath.Clean(at.Path))
	over, overErr := os.Stat(dir)
	info, infoErr := os.Stat(at.Path)
	switch {
	case errors.Is(at, fs.ErrPermission):
		return "this user may not do that there: change who may, or name another place"
	case overErr == nil && !over.IsDir():
		return dir + " is a file, and no folder: name another place"
	case errors.Is(overErr, fs.ErrNotExist):
		return "there is no folder " + dir + problem.MeantPath(dir) + ": name one that is there, or make it"
	case errors.Is(at, fs.ErrNotExist) && infoErr != nil:
		return "name a file that is there" + problem.MeantPath(at.Path)
	case infoErr == nil && info.IsDir() && at.Op == "mkdir":
		return "name a folder that is not there yet"
	case infoErr == nil && info.IsDir() && (errors.Is(at, syscall.EISDIR) || at.Op == "open" || at.Op == "read"):
		return "name a file"
	case infoErr == nil && !info.IsDir() && at.Op == "mkdir":
		return "name a folder"
	}
	return ""
}

// mayBeFolder refuses a folder to write to that cannot be one, before the work whose outcome it is for. One that is not there is made later.
func mayBeFolder(cmd *cobra.Command, flag, path string) error {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			if !info.IsDir() {
				return wrongUsage(cmd, "--%s %s: %s is a file: name a folder, or one to be made", flag, path, at)
			}
			return nil
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
