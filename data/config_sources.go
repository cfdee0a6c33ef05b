package data

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"prenorm/configs/problem"
)

var (
	sourceName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,49}$`)
	sourceWeight = problem.Interval{Low: 0, High: 1e9}
)

const (
	maxSources = 1000
	maxStep    = 1 << 30
)

// checkSources adds what is wrong with data.sources and data.stages.
func (c Config) checkSources(l *problem.List) {
	if len(c.Sources) == 0 {
		if len(c.Stages) > 0 {
			l.Addf("stages", "gives weights, but there are no sources to weigh (name them in data.sources)")
		}
		return
	}
	if len(c.Train) > 0 {
		l.Addf("sources", "is given beside data.train: a run has one text or several sources (put the files of data.train into a source)")
	}
	if len(c.Val.Files) > 0 {
		l.Addf("sources", "is given beside data.val.files: every source has validation text of its own (name it in val of the source, or leave it to data.val.fraction)")
	}
	if len(c.Sources) > maxSources {
		l.Addf("sources", "has %d entries (at most %d)", len(c.Sources), maxSources)
	}
	names := map[string]bool{}
	for i, s := range c.Sources {
		switch {
		case !sourceName.MatchString(s.Name):
			l.Addf("sources", "entry %d: %q is no name (letters, digits, dot, _ and -, at most 50)", i+1, s.Name)
		case names[s.Name]:
			l.Addf("sources", "entry %d: there is a source %s before it (give each a name of its own)", i+1, s.Name)
		}
		names[s.Name] = true
		if len(s.Train) == 0 || slices.Contains(s.Train, "") {
			l.Addf("sources", "entry %d: train names no text (a file, glob or folder)", i+1)
		}
		if slices.Contains(slices.Concat(s.Train, s.Val), "-") {
			l.Addf("sources", "entry %d: \"-\" is standard input, which is for data.train only (put the text into a file)", i+1)
		}
		if slices.Contains(s.Val, "") {
			l.Addf("sources", "entry %d: val has an empty entry (a file, glob or folder)", i+1)
		}
	}
	if what := weightsProblem(c.Weights(), len(c.Sources)); what != "" {
		l.Addf("sources", "%s", what)
	}
	from := 1
	for i, s := range c.Stages {
		if s.From <= from || s.From > maxStep {
			l.Addf("stages", "entry %d: from: %d wants a step after %d (the sources' own weights hold from step 1 on)", i+1, s.From, from)
		}
		from = max(from, s.From)
		if what := weightsProblem(s.Weights, len(c.Sources)); what != "" {
			l.Addf("stages", "entry %d: %s", i+1, what)
		}
	}
}

// weightsProblem is what is wrong with the weights of n sources, "" for nothing.
func weightsProblem(weights []float64, n int) string {
	if len(weights) != n {
		return fmt.Sprintf("%d weights for %d sources (one each, in their order)", len(weights), n)
	}
	sum := 0.0
	for _, w := range weights {
		if math.IsNaN(w) || !sourceWeight.Contains(w) {
			return fmt.Sprintf("weight %s is out of range (%s)", problem.Number(w), sourceWeight)
		}
		sum += w
	}
	if sum == 0 {
		return "every weight is 0 (at least one must be more)"
	}
	return ""
}
