package main

import (
	"fmt"
	"io"
	"strings"

	"prenorm/data/dedup"
	"prenorm/data/survey"
	pages "prenorm/train/lab/report"
	"prenorm/train/metrics"
)

// mostShown is how many rows of a list the page has; its file has all.
const mostShown = 40

// surveyPage makes a survey into a page. What is not known has no section.
func surveyPage(s *survey.Survey, name string) pages.Report {
	copies, overlap, lines, packed := s.Methods()
	page := pages.Report{Title: "The text: " + name, Lead: strings.Join(append([]string{lead(s)}, s.Notes...), "\n\n"),
		Facts: []pages.Fact{{Name: "Tokenizer", Value: fmt.Sprintf("%s, %d ids", s.Tokenizer, s.Vocab)}}}
	if len(s.Sources) > 0 {
		page.Sections = append(page.Sections, sourcesSection(s))
	}
	size := pages.Section{Title: "Size", Tables: []pages.Table{sizeTable(s.Part)}}
	if !s.Text {
		page.Sections = append(page.Sections, size)
	} else {
		size.Figures, size.Tables = []pages.Figure{lengthFigure(s)}, append(size.Tables, oddTable(s.Part, true))
		page.Sections = append(page.Sections, size,
			pages.Section{Title: "Scripts", Tables: []pages.Table{scriptTable(s.Part)}, Figures: scriptFigures(s)},
			pages.Section{Title: "Copies", Text: copies, Tables: copyTables(s), Figures: copyFigures(s)},
			pages.Section{Title: "Validation text in the training text", Text: overlap, Tables: overlapTables(s)})
	}
	reference := pages.Section{Title: "Lines of reference", Text: lines, Tables: []pages.Table{lineTable(s.Part, packed)}}
	if s.Text {
		reference.Figures = []pages.Figure{lineFigure(s)}
	}
	page.Sections = append(page.Sections, reference)
	for _, x := range s.Sources {
		page.Sections = append(page.Sections, sourceSection(x))
	}
	return page
}

// lead says in a sentence or two what was found.
func lead(s *survey.Survey) string {
	tokens := fmt.Sprintf("%s tokens", grouped(s.Train.Tokens+s.Val.Tokens))
	if !s.Text {
		return tokens + " of a tokenizer that is not known."
	}
	of := ""
	if n := len(s.Sources); n > 0 {
		of = fmt.Sprintf(" of %d sources", n)
	}
	documents := "documents whose number is not known"
	if n := s.Train.Documents + s.Val.Documents; n > 0 {
		documents = grouped(int64(n)) + " documents"
	}
	across := ""
	if s.Across != nil {
		across = fmt.Sprintf(" within their source, %.1f%% of documents in other sources", shareOf(s.Across.Exact+s.Across.Near, s.Copies.Compared))
	}
	return fmt.Sprintf("%s of text in %s%s, %s. %.1f%% of the documents are copies of others%s, and %.1f%% of the validation text's n-grams occur in the training text.",
		metrics.Bytes(s.Train.Bytes+s.Val.Bytes), documents, of, tokens, shareOf(s.Copies.Exact+s.Copies.Near, s.Copies.Compared), across, 100*s.Overlap.Share())
}

// printPage prints a page's words and tables.
func printPage(w io.Writer, r pages.Report) {
	fmt.Fprintln(w, r.Lead)
	for _, s := range r.Sections {
		fmt.Fprintf(w, "\n%s\n", s.Title)
		for _, t := range s.Tables {
			if t.Caption != "" {
				fmt.Fprintf(w, "  %s\n", t.Caption)
			}
			t.Text(w, "  ")
		}
		if s.Text != "" {
			pages.Table{Note: s.Text}.Text(w, "  ")
		}
	}
}

