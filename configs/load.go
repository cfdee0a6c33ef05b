package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"prenorm/configs/problem"
)

// Loaded is a run that passed every check, with derived sizes filled in, and where each key was given.
type Loaded struct {
	Run     Run
	Header  string // the comment lines that the file begins with, without their marks: what the run is and needs
	file    string
	written Run // as the file alone gives it
	places  map[string]place
	ruled   map[string]bool // keys whose values follow from others by a rule
}

// Load reads a run file and applies the arguments of --set ("key=value") in their order, the later ones winning. A path without folder and
// ending that names no file names a preset: "quickstart". What is wrong with the run comes back as one [*Error]; a file that cannot be read as
// an error of package os.
func Load(path string, sets []string) (*Loaded, error) {
	src, err := readFile(path)
	if err == nil {
		return Parse(path, src, sets)
	}
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() { // a folder may have a preset's name
		err = fmt.Errorf("%s is a folder: %w", path, fs.ErrNotExist)
		if _, ok := Preset(path); !ok {
			return nil, fmt.Errorf("reading the run file: %s is a folder (give a .yaml file, such as %s of a run, or a preset: %s)", path, filepath.Join(path, "config.yaml"), strings.Join(Presets(), ", "))
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the run file: %w", err)
	}
	if filepath.Base(path) == path && filepath.Ext(path) == "" {
		if src, ok := Preset(path); ok {
			return Parse(path+".yaml", src, sets)
		}
		if near := problem.Closest(path, Presets()); near != "" {
			return nil, fmt.Errorf("no run file and no preset %s (did you mean %s?)", path, near)
		}
	}
	return nil, fmt.Errorf("reading the run file: %w%s: give a .yaml file, the folder of a run, or a preset (%s)", err, problem.MeantPath(path), strings.Join(Presets(), ", "))
}

// readFile reads no more of a file than it takes to see that it is too large. It may be a pipe, such as a shell makes of the output of another
// program: train <(program).
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, largest+1))
}

// LoadKept is [Load] for the settings in a checkpoint of a run, whose files nobody may change: problems name the run in place of file and line.
func LoadKept(path, run string, sets []string) (*Loaded, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parse(run, src, sets, true)
}

// Parse is [Load] for a text in memory; name stands for the file in messages.
func Parse(name string, src []byte, sets []string) (*Loaded, error) {
	return parse(name, src, sets, false)
}

func parse(name string, src []byte, sets []string, lineless bool) (*Loaded, error) {
	run := Default()
	d := &decoder{file: name, lineless: lineless, places: map[string]place{}, broken: map[string]bool{}}
	root, bad := parseYAML(src)
	if bad != nil {
		d.report(bad.line, "", "%s", bad.what)
	} else if root != nil && root.ShortTag() != "!!null" {
		d.value(root, reflect.ValueOf(&run).Elem(), "", root.Line)
	}
	written := run
	for _, argument := range sets {
		d.applySet(reflect.ValueOf(&run).Elem(), argument)
	}
	l := &Loaded{Run: run, Header: header(src), file: name, written: written, places: d.places, ruled: map[string]bool{}}
	if bad == nil {
		for _, p := range run.Problems() {
			if !d.broken[p.Key] {
				d.problems = append(d.problems, l.locate(p))
			}
		}
	}
	if err := asError(d.problems); err != nil {
		return nil, err
	}
	l.Run = run.Resolved()
	for _, c := range Diff(run, l.Run) {
		l.ruled[c.Key] = true
	}
	return l, nil
}

// Given reports whether the file or --set gives the key.
func (l *Loaded) Given(key string) bool {
	_, given := l.places[key]
	return given
}

// KeepRuled takes over, from the run that this one goes on with, the keys that are left to a rule, such as a warmup of a tenth of the steps:
// what the rule gave at the run's start holds for all of it. Rules that the outcome breaks come back as one [*Error].
func (l *Loaded) KeepRuled(old Run) error {
	from := leavesOf(reflect.ValueOf(old), "")
	for i, to := range leavesOf(reflect.ValueOf(&l.Run).Elem(), "") {
		if l.ruled[to.key] {
			to.value.Set(from[i].value)
		}
	}
	return l.Locate(l.Run.Problems())
}

// YAML writes the resolved run; see [Run.YAML].
func (l *Loaded) YAML() []byte { return l.Run.YAML() }

// Locate turns problems that another package found in the run into one [*Error] with their places, or nil where there are none.
func (l *Loaded) Locate(problems problem.List) error {
	var out []Problem
	for _, p := range problems {
		out = append(out, l.locate(p))
	}
	return asError(out)
}

// NeedsData returns an [*Error] where the run names no training text.
func (l *Loaded) NeedsData() error { return l.Locate(l.Run.Data.NeedsData().Under("data")) }

func (l *Loaded) locate(p problem.Problem) Problem {
	at := l.places[p.Key]
	if other := l.places[p.Beside]; at.set == "" && other.set != "" { // what the file says was right before
		at = other
	}
	return Problem{l.file, at.line, at.set, p.Key, p.What}
}

// header returns the comment lines that a file begins with.
func header(src []byte) string {
	var lines []string
	for line := range strings.Lines(string(src)) {
		text, isComment := strings.CutPrefix(line, "#")
		if !isComment {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.Join(lines, "\n")
}
