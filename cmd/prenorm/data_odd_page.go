package main

import (
	"cmp"
	"fmt"

	"prenorm/data/survey"
	pages "prenorm/train/lab/report"
)

// oddRules say what becomes of odd characters by the settings of data.nul and data.invalid_utf8.
var oddRules = map[string]string{"keep": "kept", "drop": "left out", "fail": "refused", "replace": "U+FFFD a run"}

// oddTable is what a text should hardly have: in what is trained and validated on, and in the files as they are read. Without all there are rows for
// which there is a setting, and of what there is.
func oddTable(p survey.Part, all bool) pages.Table {
	t := pages.Table{Name: "odd", Caption: "odd characters", Columns: []string{"", "training", "validation", "in files", "first at", "rule"},
		Note: "In files: as they are read, copies that are left out included; of bytes that are not UTF-8, runs of them. Other controls: but tabs, line breaks and form feeds. " +
			"Order marks: within a text, not at the start of a file."}
	train, val := p.Train.Odd, p.Val.Odd
	read := func(name string, train, val int64, seen survey.Seen, key string) {
		files, rule := unknown, unknown // token files are taken as they are
		if seen.Rule != "" {
			files, rule = grouped(seen.Count), fmt.Sprintf("%s (%s)", oddRules[seen.Rule], key)
		}
		t.Row(name, grouped(train), grouped(val), files, cmp.Or(seen.First, unknown), rule)
	}
	read("NUL", train.NUL, val.NUL, p.Odd.NUL, "data.nul")
	read("bytes that are not UTF-8", train.Invalid, val.Invalid, p.Odd.Invalid, "data.invalid_utf8")
	for _, row := range []struct {
		name       string
		train, val int64
	}{{"U+FFFD for such bytes", train.Replaced, val.Replaced}, {"other controls", train.Controls, val.Controls},
		{"order marks (U+FEFF)", train.Marks, val.Marks}, {"private use", train.Private, val.Private}} {
		if !all && row.train+row.val == 0 {
			continue
		}
		t.Row(row.name, grouped(row.train), grouped(row.val), unknown, unknown, unknown)
	}
	if seen := p.Odd.Outside; seen.Count > 0 {
		t.Row("archive members passed over", unknown, unknown, grouped(seen.Count), seen.First, "unpack the archive")
	}
	return t
}
