package main

import (
	"cmp"

	"prenorm/data/survey"
	pages "prenorm/train/lab/report"
)

// oddRules say what becomes of odd characters by the settings of data.nul and data.invalid_utf8; "" is of token files, which are taken as they are.
var oddRules = map[string]string{"keep": "kept", "drop": "left out", "fail": "refused", "replace": "U+FFFD for each run", "": unknown}

// oddTable is what a text should hardly have: in what is trained and validated on, and in the files as they are read.
func oddTable(p survey.Part) pages.Table {
	t := pages.Table{Name: "odd", Caption: "odd characters", Columns: []string{"", "training", "validation", "in the files", "the first at", "what becomes of them"},
		Note: "In the files: as they are read, copies that are left out included; of bytes that are not UTF-8, runs of them. Other controls: but tabs, line breaks and form feeds. " +
			"Order marks: within a text, not at the start of a file."}
	train, val := p.Train.Odd, p.Val.Odd
	read := func(name string, train, val int64, seen survey.Seen) {
		files := unknown
		if seen.Rule != "" {
			files = grouped(seen.Count)
		}
		t.Row(name, grouped(train), grouped(val), files, cmp.Or(seen.First, unknown), oddRules[seen.Rule])
	}
	read("NUL (data.nul)", train.NUL, val.NUL, p.Odd.NUL)
	read("bytes that are not UTF-8 (data.invalid_utf8)", train.Invalid, val.Invalid, p.Odd.Invalid)
	for _, row := range []struct {
		name       string
		train, val int64
	}{{"U+FFFD, which stands for such bytes", train.Replaced, val.Replaced}, {"other controls", train.Controls, val.Controls},
		{"order marks (U+FEFF)", train.Marks, val.Marks}, {"private use", train.Private, val.Private}} {
		t.Row(row.name, grouped(row.train), grouped(row.val), unknown, unknown, "kept")
	}
	if seen := p.Odd.Outside; seen.Count > 0 {
		t.Row("archive members of other names", unknown, unknown, grouped(seen.Count), seen.First, "passed over")
	}
	return t
}
