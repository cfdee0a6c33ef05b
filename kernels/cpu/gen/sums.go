package main

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sources are what this generator was built from.
//
//go:embed *.go go.mod go.sum
var sources embed.FS

const sumsName = "gen.sum"

// writeSums writes the SHA-256 of every source of the generator and of every file that it wrote: as long as none of them changes there is
// no need to build it again, which takes longer than all tests.
func writeSums(directory string) error {
	var text strings.Builder
	line := func(name string, content []byte, err error) error {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), name)
		return err
	}
	entries, err := sources.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		content, err := sources.ReadFile(e.Name())
		if err := line("gen/"+e.Name(), content, err); err != nil {
			return err
		}
	}
	for _, f := range files {
		for _, ending := range []string{".go", ".s"} {
			content, err := os.ReadFile(filepath.Join(directory, f.name+ending))
			if err := line(f.name+ending, content, err); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(directory, sumsName), []byte(text.String()), 0o644)
}