func shareOf(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// unknown is shown for what is not known.
const unknown = "–"

func sizeTable(p survey.Part) pages.Table {
	t := pages.Table{Name: "size", Columns: []string{"", "documents", "bytes", "characters", "words", "tokens", "bytes a token"}}
	for _, side := range []struct {
		name string
		survey.Side
	}{{"training", p.Train}, {"validation", p.Val}} {
		if !p.Text {
			t.Row(side.name, unknown, unknown, unknown, unknown, grouped(side.Tokens), unknown)
			continue
		}
		t.Row(side.name, documentsOf(side.Side), grouped(side.Bytes), grouped(side.Characters), grouped(side.Words), grouped(side.Tokens), float64(side.Bytes)/float64(max(side.Tokens, 1)))
	}
	return t
}

func documentsOf(s survey.Side) string {
	if s.Documents == 0 {
		return unknown
	}
	return grouped(int64(s.Documents))
}

// binName is the sizes of a bin in short: "<1k".
func binName(below int64) string {
	names := []string{"", "k", "M", "G", "T", "P"}
	i := 0
	for below >= 1024 && i < len(names)-1 {
		below /= 1024
		i++
	}
	return fmt.Sprintf("<%d%s", below, names[i])
}

func lengthFigure(s *survey.Survey) pages.Figure {
	f := pages.Figure{Name: "lengths", Title: "Documents by length", X: "bytes", Y: "documents", Bars: true, Note: "Powers of two, of 1024 bytes a k."}
	counts := map[int64][2]float64{}
	low, high := int64(1<<62), int64(0)
	for i, side := range []survey.Side{s.Train, s.Val} {
		for _, b := range side.Lengths {
			n := counts[b.Below]
			n[i] = float64(b.Documents)
			counts[b.Below] = n
			low, high = min(low, b.Below), max(high, b.Below)
		}
	}
	f.Series = []pages.Series{{Name: "training"}, {Name: "validation"}}
	for at := low; at <= high && at > 0; at *= 2 {
		f.Labels = append(f.Labels, binName(at))
		for i := range f.Series {
			f.Series[i].Y = append(f.Series[i].Y, counts[at][i])
		}
	}
	return f
}

func scriptTable(s survey.Part) pages.Table {
	t := pages.Table{Name: "scripts", Columns: []string{"script", "training, %", "characters", "mainly in it", "validation, %"},
		Note: "Shares of the characters that belong to a script; digits, spaces and punctuation belong to none. Mainly in it: training documents."}
	val := map[string]survey.Script{}
	for _, x := range s.Val.Scripts {
		val[x.Name] = x
	}
	row := func(name string, x survey.Script) {
		t.Row(name, 100*x.Share, grouped(x.Characters), grouped(int64(x.Documents)), 100*val[name].Share)
		delete(val, name)
	}
	for _, x := range s.Train.Scripts {
		row(x.Name, x)
	}
	for _, x := range s.Val.Scripts {
		if _, left := val[x.Name]; left {
			row(x.Name, survey.Script{})
		}
	}
	return t
}

// scriptFigures draw the scripts, where there is one.
func scriptFigures(s *survey.Survey) []pages.Figure {
	if len(s.Train.Scripts) == 0 {
		return nil
	}
	f := pages.Figure{Name: "scripts", Title: "Scripts of the training text", Y: "% of characters", Bars: true}
	series := pages.Series{Name: "characters"} // one colour
	for _, x := range s.Train.Scripts[:min(10, len(s.Train.Scripts))] {
		f.Labels, series.Y = append(f.Labels, x.Name), append(series.Y, 100*x.Share)
	}
	f.Series = []pages.Series{series}
	return []pages.Figure{f}
}

func copyCounts(c survey.Copies) pages.Table {
	counts := pages.Table{Name: "copies", Columns: []string{"", "documents", "% of documents"}}
	for _, row := range []struct {
		name string
		n    int
	}{{"compared", c.Compared}, {"exact copies", c.Exact}, {"near copies", c.Near}} {
		counts.Row(row.name, grouped(int64(row.n)), shareOf(row.n, c.Compared))
	}
	counts.Row("bytes of copies", grouped(c.Bytes), "")
	return counts
}

func copyTables(s *survey.Survey) []pages.Table {
	c := s.Copies
	counts := copyCounts(c)
	list := pages.Table{Name: "copies-list", Columns: []string{"copy", "of", "similarity", "bytes"}, Raw: &pages.Table{Columns: []string{"copy", "of", "similarity", "exact", "bytes"}}}
	for i, d := range c.List {
		if i < mostShown {
			list.Row(d.Document, d.Of, similarityOf(d), grouped(d.Bytes))
		}
		list.Raw.Full(d.Document, d.Of, d.Similarity, d.Exact, d.Bytes)
	}
	return append(listed(counts, list, c.Exact+c.Near), acrossTables(s)...)
}

// similarityOf is a copy's similarity in words.
func similarityOf(d survey.CopyListing) string {
	if d.Exact {
		return "exact"
	}
	return fmt.Sprintf("%.2f", d.Similarity)
}

// listed is a table and, where it has rows, its list, with a note on what is not shown.
func listed(counts, list pages.Table, all int) []pages.Table {
	if len(list.Rows) == 0 {
		return []pages.Table{counts}
	}
	if len(list.Rows) < all {
		list.Note = fmt.Sprintf("%d of %d are shown; %s.csv and --json have %d.", len(list.Rows), all, list.Name, len(list.Raw.Rows))
	}
	return []pages.Table{counts, list}
}

func copyFigures(s *survey.Survey) []pages.Figure {
	if s.Copies.Near == 0 {
		return nil
	}
	f := pages.Figure{Name: "similarity", Title: "Near copies by similarity", X: "estimated similarity, from", Y: "documents", Bars: true}
	series := pages.Series{Name: "documents"} // one colour
	for i, n := range s.Copies.Hist {
		f.Labels = append(f.Labels, fmt.Sprintf("%.2f", dedup.Similar+float64(i)*(1-dedup.Similar)/float64(len(s.Copies.Hist))))
		series.Y = append(series.Y, float64(n))
	}
	f.Series = []pages.Series{series}
	return []pages.Figure{f}
}

func overlapCounts(o survey.Overlap) pages.Table {
	counts := pages.Table{Name: "overlap", Columns: []string{"in the training text", "validation", "of", "%"}}
	counts.Row("n-grams", grouped(o.Found), grouped(o.Grams), 100*o.Share())
	for _, row := range []struct {
		name string
		n    int
	}{{"documents with any", o.Any}, {"documents with half", o.Half}, {"documents with all", o.All}} {
		counts.Row(row.name, grouped(int64(row.n)), grouped(int64(o.Documents)), shareOf(row.n, o.Documents))
	}
	return counts
}

func overlapTables(s *survey.Survey) []pages.Table {
	o := s.Overlap
	counts := overlapCounts(o)
	list := pages.Table{Name: "overlap-list", Columns: []string{"validation document", "most of it in", "% found", "n-grams"}, Raw: &pages.Table{Columns: []string{"document", "train", "share", "grams"}}}
	for i, d := range o.List {
		if i < mostShown {
			list.Row(d.Document, d.Train, 100*d.Share, grouped(d.Grams))
		}
		list.Raw.Full(d.Document, d.Train, d.Share, d.Grams)
	}
	return listed(counts, list, o.Any)
}

func lineTable(s survey.Part, packed string) pages.Table {
	l := s.Lines
	t := pages.Table{Name: "lines", Columns: []string{"", "nats a token"}}
	rows := []struct {
		name  string
		nats  float64
		bytes any
	}{{"ln V", l.Uniform, l.BitsPerByte.Uniform}, {"unigram", l.Unigram, l.BitsPerByte.Unigram}, {"bigram", l.Bigram, l.BitsPerByte.Bigram},
		{"unigram of the training text on itself", l.TrainUnigram, ""}, {"bigram of the training text on itself", l.TrainBigram, ""}}
	if !s.Text {
		for _, r := range rows {
			t.Row(r.name, r.nats)
		}
		return t
	}
	t.Columns, t.Note = append(t.Columns, "bits a byte"), packed
	for _, r := range rows {
		t.Row(r.name, r.nats, r.bytes)
	}
	t.Row("gzip, validation", "", s.Val.Packed.Gzip)
	t.Row("zstd, validation", "", s.Val.Packed.Zstd)
	t.Row("zstd, validation given training", "", s.Val.Packed.ZstdGiven)
	t.Row("gzip, training", "", s.Train.Packed.Gzip)
	t.Row("zstd, training", "", s.Train.Packed.Zstd)
	return t
}

func lineFigure(s *survey.Survey) pages.Figure {
	b, p := s.Lines.BitsPerByte, s.Val.Packed
	return pages.Figure{Name: "lines", Title: "Bits a byte of validation text", Y: "bits a byte", Bars: true, Labels: []string{"ln V", "unigram", "bigram", "gzip", "zstd", "zstd given"},
		Series: []pages.Series{{Name: "bits a byte", Y: []float64{b.Uniform, b.Unigram, b.Bigram, p.Gzip, p.Zstd, p.ZstdGiven}}}}
}
