package survey

import (
	"fmt"
	"strings"
	"testing"

	"prenorm/data"
)

// TestAcross plants copies of both kinds in sources behind each other: what is no copy within its source is looked for in those before, named with
// both, and left in the text whatever data.duplicates says.
func TestAcross(t *testing.T) {
	long := tale(1, 400)
	put(t, map[string]string{
		"a.jsonl": rows(tale(2, 50), long, tale(2, 50), tale(3, 50)), "a-val.jsonl": rows(tale(4, 50)),
		"b.jsonl": rows(strings.ToUpper(tale(2, 50)), tale(3, 50), long+" and more", "its own", long+" and more", tale(3, 50)), "b-val.jsonl": rows("another own"),
		"c.jsonl": rows("the last one", long+" and more"), "c-val.jsonl": rows(tale(4, 50), "its own"),
	})
	var list []data.Source
	for _, name := range []string{"a", "b", "c"} {
		list = append(list, data.Source{Name: name, Train: []string{name + ".jsonl"}, Val: []string{name + "-val.jsonl"}, Weight: 1})
	}
	for _, kind := range []string{"keep", "drop_near"} {
		s := run(t, func(c *data.Config) { c.Sources, c.Duplicates = list, kind })
		x := s.Across
		if x == nil || x.Compared != 4+5+4 || x.Exact != 4 || x.Near != 2 || x.Full || len(x.List) != 6 {
			t.Fatalf("%+v", x)
		}
		var got []string
		bytes := int64(0)
		for _, d := range x.List {
			got = append(got, fmt.Sprintf("%s %s<%s %s %v", d.Source, d.Document, d.OfSource, d.Of, d.Exact))
			bytes += d.Bytes
			if d.Similarity < 0.8 || d.Similarity > 1 {
				t.Errorf("%+v", d)
			}
		}
		// c's long text is that of b, which is a copy of a's.
		want := "b b.jsonl:1<a a.jsonl:1 false, b b.jsonl:2<a a.jsonl:4 true, b b.jsonl:3<a a.jsonl:2 false, c c-val.jsonl:1<a a-val.jsonl:1 true, c c-val.jsonl:2<b b.jsonl:4 true, c c.jsonl:2<a a.jsonl:2 true"
		if line := strings.Join(got, ", "); line != want {
			t.Errorf("%s\nwant %s", line, want)
		}
		if x.Bytes != bytes {
			t.Errorf("%d bytes, listed are %d", x.Bytes, bytes)
		}
		more, short := int64(len(long+" and more")), int64(len(tale(3, 50)))
		pairs := [][]Between{{{}, {}, {}}, {{1, 2, short + more + int64(len(tale(2, 50)))}, {}, {}}, {{2, 0, int64(len(tale(4, 50))) + more}, {1, 0, 7}, {}}}
		for i, source := range s.Sources {
			if fmt.Sprint(source.CopiesOf) != fmt.Sprint(pairs[i]) {
				t.Errorf("%s has %v, want %v", source.Name, source.CopiesOf, pairs[i])
			}
		}
		if within := []int{s.Sources[0].Copies.Exact, s.Sources[1].Copies.Exact, s.Sources[2].Copies.Exact}; fmt.Sprint(within, s.Copies.Near) != "[1 2 0] 0" {
			t.Errorf("within sources %v, %+v", within, s.Copies)
		}
		train := s.Sources[1].Train.Documents
		if want := map[string]int{"keep": 6, "drop_near": 4}[kind]; train != want {
			t.Errorf("%s: %d documents of b, want %d", kind, train, want)
		}
	}
	if s := run(t, func(c *data.Config) { c.Train, c.Val.Files = []string{"a.jsonl"}, []string{"b.jsonl"} }); s.Across != nil {
		t.Errorf("one source has %+v", s.Across)
	}
}
