package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// opens lists, by file, who opens files without looking whether they are regular ones, and why that waits for nothing that is in a run's folder.
var opens = map[string]string{
	"cmd/prenorm/doctor_machine.go":    "what the system tells of the machine",
	"cmd/prenorm/prompt.go":            "a prompt may come through a pipe",
	"cmd/prenorm/tokenizer.go":         "text may come through a pipe",
	"configs/load.go":                  "a run file may come through a pipe",
	"data/corpus/file.go":              "text may come through a pipe",
	"data/corpus/source.go":            "text may come through a pipe",
	"data/regular/regular.go":          "looks",
	"data/shard/durable.go":            "a folder",
	"data/shard/foreign.go":            "a file that the command line names",
	"data/token/peers/main.go":         "a tool for developers",
	"kernels/cpu/gen/sums.go":          "a tool for developers",
	"kernels/resident_linux.go":        "what the system tells of the process",
	"train/checkpoint/syncdir_unix.go": "a folder",
	"train/safetensors/read.go":        "looked at by those who call it for a run",
}

var opening = regexp.MustCompile(`\bos\.(Open|ReadFile)\(`)

// TestOpens wants files of a run to be opened by data/regular, so that no pipe or device in their place is waited for.
func TestOpens(t *testing.T) {
	top := filepath.Join("..", "..")
	seen := map[string]bool{}
	must(filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(top, path)
		must(err)
		if name := filepath.ToSlash(rel); opening.MatchString(read(t, path)) {
			seen[name] = true
			if opens[name] == "" {
				t.Errorf("%s opens files by package os: take data/regular, or say here why not", name)
			}
		}
		return nil
	}))
	for name := range opens {
		if !seen[name] {
			t.Errorf("%s opens none any more", name)
		}
	}
}
