package report

import (
	"bytes"
	_ "embed" // the page's template
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"figure": func(f Figure) (template.HTML, error) {
		svg, err := f.SVG()
		return template.HTML(svg), err //nolint:gosec // made by this package, with text escaped by the plotting library
	},
	"paragraphs": func(text string) []string {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return strings.Split(strings.TrimSpace(text), "\n\n")
	},
	"align": func(t Table, column int) string {
		if t.numeric(column) {
			return "n"
		}
		return ""
	},
	"mark": func(t Table, row int) string { return t.Marks[row] },
}).Parse(pageText))

// HTML is the page.
func (r Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, r)
	return b.Bytes(), err
}

func escape(text string) string { return template.HTMLEscapeString(text) }
