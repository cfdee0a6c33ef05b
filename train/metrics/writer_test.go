package metrics

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func openFile(t *testing.T, path string, step int64) (*Writer, Recovered) {
	t.Helper()
	w, r, err := Open(path, step)
	if err != nil {
		t.Fatal(err)
	}
	return w, r
}

func write(t *testing.T, w *Writer, records ...Record) {
	t.Helper()
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestExactLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w, _ := openFile(t, path, -1)
	records := []Record{
		Train{Step: 1, Tokens: 64, Loss: 4.25, LR: 1e-3, GradNorm: Float(math.Inf(1)), Clip: 0, TokensPerSecond: 21345.5, Seconds: 0.25},
		Train{Step: 2, Tokens: 128, Loss: Float(math.Inf(-1)), LR: 1e-7, GradNorm: 1e21, Clip: 1},
		Eval{Step: 2, Loss: 0.1, Perplexity: 2, BitsPerByte: 0.5, Tokens: 7},
		Sample{Step: 2, Text: "a<b>&\n\"ü"},
		Note{Step: 2, Text: "done"},
	}
	want := `{"kind":"train","step":1,"tokens":64,"loss":4.25,"lr":0.001,"grad_norm":"+Inf","clip":0,"tokens_per_s":21345.5,"seconds":0.25}
{"kind":"train","step":2,"tokens":128,"loss":"-Inf","lr":1e-7,"grad_norm":1e+21,"clip":1,"tokens_per_s":0,"seconds":0}
{"kind":"eval","step":2,"loss":0.1,"perplexity":2,"bits_per_byte":0.5,"tokens":7}
{"kind":"sample","step":2,"text":"a<b>&\n\"ü"}
{"kind":"note","step":2,"text":"done"}
`
	lines := strings.SplitAfter(want, "\n")
	for i, r := range records {
		write(t, w, r)
		if got := content(t, path); got != strings.Join(lines[:i+1], "") {
			t.Errorf("after record %d the file is\n%s", i, got)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	got, err := Read(path)
	if err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("read %v, %v; want %v", got, err, records)
	}
}

func TestNaN(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w, _ := openFile(t, path, -1)
	write(t, w, Train{Step: 1, Loss: Float(math.NaN())})
	if got := content(t, path); !strings.Contains(got, `"loss":"NaN"`) {
		t.Errorf("wrote %s", got)
	}
	got, err := Read(path)
	if err != nil || !math.IsNaN(float64(got[0].(Train).Loss)) {
		t.Errorf("read %v, %v", got, err)
	}
	if err := new(Float).UnmarshalJSON([]byte(`"one"`)); err == nil {
		t.Error("a word was read as a number")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// run writes what a run writes for the steps from to to: a record a step, an evaluation every fifth.
func run(t *testing.T, w *Writer, from, to int64) {
	t.Helper()
	for s := from; s <= to; s++ {
		write(t, w, recordsOf(s)...)
	}
}

// recordsOf are the records of one step.
func recordsOf(s int64) []Record {
	list := []Record{Train{Step: s, Loss: Float(1 / float64(s))}}
	if s%5 == 0 {
		list = append(list, Eval{Step: s, Loss: 2}, Sample{Step: s, Text: "x"})
	}
	return list
}

// TestResume stops a run at every fifth byte of its file, goes on from the checkpoint before, and wants the uninterrupted run's file.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.jsonl")
	w, _ := openFile(t, path, -1)
	run(t, w, 1, 12)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	path = filepath.Join(dir, "resumed.jsonl")
	for n := 0; n <= len(whole); n += 5 {
		put(t, path, whole[:n])
		step := int64(-1) // the checkpoint at 5 or 10, of which all records are durable
		for _, s := range []int64{5, 10} {
			if end := strings.Index(whole, fmt.Sprintf(`"train","step":%d,`, s+1)); end <= n {
				step = s
			}
		}
		w, _ := openFile(t, path, step)
		run(t, w, max(step, 0)+1, 12)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != whole {
			t.Fatalf("stopped after byte %d, resumed from %d: file\n%s\nwant\n%s", n, step, got, whole)
		}
	}
}

func TestRecovered(t *testing.T) {
	stopped := func(s int) string {
		return fmt.Sprintf(`{"kind":"guard","step":%d,"attempt":%d,"action":"stop"}`+"\n", s, s)
	}
	line := func(s int) string { return fmt.Sprintf(`{"kind":"train","step":%d}`+"\n", s) }
	for _, c := range []struct {
		name, before string
		step         int64
		after        string
		want         Recovered
		told         string
	}{
		{"nothing to do", line(1) + line(2), 2, line(1) + line(2), Recovered{Kept: 2}, ""},
		{"later steps", line(1) + line(2) + line(3), 1, line(1), Recovered{Kept: 1, Dropped: 2}, "dropped 2 records after"},
		{"torn", line(1) + `{"kind":"tr`, 1, line(1), Recovered{Kept: 1, Torn: 11}, "unfinished line of 11 B"},
		{"torn and later", line(1) + line(2) + `{"kind":"tr`, 1, line(1), Recovered{Kept: 1, Dropped: 1, Torn: 11}, "and dropped 1 record after"},
		{"no line break", line(1) + strings.TrimSpace(line(2)), 2, line(1) + line(2), Recovered{Kept: 2}, ""},
		{"no line break, later", line(1) + strings.TrimSpace(line(2)), 1, line(1), Recovered{Kept: 1, Dropped: 1}, "dropped"},
		{"zeros", line(1) + "\x00\x00\n\x00", 5, line(1), Recovered{Kept: 1, Torn: 4}, "4 B"},
		{"only torn", `{`, 5, "", Recovered{Torn: 1}, "1 B"},
		{"afresh", `{"kind":"eval","step":0}` + "\n" + line(1), -1, "", Recovered{Dropped: 2}, "dropped 2"},
		{"why it stopped", line(5) + stopped(6) + line(6), 5, line(5) + stopped(6), Recovered{Kept: 2, Dropped: 1}, "dropped 1"},
		{"why it stopped later", line(5) + line(6) + stopped(7), 5, line(5), Recovered{Kept: 1, Dropped: 2}, "dropped 2"},
		{"held back later", line(5) + strings.Replace(stopped(6), "stop", "skip", 1), 5, line(5), Recovered{Kept: 1, Dropped: 1}, "dropped 1"},
		{"unknown kind", `{"kind":"later","step":1,"x":[]}` + "\n", 1, `{"kind":"later","step":1,"x":[]}` + "\n", Recovered{Kept: 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "metrics.jsonl")
			put(t, path, c.before)
			w, r := openFile(t, path, c.step)
			if r != c.want || !strings.Contains(r.String(), c.told) || c.told == "" && r.String() != "" {
				t.Errorf("recovered %+v %q, want %+v %q", r, r, c.want, c.told)
			}
			note := Note{Step: 9, Text: "on"}
			write(t, w, note)
			if got, want := content(t, path), c.after+`{"kind":"note","step":9,"text":"on"}`+"\n"; got != want {
				t.Errorf("file\n%q, want\n%q", got, want)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenRefuses wants a file that it cannot make sense of left as it is.
func TestOpenRefuses(t *testing.T) {
	for want, text := range map[string]string{
		":2: is not a record":           "{\"kind\":\"train\",\"step\":1}\nnonsense\n{\"kind\":\"train\",\"step\":2}\n",
		":1: is not a record: has no":   "{}\n{\"kind\":\"train\",\"step\":2}\n",
		":3: is of step 1 after step 2": "{\"kind\":\"eval\",\"step\":2}\n{\"kind\":\"train\",\"step\":2}\n{\"kind\":\"train\",\"step\":1}\n",
	} {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		put(t, path, text)
		if _, _, err := Open(path, 0); err == nil || !strings.Contains(err.Error(), path+want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		if got := content(t, path); got != text {
			t.Errorf("the file was changed to %q", got)
		}
	}
	if _, _, err := Open(filepath.Join(t.TempDir(), "absent", "metrics.jsonl"), 0); err == nil {
		t.Error("opened below a folder that does not exist")
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("read a file that does not exist")
	}
}

func TestLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w, _ := openFile(t, path, -1)
	run(t, w, 1, 12)
	if step, ok := w.Last(KindTrain); step != 12 || !ok {
		t.Errorf("last train record of step %d, %v", step, ok)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, _ = openFile(t, path, 9)
	for kind, want := range map[string]int64{KindTrain: 9, KindEval: 5, KindSample: 5} {
		if step, ok := w.Last(kind); step != want || !ok {
			t.Errorf("last %s record of step %d, %v; want %d", kind, step, ok, want)
		}
	}
	if _, ok := w.Last(KindNote); ok {
		t.Error("there is no note")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Note{}); err == nil {
		t.Error("wrote to a closed file")
	}
}

func TestReadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	put(t, path, "{\"kind\":\"train\",\"step\":1,\"loss\":\"high\"}\n{\"kind\":\"train\",\"step\":2}\n")
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+":1: ") {
		t.Errorf("%v, want the line's place", err)
	}
}

// TestMissingRecords wants a hole in the middle to be told, and a change of the interval, a short last one and other kinds of records not to be.
func TestMissingRecords(t *testing.T) {
	for _, c := range []struct {
		steps []int
		want  string
	}{
		{[]int{1, 2, 3, 4, 5}, ""}, {[]int{10, 20, 30, 40, 43}, ""}, {[]int{1, 2, 3, 10, 20, 30}, ""}, {[]int{10, 20, 30, 31, 32, 33}, ""}, {[]int{10, 20, 30, 100, 200}, ""}, {nil, ""}, {[]int{7}, ""},
		{[]int{1, 2, 3, 5, 6}, "in 1 place, the first after step 3:"}, {[]int{10, 20, 50, 60, 70, 90, 100}, "in 2 places, the first after step 20:"}, {[]int{2, 3, 4}, ""},
		{[]int{1, 3, 4, 5}, "in 1 place, the first after step 1:"},
	} {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		var text strings.Builder
		for _, s := range c.steps {
			fmt.Fprintf(&text, `{"kind":"train","step":%d}`+"\n"+`{"kind":"note","step":%d}`+"\n", s, s)
		}
		put(t, path, text.String())
		w, r := openFile(t, path, 1000)
		if (r.Missing == "") != (c.want == "") || !strings.Contains(r.Missing, c.want) {
			t.Errorf("steps %v: %q, want %q", c.steps, r.Missing, c.want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
