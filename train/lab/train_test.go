package lab

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"prenorm/data/baseline"
	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/model"
	"prenorm/train"
)

// littleText is a text of three letters, in which each is followed by one of two.
func littleText(t *testing.T) *Text {
	t.Helper()
	ids := make(batch.IDs, 4000)
	for i := range ids[1:] {
		ids[i+1] = (ids[i] + 1 + int32(i*i%7%2)) % 3
	}
	text := &Text{Name: "little", Train: ids[:3500], Val: ids[3500:], Vocab: 3, Print: "little"}
	var err error
	if text.Unigram, text.Bigram, err = baseline.InSample(text.Train, 3, nil); err != nil {
		t.Fatal(err)
	}
	return text
}

func littleGrid() Grid {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.Context, c.Vocab, c.FFN = 2, 8, 2, 8, 3, 16
	tr := train.Default()
	tr.Steps, tr.Batch, tr.Schedule.Kind, tr.Schedule.Warmup = 12, 2, "constant", 0
	return Grid{Model: c, Train: tr, Placements: []string{"pre", "post"}, Rates: []float64{1e-3, 1e-2}, Seeds: []int64{1, 2}}
}

// counting is a runner that counts the backends it opens and the cells it trains.
func counting(t *testing.T, dir string, jobs int) (r *Runner, trained *[]string) {
	var lock sync.Mutex
	trained = &[]string{}
	return &Runner{Dir: dir, Text: littleText(t), Device: "cpu", Jobs: jobs, Open: func(int) (kernels.Backend, error) { return cpu.New(1), nil },
		Log: func(_, _ int, r CellResult, kept bool) {
			lock.Lock()
			defer lock.Unlock()
			if !kept {
				*trained = append(*trained, r.Label)
			}
		}}, trained
}

