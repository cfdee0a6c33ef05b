package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is rows of figures. Cells are text, as they are shown; Raw holds what CSV files get where that is more than is shown.
type Table struct {
	Name    string // of its file
	Caption string
	Columns []string
	Rows    [][]string
	Raw     *Table // nil = the table itself
	Marks   map[int]string
}

// Row adds a row of any values; floats are shown with three significant digits.
func (t *Table) Row(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case float64:
			cells[i] = Short(v)
		default:
			cells[i] = fmt.Sprint(v)
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Full adds a row for a file: floats with all digits.
func (t *Table) Full(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case float64:
			cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			cells[i] = fmt.Sprint(v)
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Short is a number with three significant digits, as people read it.
func Short(v float64) string {
	switch a := max(v, -v); {
	case v != v:
		return "–"
	case a != 0 && (a < 1e-3 || a >= 1e5):
		return strconv.FormatFloat(v, 'e', 1, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	digits := 3
	for a := max(v, -v); a != 0 && a < 0.1; a *= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func (t Table) write(dir string) error {
	from := t
	if t.Raw != nil {
		from = *t.Raw
	}
	f, err := os.Create(filepath.Join(dir, t.Name+".csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	if err = w.Write(from.Columns); err == nil {
		err = w.WriteAll(from.Rows)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// numeric says whether every cell of a column that holds anything starts like a number.
func (t Table) numeric(column int) bool {
	any := false
	for _, r := range t.Rows {
		if column >= len(r) || r[column] == "" || r[column] == "–" {
			continue
		}
		any = true
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(r[column], "+-−±<>×"))
		if first < '0' || first > '9' {
			return false
		}
	}
	return any
}

// Text prints the table for a terminal.
func (t Table) Text(w io.Writer, indent string) {
	widths := make([]int, len(t.Columns))
	all := append([][]string{t.Columns}, t.Rows...)
	for _, r := range all {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range all {
		line := indent
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.numeric(i) {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// Markdown is the table as documentation shows it.
func (t Table) Markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteByte('|')
		for _, cell := range cells {
			fmt.Fprintf(&b, " %s |", strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(cell))
		}
		b.WriteByte('\n')
	}
	line(t.Columns)
	rule := make([]string, len(t.Columns))
	for i := range rule {
		rule[i] = "---"
		if t.numeric(i) {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, r := range t.Rows {
		line(r)
	}
	return b.String()
}
