package problem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// MeantPath is " (did you mean runs/quickstart?)" for a path that is not there and is most likely a misspelling of one beside it, and "" where none
// is near.
func MeantPath(path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if near := Closest(base, names); near != "" && near != base {
		return fmt.Sprintf(" (did you mean %s?)", dir+near)
	}
	return ""
}
