package configs

import (
	"reflect"
	"strings"
	"testing"

	"prenorm/data"
)

const sources = `data:
  sources:
    - {name: code, train: code/*.go, weight: 0.3}
    - name: prose
      train: [a.txt, b.jsonl]
      val: c.txt
      field: body
  stages:
    - {from: 100, weights: [0, 1]}
    - {from: 200, weights: [1, 2.5]}
`

// TestSourcesAreRead wants lists of sections to be decoded onto their defaults, written out, and read back.
func TestSourcesAreRead(t *testing.T) {
	l, err := Parse("run.yaml", []byte(sources), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []data.Source{{Name: "code", Train: []string{"code/*.go"}, Weight: 0.3},
		{Name: "prose", Train: []string{"a.txt", "b.jsonl"}, Val: []string{"c.txt"}, Weight: 1, Field: "body"}}
	if !reflect.DeepEqual(l.Run.Data.Sources, want) {
		t.Errorf("%+v", l.Run.Data.Sources)
	}
	if s := l.Run.Data.Stages; len(s) != 2 || s[1].From != 200 || !reflect.DeepEqual(s[1].Weights, []float64{1, 2.5}) {
		t.Errorf("%+v", s)
	}
	if err := l.Locate(l.Run.Data.NeedsData()); err != nil {
		t.Error(err)
	}
	roundTrip(t, l)
	one, err := Parse("run.yaml", nil, []string{`data.sources=[{name: a, train: x}]`})
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, one)
	if d := Diff(l.Run, one.Run); len(d) != 2 || d[0].Key != "data.sources" || d[0].To != `[{name: a, train: [x], val: [], weight: 1, field: ""}]` {
		t.Errorf("%v", d)
	}
}

func TestSourcesAreChecked(t *testing.T) {
	for src, want := range map[string]string{
		"data: {train: x, sources: [{name: a, train: y}]}":                                   "is given beside data.train: a run has one text or several sources",
		"data: {val: {files: x}, sources: [{name: a, train: y}]}":                            "is given beside data.val.files",
		"data: {sources: [{name: a, train: y}, {name: a, train: z}]}":                        "data.sources: entry 2: there is a source a before it",
		"data: {sources: [{train: y}]}":                                                      `data.sources: entry 1: "" is no name`,
		"data: {sources: [{name: a}]}":                                                       "data.sources: entry 1: train names no text",
		`data: {sources: [{name: a, train: "-"}]}`:                                           `data.sources: entry 1: "-" is standard input`,
		"data: {sources: [{name: a, train: y, weight: 0}]}":                                  "every weight is 0",
		"data: {sources: [{name: a, train: y, weight: -1}]}":                                 "weight -1 is out of range",
		"data: {sources: [{name: a, trian: y}]}":                                             "run.yaml:1: data.sources[1].trian: unknown key (did you mean data.sources[1].train?)",
		"data: {sources: [a]}":                                                               "data.sources[1]: is text, want a section",
		"data: {sources: a}":                                                                 "data.sources[1]: is text, want a section",
		"data: {sources: {name: a}}":                                                         "data.sources: is a section, want a list of sections",
		"data: {stages: [{from: 5, weights: 1}]}":                                            "data.stages: gives weights, but there are no sources",
		"data: {sources: [{name: a, train: y}], stages: [{from: 5, weights: [1, 2]}]}":       "data.stages: entry 1: 2 weights for 1 sources",
		"data: {sources: [{name: a, train: y}], stages: [{from: 1, weights: 1}]}":            "data.stages: entry 1: from: 1 wants a step after 1",
		"data: {sources: [{name: a, train: y}], stages: [{from: 5, weights: 1}, {from: 5}]}": "data.stages: entry 2: from: 5 wants a step after 5",
		"data: {sources: [{name: a, train: y}], stages: [{from: 5, weights: [.nan]}]}":       "data.stages",
		"data: {packing: document}":                                                          "data.packing",
		"data: {sources: [{name: a, train: y, weight: 1, weight: 2}]}":                       "data.sources[1].weight: is given twice",
	} {
		if _, err := Parse("run.yaml", []byte(src), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}
