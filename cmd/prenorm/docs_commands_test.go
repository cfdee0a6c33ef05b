package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// docPages are all pages of the repository.
func docPages(t *testing.T) (found []string) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("pages %q, %v", found, err)
	}
	return found
}

var (
	spans    = regexp.MustCompile("`([^`\n]+)`")
	called   = regexp.MustCompile(`(?:^|[ /(;&|])prenorm ([a-z][^|>;&)]*)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestDocsCommands wants the commands and flags that pages name, in code, to be there.
func TestDocsCommands(t *testing.T) {
	root := newRoot(&profiles{})
	addCompletion(root)
	flags := map[string]bool{"help": true, "version": true}
	everyCommand(func(cmd *cobra.Command, _ []string) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	})
	commands := 0
	for _, page := range docPages(t) {
		text := read(t, page)
		var code []string
		for _, m := range spans.FindAllStringSubmatch(text, -1) {
			code = append(code, m[1])
		}
		fenced := false
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			} else if fenced || strings.HasPrefix(line, "    ") {
				before, _, _ := strings.Cut(strings.TrimSpace(line), " #")
				code = append(code, before)
			}
		}
		for _, snippet := range code {
			if name, ok := strings.CutPrefix(snippet, "--"); ok && !flags[flagName(name)] {
				t.Errorf("%s: no command has the flag of %s", page, snippet)
			}
			for _, m := range called.FindAllStringSubmatch(snippet, -1) {
				commands++
				checkCommand(t, page, root, strings.Fields(m[1]))
			}
		}
	}
	if commands < 100 {
		t.Errorf("%d commands found", commands)
	}
}

// flagName is the name of a flag with what follows it.
func flagName(word string) string {
	name, _, _ := strings.Cut(word, " ")
	name, _, _ = strings.Cut(name, "=")
	return name
}

// checkCommand looks up a command and its flags.
func checkCommand(t *testing.T, page string, root *cobra.Command, words []string) {
	t.Helper()
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no command prenorm %s", page, strings.Join(words, " "))
		return
	}
	if cmd.HasAvailableSubCommands() && len(rest) > 0 && cmd.Name() != "completion" {
		t.Errorf("%s: prenorm %s: %s has no %s", page, strings.Join(words, " "), cmd.Name(), rest[0])
	}
	for _, word := range rest {
		name, long := strings.CutPrefix(word, "--")
		known := true
		switch {
		case long:
			known = cmd.Flags().Lookup(flagName(name)) != nil
		case len(word) == 2 && word[0] == '-':
			known = cmd.Flags().ShorthandLookup(word[1:]) != nil
		}
		if !known {
			t.Errorf("%s: prenorm %s: %s has no flag %s", page, strings.Join(words, " "), cmd.CommandPath(), word)
		}
	}
}

// TestDocsLinks wants the files that pages link to be there, and the headings.
func TestDocsLinks(t *testing.T) {
	for _, page := range docPages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			path := page
			if file != "" {
				path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s: %s: there is no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names by which the headings of a page are linked.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(kept, " ", "-")] = true
	}
	return found
}
