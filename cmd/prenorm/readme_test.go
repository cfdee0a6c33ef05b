package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prenorm/train/metrics"
)

// TestReadme wants the README to name every kind of record that a run writes, and, where it says how to read the code, every package but those
// within another.
func TestReadme(t *testing.T) {
	file, err := os.ReadFile(filepath.FromSlash("../../README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	section := func(title string) string {
		_, rest, ok := strings.Cut(text, "\n## "+title+"\n")
		if !ok {
			t.Fatalf("there is no section %q", title)
		}
		rest, _, _ = strings.Cut(rest, "\n## ")
		return rest
	}
	folder := section("A run's folder")
	for _, kind := range []string{metrics.KindTrain, metrics.KindEval, metrics.KindSample, metrics.KindNote, metrics.KindGuard, metrics.KindInspect, metrics.KindLines} {
		if !strings.Contains(folder, "`"+kind+"`") {
			t.Errorf("kind %s is not named", kind)
		}
	}
	reading := section("Reading the code")
	for name := range packages {
		parts := strings.Split(name, "/")
		if len(parts) > 2 {
			continue
		}
		last := regexp.QuoteMeta(parts[len(parts)-1])
		if !regexp.MustCompile("[`/]" + last + "[`/]").MatchString(reading) {
			t.Errorf("package %s is not named", name)
		}
	}
}
