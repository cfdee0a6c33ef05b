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

// versionOf is what the build recorded of the module and the commit, with a space in front, and that it did not where it did not.
func versionOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text := " " + info.Main.Version
	if info.Main.Version == "" {
		text = " (devel)" // as Go says of what is built in its folder
	}
	// The version that Go makes up for a commit without a tag names the commit, and says "+dirty" of changes.
	commit := settings["vcs.revision"]
	commit = commit[:min(len(commit), 12)]
	switch {
	case commit == "" && text == " (devel)":
		text += ", commit not recorded"
	case commit != "" && !strings.Contains(text, commit):
		text += " commit " + commit
		if settings["vcs.modified"] == "true" {
			text += " with changes"
		}
	}
	return text
}
