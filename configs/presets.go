package configs

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yaml
var presetFiles embed.FS

// Preset returns the run file configs/NAME.yaml, which the program carries.
func Preset(name string) ([]byte, bool) {
	src, err := presetFiles.ReadFile(name + ".yaml")
	return src, err == nil
}

// Presets lists the names of the presets in alphabetical order.
func Presets() []string {
	entries, err := presetFiles.ReadDir(".")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	}
	return names
}
