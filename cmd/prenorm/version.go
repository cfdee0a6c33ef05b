package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is one line on this build: the module's version, the commit where it is known, Go and the platform.
func version() string {
	name := "prenorm"
	if info, ok := debug.ReadBuildInfo(); ok {
		name += versionOf(info)
	}
	return fmt.Sprintf("%s, %s, %s/%s", name, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionOf is what the build recorded of the module and the commit, with a space in front, or "".
func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := ""
	if v := info.Main.Version; v != "" && v != "(devel)" {
		text += " " + v
	}
	// The version that Go makes up for a commit without a tag names the commit, and says "+dirty" of changes.
	commit := settings["vcs.revision"]
	if commit = commit[:min(len(commit), 12)]; commit != "" && !strings.Contains(text, commit) {
		text += " commit " + commit
		if settings["vcs.modified"] == "true" {
			text += " with changes"
		}
	}
	return text
}
