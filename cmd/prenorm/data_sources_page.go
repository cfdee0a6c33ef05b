package main

import (
	"cmp"
	"fmt"
	"slices"

	"prenorm/data/survey"
	pages "prenorm/train/lab/report"
)

// mostBars is how many sources a figure has.
const mostBars = 12

// sourcesSection holds the sources beside each other: what their weights give them and what they have, and which one's validation text is in which
// one's training text.
func sourcesSection(s *survey.Survey) pages.Section {
	section := pages.Section{Title: "Sources", Tables: []pages.Table{shareTable(s)}, Figures: []pages.Figure{shareFigure(s)}}
	if len(s.Stages) > 1 {
		section.Tables = append(section.Tables, stageTable(s))
	}
	if s.Text {
		section.Tables = append(section.Tables, betweenTable(s))
	}
	return section
}

func shareTable(s *survey.Survey) pages.Table {
	t := pages.Table{Name: "sources", Columns: []string{"source", "weight, %", "documents", "%", "bytes", "%", "tokens", "%", "drawn"},
		Note: "Of the training texts. Weight: share of the rows from step 1 on. Drawn: weight by share of tokens; at 2 a token is seen twice as often as if all texts were one.",
		Raw:  &pages.Table{Columns: []string{"source", "weight", "documents", "documents_share", "bytes", "bytes_share", "tokens", "tokens_share"}}}
	for _, x := range s.Sources {
		drawn := unknown
		if x.Share.Tokens > 0 {
			drawn = pages.Short(x.Weights[0] / x.Share.Tokens)
		}
		documents, share := documentsOf(x.Train), pages.Short(100*x.Share.Documents)
		if x.Train.Documents == 0 {
			share = unknown
		}
		size := []any{grouped(x.Train.Bytes), 100 * x.Share.Bytes}
		if !x.Text {
			size = []any{unknown, unknown}
		}
		t.Row(x.Name, 100*x.Weights[0], documents, share, size[0], size[1], grouped(x.Train.Tokens), 100*x.Share.Tokens, drawn)
		t.Raw.Full(x.Name, x.Weights[0], x.Train.Documents, x.Share.Documents, x.Train.Bytes, x.Share.Bytes, x.Train.Tokens, x.Share.Tokens)
	}
	return t
}

// shareFigure draws weights beside shares.
func shareFigure(s *survey.Survey) pages.Figure {
	f := pages.Figure{Name: "sources", Title: "Weights and sizes of the sources", Y: "% of all", Bars: true, Series: []pages.Series{{Name: "weight"}, {Name: "documents"}, {Name: "bytes"}, {Name: "tokens"}}}
	for i, x := range s.Sources {
		if i == mostBars {
			f.Note = fmt.Sprintf("The first %d of %d sources.", mostBars, len(s.Sources))
			break
		}
		f.Labels = append(f.Labels, x.Name)
		for k, v := range []float64{x.Weights[0], x.Share.Documents, x.Share.Bytes, x.Share.Tokens} {
			f.Series[k].Y = append(f.Series[k].Y, 100*v)
		}
	}
	if !s.Text {
		f.Series = []pages.Series{f.Series[0], f.Series[3]}
	}
	return f
}

// mostStages is how many stages the table of weights has side by side.
const mostStages = 6

func stageTable(s *survey.Survey) pages.Table {
	t := pages.Table{Name: "stages", Caption: "weights by data.stages, % of the rows", Columns: []string{"source"}, Raw: &pages.Table{Columns: []string{"source"}}}
	for i, from := range s.Stages {
		name := fmt.Sprintf("from step %d", from)
		if i < mostStages {
			t.Columns = append(t.Columns, name)
		}
		t.Raw.Columns = append(t.Raw.Columns, name)
	}
	for _, x := range s.Sources {
		row := []any{x.Name}
		for _, w := range x.Weights {
			row = append(row, 100*w)
		}
		t.Row(row[:len(t.Columns)]...)
		t.Raw.Full(row...)
	}
	if len(s.Stages) > mostStages {
		t.Note = fmt.Sprintf("%d of %d stages are shown; stages.csv and --json have all.", mostStages, len(s.Stages))
	}
	return t
}

