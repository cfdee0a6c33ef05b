package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prenorm/model/block"
)

var writeDocs = flag.Bool("write-docs", false, "write the tables of docs/placements.md anew")

// TestPlacementsPage wants the tables in docs/placements.md to be those of the registry, every placement to be named, and every figure and page
// that it links to be there. With -write-docs it puts the tables in.
func TestPlacementsPage(t *testing.T) {
	page := filepath.FromSlash("../../docs/placements.md")
	text := read(t, page)
	now := text
	for name, table := range block.Markdown() {
		open, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end of %s -->", name)
		before, rest, ok := strings.Cut(now, open)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks the marks of table %s", page, name)
		}
		now = before + open + table + end + after
	}
	if now != text {
		if !*writeDocs {
			t.Errorf("the tables of %s are not the registry's: go test ./cmd/prenorm -run TestPlacementsPage -write-docs", page)
		} else if err := os.WriteFile(page, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReproPage wants the page of the scorecard to have every row, as claimed in the program.
func TestReproPage(t *testing.T) {
	text := read(t, filepath.FromSlash("../../docs/repro.md"))
	for _, id := range strings.Fields("S1 S2 S3 S4 S5 S6 S7 S8 S9 S12 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C17 C18") {
		row := regexp.MustCompile(`(?m)^\| ` + id + ` \| .+ \| (holds|does not hold|cannot be told) \| .+ \|$`).FindString(text)
		if row == "" {
			t.Errorf("docs/repro.md has no row %s", id)
		}
	}
}
