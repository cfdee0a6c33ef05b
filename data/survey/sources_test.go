package survey

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/dataset"
)

// put writes files into a folder of its own, and goes there.
func put(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// run surveys the text of a configuration, with tokenizer byte where it names none.
func run(t *testing.T, change func(*data.Config)) *Survey {
	t.Helper()
	cfg := data.Default()
	cfg.Tokenizer.Kind = "byte"
	change(&cfg)
	ids, err := IDs(cfg, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg, dataset.Options{Dir: "data", Tokenizer: ids})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := Run(cfg, d, Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
	return s
}

// alone is a part without its lists, which name documents, and without overlap, which depends on other texts.
func alone(p Part) Part {
	p.Copies.List, p.Overlap = nil, Overlap{}
	return p
}

// TestSources plants one source's text in another: each source is told of as if it were alone, its validation text is looked for in all training
// texts, and the whole is sums, and means by the weights.
func TestSources(t *testing.T) {
	put(t, map[string]string{
		"a.jsonl": rows(tale(1, 100), tale(2, 100), "Привет мир", tale(1, 100), tale(9, 10)), "a-val.jsonl": rows(tale(3, 40), tale(21, 40)),
		"b.jsonl": rows(tale(2, 100), tale(3, 40), tale(4, 60), tale(5, 60)), "b-val.jsonl": rows(tale(1, 100)+" "+tale(4, 20), tale(31, 50)),
		"c.jsonl": rows(tale(6, 100), tale(3, 30)), "c-val.jsonl": rows(tale(7, 100)),
	})
	one := map[string]func(*data.Config){}
	var list []data.Source
	for i, name := range []string{"a", "b", "c"} {
		x := data.Source{Name: name, Train: []string{name + ".jsonl"}, Val: []string{name + "-val.jsonl"}, Weight: []float64{3, 1, 0}[i]}
		list = append(list, x)
		one[name] = func(c *data.Config) { c.Train, c.Val.Files = x.Train, x.Val }
	}
	s := run(t, func(c *data.Config) {
		c.Sources, c.Stages = list, []data.Stage{{From: 10, Weights: []float64{1, 1, 2}}}
	})
	if len(s.Sources) != 3 || fmt.Sprint(s.Stages) != "[1 10]" {
		t.Fatalf("%d sources, stages %v", len(s.Sources), s.Stages)
	}
	// Of a's 28 n-grams of tale 3 all are in b, 18 in c too; of b's validation text 88 of tale 1 are in a and 8 of tale 4 in b.
	want := [][]int64{{0, 28, 18}, {88, 8, 0}, {0, 0, 0}}
	var all Part
	for i, x := range s.Sources {
		if fmt.Sprint(x.FoundIn) != fmt.Sprint(want[i]) {
			t.Errorf("of %s was found in each %v, want %v", x.Name, x.FoundIn, want[i])
		}
		single := run(t, one[x.Name]).Part
		if got, want := alone(x.Part), alone(single); !reflect.DeepEqual(got, want) {
			t.Errorf("source %s: %+v\nalone: %+v", x.Name, got, want)
		}
		all.Train.Documents, all.Train.Bytes, all.Val.Tokens = all.Train.Documents+x.Train.Documents, all.Train.Bytes+x.Train.Bytes, all.Val.Tokens+x.Val.Tokens
		all.Train.Words, all.Val.Characters = all.Train.Words+x.Train.Words, all.Val.Characters+x.Val.Characters
		weight := []float64{0.75, 0.25, 0}[i]
		if fmt.Sprint(x.Weights) != fmt.Sprint([]float64{weight, 0.25 + 0.25*float64(i/2)}) {
			t.Errorf("%s has weights %v", x.Name, x.Weights)
		}
		all.Lines.Bigram += weight * single.Lines.Bigram
		all.Lines.BitsPerByte.Unigram += weight * single.Lines.BitsPerByte.Unigram
		all.Lines.TrainUnigram += weight * single.Lines.TrainUnigram
		all.Val.Packed.Gzip += weight * single.Val.Packed.Gzip
		all.Val.Packed.ZstdGiven += weight * single.Val.Packed.ZstdGiven
		all.Train.Packed.Zstd += weight * single.Train.Packed.Zstd
	}
	figures := func(p Part) []any {
		return []any{p.Train.Documents, p.Train.Bytes, p.Val.Tokens, p.Train.Words, p.Val.Characters}
	}
	if got, want := fmt.Sprint(figures(s.Part)), fmt.Sprint(figures(all)); got != want {
		t.Errorf("the whole has %s, want %s", got, want)
	}
	means := func(p Part) []float64 {
		return []float64{p.Lines.Bigram, p.Lines.BitsPerByte.Unigram, p.Lines.TrainUnigram, p.Val.Packed.Gzip, p.Val.Packed.ZstdGiven, p.Train.Packed.Zstd}
	}
	for i, want := range means(all) {
		if got := means(s.Part)[i]; math.Abs(got-want) > 1e-12 || want == 0 {
			t.Errorf("mean %d is %g, want %g", i, got, want)
		}
	}
	if b := s.Sources[1]; math.Abs(b.Share.Documents-4./11) > 1e-12 || math.Abs(b.Share.Bytes-float64(b.Train.Bytes)/float64(s.Train.Bytes)) > 1e-12 || b.Share.Tokens != b.Share.Bytes {
		t.Errorf("b's shares: %+v", b.Share)
	}
	// Copies are those within a source.
	if c := s.Copies; c.Exact != 1 || c.Compared != 16 || len(c.List) != 1 || c.List[0].Document != "a.jsonl:4" || s.Sources[0].Copies.Exact != 1 {
		t.Errorf("%+v", c)
	}
	if o := s.Overlap; o.Grams != 28+28+108+38+88 || o.Found != 28+96 || o.Any != 2 || o.All != 1 || len(o.List) != 2 || o.List[0].Document != "a-val.jsonl:1" || o.List[0].Train != "b.jsonl:2" {
		t.Errorf("%+v", o)
	}
	if got := fmt.Sprint(s.Train.Scripts); !strings.Contains(got, "{Cyrillic 9 ") || s.Train.Scripts[0].Name != "Latin" || s.Train.Scripts[0].Documents != 10 {
		t.Errorf("scripts %s", got)
	}
	documents := 0
	for i, bin := range s.Train.Lengths {
		documents += bin.Documents
		if i > 0 && bin.Below <= s.Train.Lengths[i-1].Below {
			t.Errorf("lengths %v", s.Train.Lengths)
		}
	}
	if documents != 11 {
		t.Errorf("%d documents by length", documents)
	}
}

// TestManySources has more sources than bits in a word, and fewer stretches of memory than sources.
func TestManySources(t *testing.T) {
	files := map[string]string{}
	var list []data.Source
	for i := range uint64(70) {
		name := fmt.Sprintf("s%02d", i)
		files[name+".txt"], files[name+"-val.txt"] = tale(i, 30), tale((i+69)%70, 30)
		list = append(list, data.Source{Name: name, Train: []string{name + ".txt"}, Val: []string{name + "-val.txt"}, Weight: 1})
	}
	put(t, files)
	s := run(t, func(c *data.Config) { c.Sources = list })
	for i, x := range s.Sources {
		for k, n := range x.FoundIn {
			if want := int64(18); (k == (i+69)%70) != (n == want) || n != 0 && n != want {
				t.Errorf("of source %d %d n-grams are found in source %d", i, n, k)
			}
		}
	}
}

type outcome struct {
	survey *Survey
	err    error
}

// stopped surveys train.jsonl and val.jsonl in a folder that has to be empty afterwards.
func stopped(t *testing.T, stop func() error) outcome {
	t.Helper()
	cfg := data.Default()
	cfg.Train, cfg.Val.Files, cfg.Tokenizer.Kind = []string{"train.jsonl"}, []string{"val.jsonl"}, "byte"
	d, err := dataset.Open(cfg, dataset.Options{Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	dir := t.TempDir()
	s, err := Run(cfg, d, Options{Dir: dir, Stop: stop})
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return outcome{s, err}
}