// inJSON is a value as text, in which what is not a number equals itself.
func inJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGrid wants the same grid to give the same figures whatever the number of jobs, and what is kept to be used again.
func TestGrid(t *testing.T) {
	dir := t.TempDir()
	g := littleGrid()
	run := func(g Grid, dir string, jobs int) ([]Place, []string) {
		r, trained := counting(t, dir, jobs)
		places, err := g.Run(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		for i := range places {
			for k := range places[i].Runs {
				places[i].Runs[k].Seconds, places[i].Runs[k].Fastest = 0, 0
			}
		}
		return places, *trained
	}
	first, trained := run(g, dir, 3)
	if len(trained) != g.Size() || g.Size() != 8 {
		t.Errorf("trained %d cells of %d", len(trained), g.Size())
	}
	if alone, _ := run(g, "", 1); inJSON(t, first) != inJSON(t, alone) {
		t.Error("another number of jobs gives other figures")
	}
	again, trained := run(g, dir, 2)
	if len(trained) != 0 || inJSON(t, first) != inJSON(t, again) {
		t.Errorf("finished cells ran again: %v", trained)
	}
	g.Seeds = append(g.Seeds, 3)
	if _, trained = run(g, dir, 2); len(trained) != 4 || strings.Contains(strings.Join(trained, " "), "seed 1") {
		t.Errorf("one more seed trained %v", trained)
	}
	files, _ := filepath.Glob(filepath.Join(dir, CellsFolder, "*.json"))
	for _, damaged := range []string{"{", "{}", ""} {
		if err := os.WriteFile(files[0], []byte(damaged), 0o666); err != nil || len(files) != 12 {
			t.Fatal(len(files), err)
		}
		if _, trained = run(g, dir, 1); len(trained) != 1 {
			t.Errorf("a damaged result %q: trained %v, want that one", damaged, trained)
		}
	}
	page := g.CompareReport(littleText(t), first)
	if _, err := page.Write(t.TempDir()); err != nil || len(page.Sections[0].Tables[0].Rows) != 2 || len(page.Sections[1].Tables[0].Raw.Rows) != 8 {
		t.Errorf("page: %v", err)
	}
	if advice := g.RatesReport(littleText(t), first); len(advice.Sections[0].Tables[0].Rows) != 2 {
		t.Errorf("advice: %v", advice.Sections[0].Tables[0].Rows)
	}
}

// TestSameBatches wants runs of one seed to start from the same loss where the models are the same function, and to read the same text.
func TestSameBatches(t *testing.T) {
	g := littleGrid()
	g.Placements, g.Rates, g.Train.Steps = []string{"sandwich", "peri"}, []float64{1e-3}, 4
	r, _ := counting(t, "", 1)
	places, err := g.Run(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := places[0].Runs, places[1].Runs
	for i := range a {
		if math.Abs(a[i].Losses[0]-b[i].Losses[0]) > 1e-3 { // eps sets the two apart, as their branches start in other sizes
			t.Errorf("seed %d: first losses %g and %g", i+1, a[i].Losses[0], b[i].Losses[0])
		}
	}
	if a[0].Losses[0] == a[1].Losses[0] {
		t.Error("two seeds have one loss")
	}
}

// TestDiverged wants a run whose loss is not a number to end there, and to be told apart.
func TestDiverged(t *testing.T) {
	g := littleGrid()
	g.Placements, g.Rates, g.Seeds = []string{"none"}, []float64{9}, []int64{1}
	g.Train.Clip, g.Train.Steps, g.Train.Optimizer.Kind = 0, 60, "sgd"
	r, _ := counting(t, t.TempDir(), 1)
	for range 2 {
		places, err := g.Run(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if p := places[0]; p.Outcome() != "diverged" || p.Failed() != 1 || LargestStable(places) != 0 {
			t.Errorf("a run of %d steps with losses %v: %s", p.Runs[0].Reached, p.Runs[0].Losses, p.Outcome())
		}
		if a := g.Advise(littleText(t), places)[0]; !math.IsNaN(a.Rate) || !strings.Contains(a.Why, "smaller") {
			t.Errorf("advice %+v", a)
		}
	}
}

func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	r, trained := counting(t, dir, 1)
	ctx, cancel := context.WithCancel(context.Background())
	before := r.Log
	r.Log = func(done, all int, c CellResult, kept bool) {
		before(done, all, c, kept)
		cancel()
	}
	if _, err := littleGrid().Run(ctx, r); !errors.Is(err, context.Canceled) || len(*trained) == 0 || len(*trained) > 2 {
		t.Errorf("after one cell: %v, trained %v", err, *trained)
	}
	finished := len(*trained)
	r, trained = counting(t, dir, 1)
	if _, err := littleGrid().Run(context.Background(), r); err != nil || len(*trained) != 8-finished {
		t.Errorf("went on with %v, %v", *trained, err)
	}
}

// TestSensitivity holds the figure against one by hand: losses 2, 2.5 and one that is worse than the start at 4 have the mean 0.8333 above 2.
func TestSensitivity(t *testing.T) {
	place := func(rate, val float64, o Outcome) Place {
		return Place{Placement: "pre", Rate: rate, Runs: []CellResult{{Losses: []float64{4}, Val: 0, Outcome: o}}}
	}
	places := []Place{place(1, 0, Trains), place(2, 0, Trains), place(3, 0, Diverged)}
	places[0].Runs[0].Val, places[1].Runs[0].Val, places[2].Runs[0].Val = 2, 2.5, 7
	if s := Sensitivity(places); math.Abs(s-2.5/3) > 1e-12 {
		t.Errorf("sensitivity %g, want %g", s, 2.5/3)
	}
	if LargestStable(places) != 2 {
		t.Errorf("largest stable rate %g", LargestStable(places))
	}
	g, easy := Grid{Placements: []string{"pre"}, Warmups: []int{0}}, &Text{Vocab: 9, Unigram: 9}
	if a := g.Advise(easy, places)[0]; a.Rate != 1 || a.Open || a.Stable != 2 || !strings.Contains(a.Why, "at least a factor of two from the edge") {
		t.Errorf("advice %+v", a)
	}
	row := func(unigram float64) []string {
		return g.RatesReport(&Text{Vocab: 9, Unigram: unigram}, places).Sections[0].Tables[0].Rows[0]
	}
	if r := row(2.3); r[1] != "0" || r[2] != "2" || r[3] != "0.833" || r[4] != "1" || r[5] != "2.000" || r[6] != "1" {
		t.Errorf("advice %q", r)
	}
	if r := row(2.1); r[6] != "–" || !strings.Contains(r[7], "nothing got well below the unigram entropy, 2.100") {
		t.Errorf("advice on runs that learned the frequencies alone: %q", r)
	}
	places[0].Runs[0].Val, places[1].Runs[0].Val = 2.5, 2 // the best is next to the edge
	if a := g.Advise(easy, places)[0]; a.Rate != 1 || !strings.Contains(a.Why, "next to the edge") {
		t.Errorf("advice %+v", a)
	}
	places[2].Runs[0].Val = 1.9 // the best has failed
	if a := g.Advise(easy, places)[0]; a.Rate != 1 || !strings.Contains(a.Why, "at a larger one") {
		t.Errorf("advice %+v", a)
	}
	if a := g.Advise(easy, places[:2])[0]; a.Rate != 2 || !a.Open {
		t.Errorf("advice %+v", a)
	}
}

func TestValues(t *testing.T) {
	text, err := json.Marshal(Values{1.5, math.NaN(), math.Inf(1), 1.0 / 3})
	if err != nil || string(text) != "[1.5,null,null,0.3333333333333333]" {
		t.Fatalf("%s, %v", text, err)
	}
	var back Values
	if err := json.Unmarshal(text, &back); err != nil || back[3] != 1.0/3 || !math.IsNaN(back[1]) || len(back) != 4 {
		t.Errorf("%v, %v", back, err)
	}
}
