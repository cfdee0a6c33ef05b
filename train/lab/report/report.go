// Package report writes what a measurement found as one folder: tables as CSV, figures as SVG and PNG, and report.html, a page of its own that
// needs nothing beside it and no network.
package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Report is a page.
type Report struct {
	Title    string
	Lead     string // what was found, in a sentence or two
	Facts    []Fact // how it was measured
	Sections []Section
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Section is a titled part of a page.
type Section struct {
	Title   string
	Text    string // paragraphs, separated by blank lines
	Figures []Figure
	Tables  []Table
}

// Name of the page in its folder.
const Page = "report.html"

// Write makes the folder's files: report.html, NAME.csv of every table, NAME.svg and NAME.png of every figure. It returns the page's path.
func (r Report) Write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			if err := t.write(dir); err != nil {
				return "", fmt.Errorf("report: table %s: %w", t.Name, err)
			}
		}
		for _, f := range s.Figures {
			if err := f.write(dir); err != nil {
				return "", fmt.Errorf("report: figure %s: %w", f.Name, err)
			}
		}
	}
	page, err := r.HTML()
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	path := filepath.Join(dir, Page)
	return path, os.WriteFile(path, page, 0o666)
}

// write makes the figure's two files.
func (f Figure) write(dir string) error {
	svg, svgErr := f.SVG()
	png, pngErr := f.PNG()
	if err := errors.Join(svgErr, pngErr); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, f.Name+".svg"), svg, 0o666), os.WriteFile(filepath.Join(dir, f.Name+".png"), png, 0o666))
}
