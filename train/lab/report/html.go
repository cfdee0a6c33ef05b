package report

import (
	"bytes"
	_ "embed" // the page's template
	"html/template"
	"regexp"
	"strings"
)

//go:embed page.html
var pageText string

// flag is a command's flag, which is not to be parted at its dashes.
var flag = regexp.MustCompile(`--[a-z][a-z0-9-]*`)

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
	"words": func(text string) template.HTML {
		return template.HTML(flag.ReplaceAllString(escape(text), `<span class="flag">$0</span>`)) //nolint:gosec // escaped
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
