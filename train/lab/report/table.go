package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
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
	Note    string // below the table: what columns and words mean
}

// Row adds a row of any values; floats are shown with three significant digits.
func (t *Table) Row(values ...any) { t.Rows = append(t.Rows, cells(Short, values)) }

// Full adds a row for a file: floats with all digits.
func (t *Table) Full(values ...any) {
	t.Rows = append(t.Rows, cells(func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }, values))
}

// cells writes values, floats by a function.
func cells(float func(float64) string, values []any) []string {
	words := make([]string, len(values))
	for i, v := range values {
		if f, ok := v.(float64); ok {
			words[i] = float(f)
		} else {
			words[i] = fmt.Sprint(v)
		}
	}
	return words
}

// Short is a number with three significant digits, as people read it, and with two where it is very small or large.
func Short(v float64) string {
	switch a := math.Abs(rounded(v)); {
	case v != v:
		return "–"
	case a != 0 && (a < 1e-3 || a >= 1e5):
		return strconv.FormatFloat(v, 'e', 1, 64)
	}
	return Plain(v)
}

// rounded is v with three significant digits: 0.9999 has those of 1.
func rounded(v float64) float64 {
	digits, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return digits
}

// Plain is a number with three significant digits and without an exponent.
func Plain(v float64) string {
	v = rounded(v)
	if v == 0 {
		return "0"
	}
	// The exponent of the first digit says how many follow the point.
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	first, _ := strconv.Atoi(exponent)
	return strconv.FormatFloat(v, 'f', max(0, 2-first), 64)
}

func (t Table) write(dir string) error {
	from := t
	if t.Raw != nil {
		from = *t.Raw
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(append([][]string{from.Columns}, from.Rows...)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, t.Name+".csv"), b.Bytes(), 0o666)
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

// Text prints the table and its note for a terminal.
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
	if t.Note == "" {
		return
	}
	for _, line := range wrapped(t.Note, noteChars) {
		fmt.Fprintln(w, indent+line)
	}
}

// noteChars is how many characters a line below a table in a terminal has.
const noteChars = 110

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
