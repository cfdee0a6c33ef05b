package lab

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

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
	if text.Unigram, text.Bigram, err = entropies(text.Train, 3); err != nil {
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
	if alone, _ := run(g, "", 1); !reflect.DeepEqual(first, alone) {
		t.Error("another number of jobs gives other figures")
	}
	again, trained := run(g, dir, 2)
	if len(trained) != 0 || !reflect.DeepEqual(first, again) {
		t.Errorf("finished cells ran again: %v", trained)
	}
	g.Seeds = append(g.Seeds, 3)
	if _, trained = run(g, dir, 2); len(trained) != 4 || strings.Contains(strings.Join(trained, " "), "seed 1") {
		t.Errorf("one more seed trained %v", trained)
	}
	files, _ := filepath.Glob(filepath.Join(dir, CellsFolder, "*.json"))
	if err := os.WriteFile(files[0], []byte("{"), 0o666); err != nil || len(files) != 12 {
		t.Fatal(len(files), err)
	}
	if _, trained = run(g, dir, 1); len(trained) != 1 {
		t.Errorf("a damaged result: trained %v, want that one", trained)
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

// TestCellLooks wants a cell to bring what was asked for, and figures that fit each other.
func TestCellLooks(t *testing.T) {
	g := littleGrid()
	r, _ := counting(t, t.TempDir(), 1)
	c := g.cell("residual", 3e-3, 0, 1)
	c.Blocks, c.Probe, c.Drop = true, true, true
	for range 2 { // trained, then read back
		results, err := r.Run(context.Background(), []Cell{c})
		if err != nil {
			t.Fatal(err)
		}
		x := results[0]
		if len(x.Losses) != 12 || len(x.Blocks) != 12 || len(x.Blocks[0]) != 2 || len(x.Dropped) != 2 || x.Before == nil || x.After == nil {
			t.Fatalf("result %+v", x)
		}
		if squares := x.Blocks[0][0]*x.Blocks[0][0] + x.Blocks[0][1]*x.Blocks[0][1]; !(squares > 0 && squares < x.Norms[0]*x.Norms[0]) {
			t.Errorf("blocks' gradients %v, global %g", x.Blocks[0], x.Norms[0])
		}
		for _, look := range []*Look{x.Before, x.After} {
			if len(look.Stream) != 3 || len(look.Dual) != 2 || len(look.Grad) != 3 || math.Abs(look.Cosine[0]-1) > 1e-6 || len(look.Rewrite) != 2 || look == x.Before && math.Abs(look.Stream[2]-1) > 1e-2 {
				t.Errorf("look %+v", look)
			}
		}
		if a := x.After; math.Abs(float64(a.RawLoss-a.Loss)) < 1e-3 || !(a.Logits > 0 && a.RawLogits > 0) { // the head reads both streams
			t.Errorf("logits %+v", a)
		}
		if !(float64(x.Val) < float64(x.Before.Loss)) || float64(x.Dropped[0]) == float64(x.Val) {
			t.Errorf("validation loss %g, before training %g, without block 1 %g", x.Val, x.Before.Loss, x.Dropped[0])
		}
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
		if a := g.Advise(places)[0]; !math.IsNaN(a.Rate) || !strings.Contains(a.Why, "smaller") {
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

func TestOutcomes(t *testing.T) {
	text := &Text{Vocab: 256, Unigram: 3.2}
	course := func(values ...float64) []float64 {
		var all []float64
		for i := 1; i < len(values); i++ {
			for k := range 60 {
				all = append(all, values[i-1]+(values[i]-values[i-1])*float64(k)/60)
			}
		}
		return all
	}
	for _, c := range []struct {
		losses []float64
		want   Outcome
	}{
		{course(5.5, 3, 2.5, 2.3), Trains}, {course(5.5, 3.25, 3.22, 3.21), Plateau}, {course(5.5, 3.1, 3.15, 3.12), Plateau}, {course(5.5, 4.5, 4, 3.6), Slow},
		{course(5.5, 2.5, 2.4, 3.0), FellBack}, {course(5.5, 0.3, 0.3, 4), Jumped}, {course(5.5, 3, 5, 9), Diverged}, {course(5.5, 3)[:50], Diverged}, {nil, Diverged},
		{course(5.5, 3.4, 3.2, 2.9), Trains},
	} {
		steps := 180
		if got := OutcomeOf(c.losses, steps, text); got != c.want {
			t.Errorf("%d losses that end at %.2f: %s, want %s", len(c.losses), Final(c.losses), got, c.want)
		}
	}
}

func TestEntropies(t *testing.T) {
	ids := batch.IDs{0, 1, 0, 1, 0, 1, 0, 1}
	unigram, bigram, err := entropies(ids, 5)
	if err != nil || math.Abs(unigram-math.Ln2) > 1e-12 || math.Abs(bigram) > 1e-12 {
		t.Errorf("two letters in turn: unigram %g, bigram %g, %v", unigram, bigram, err)
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
	g := Grid{Placements: []string{"pre"}, Warmups: []int{0}}
	if a := g.Advise(places)[0]; a.Rate != 1 || a.Open || a.Stable != 2 {
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

// TestHeads wants the loss that is worked out from what the head reads to be the program's.
func TestHeads(t *testing.T) {
	g := littleGrid()
	r, _ := counting(t, "", 1)
	c := g.cell("post", 3e-3, 0, 1)
	c.Probe = true
	results, err := r.Run(context.Background(), []Cell{c})
	if err != nil {
		t.Fatal(err)
	}
	if a := results[0].After; math.Abs(float64(a.RawLoss-a.Loss)) > 1e-5 || a.Logits != a.RawLogits {
		t.Errorf("post has no final norm, so both losses are one: %g and %g", a.Loss, a.RawLoss)
	}
}