// betweenTable tells of every pair of sources how much of one's validation text is in the other's training text, most first.
func betweenTable(s *survey.Survey) pages.Table {
	t := pages.Table{Name: "between", Caption: "n-grams of one source's validation text in another's training text", Columns: []string{"validation of", "training of", "n-grams", "of", "%"},
		Raw: &pages.Table{Columns: []string{"validation", "training", "found", "grams"}}}
	type pair struct {
		val, train string
		found, of  int64
	}
	var all []pair
	for _, x := range s.Sources {
		for i, found := range x.FoundIn {
			all = append(all, pair{x.Name, s.Sources[i].Name, found, x.Overlap.Grams})
		}
	}
	share := func(p pair) float64 { return float64(p.found) / float64(max(p.of, 1)) }
	slices.SortStableFunc(all, func(a, b pair) int { return cmp.Compare(share(b), share(a)) })
	for i, p := range all {
		if i < mostShown {
			t.Row(p.val, p.train, grouped(p.found), grouped(p.of), 100*share(p))
		}
		t.Raw.Full(p.val, p.train, p.found, p.of)
	}
	if len(all) > mostShown {
		t.Note = fmt.Sprintf("%d of %d pairs are shown, those with most; between.csv has all.", mostShown, len(all))
	}
	return t
}

// sourceSection is what was found of one of several sources.
func sourceSection(x survey.Source) pages.Section {
	section := pages.Section{Title: "Source " + x.Name}
	add := func(t pages.Table, caption string) {
		t.Name, t.Caption, t.Note = t.Name+"-"+x.Name, caption, ""
		section.Tables = append(section.Tables, t)
	}
	add(sizeTable(x.Part), "size")
	if x.Text {
		add(oddTable(x.Part, false), "odd characters")
		add(scriptTable(x.Part), "scripts")
		add(copyCounts(x.Copies), "copies")
		add(overlapCounts(x.Overlap), "its validation text in the training text of all sources")
	}
	add(lineTable(x.Part, ""), "lines of reference")
	return section
}

// acrossTables are the copies across sources, by the pairs of sources that have any, and listed; nil where there is one source.
func acrossTables(s *survey.Survey) []pages.Table {
	if s.Across == nil {
		return nil
	}
	counts := pages.Table{Name: "across", Caption: "documents that are copies of one of an earlier source", Columns: []string{"in source", "of source", "exact", "near", "bytes", "% of documents"},
		Note: "Training takes them, whatever data.duplicates says: it leaves out copies within a source. Those are not counted here."}
	for _, x := range s.Sources {
		for i, n := range x.CopiesOf {
			if n.Exact+n.Near > 0 {
				counts.Row(x.Name, s.Sources[i].Name, grouped(int64(n.Exact)), grouped(int64(n.Near)), grouped(n.Bytes), shareOf(n.Exact+n.Near, x.Copies.Compared))
			}
		}
	}
	if len(counts.Rows) == 0 {
		counts.Row("none", "", "", "", "", "")
	}
	list := pages.Table{Name: "across-list", Columns: []string{"source", "copy", "source", "of", "similarity", "bytes"}, Raw: &pages.Table{Columns: []string{"source", "copy", "of_source", "of", "similarity", "exact", "bytes"}}}
	for i, d := range s.Across.List {
		if i < mostShown {
			list.Row(d.Source, d.Document, d.OfSource, d.Of, similarityOf(d.CopyListing), grouped(d.Bytes))
		}
		list.Raw.Full(d.Source, d.Document, d.OfSource, d.Of, d.Similarity, d.Exact, d.Bytes)
	}
	return listed(counts, list, s.Across.Exact+s.Across.Near)
}
