package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// isTerminal says whether output goes to a person.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour follows the conventions of NO_COLOR and TERM.
func wantsColour() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// table lays out rows in columns. Columns of numbers are flush right.
type table struct {
	rows  [][]string
	right map[int]bool
}

// newTable makes a table; right are the columns that are flush right.
func newTable(right ...int) *table {
	t := &table{right: map[int]bool{}}
	for _, column := range right {
		t.right[column] = true
	}
	return t
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the rows, indented, with two spaces between columns and none at a line's end.
func (t *table) write(w io.Writer, indent string) {
	var widths []int
	for _, r := range t.rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range t.rows {
		line := indent
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// writeJSON prints a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// grouped writes a whole number with its thousands apart: 1 234 567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// programName is how the user started this program, for commands that are suggested.
func programName() string { return nameOf(os.Args[0]) }

// nameOf is the program's name for a user who started it as path: with its folder where it was given one, since the name alone may not be
// found then. `go run` and `go test` build it into a folder of their own.
func nameOf(path string) string {
	dir, file := filepath.Split(path)
	own := strings.TrimSuffix(file, ".exe") == "prenorm"
	switch built := strings.Contains(dir, string(os.PathSeparator)+"go-build"); {
	case built && own:
		return "go run ./cmd/prenorm"
	case built || dir == "":
		return "prenorm"
	}
	return shellWord(path)
}

// hintTerminal tells someone who is to type a text how to end it; nothing else would show that the program waits.
func hintTerminal(in io.Reader, notes io.Writer) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		key := "Ctrl-D"
		if runtime.GOOS == "windows" {
			key = "Ctrl-Z and Enter"
		}
		note(notes, "reading from the terminal, end with %s on a new line", key)
	}
}
