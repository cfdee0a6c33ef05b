package lab

import (
	"context"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
)

// tinyScale is a reproduction of seconds. Its verdicts mean nothing.
func tinyScale() Scale {
	s := Quick()
	s.Model, s.Train = trainedBase(16, 8), trainedBudget(24, 2)
	s.Model.Heads, s.Model.Vocab = 2, 3
	s.Init.Depths, s.Init.Widths, s.Init.Seeds = []int{2, 4}, []int{16}, []int64{1}
	s.Bare.Depths, s.Bare.Widths, s.Bare.Seeds = []int{2, 4}, []int{16}, []int64{1}
	s.Paths.Layers, s.Paths.Width, s.Paths.B, s.Paths.T, s.Paths.Seeds = 2, 16, 1, 4, []int64{1}
	s.Depths, s.Rates, s.Warmup, s.Warmed, s.Seeds, s.Shallow, s.Deep = []int{2, 4}, []float64{1e-3, 1e-2}, 5, []float64{1e-2}, []int64{1, 2}, 2, 4
	s.Early, s.Through = 21, 3
	return s
}

func testBackends() Backends {
	return Backends{Fast: func() (kernels.Backend, error) { return cpu.New(1), nil }, Ref: func() (kernels.Backend, error) { return ref.New(), nil }}
}

// TestRepro wants every row of the scorecard to have been measured, and a second start to train nothing.
func TestRepro(t *testing.T) {
	dir := t.TempDir()
	var cards [2]*Scorecard
	for i := range cards {
		r, trained := counting(t, dir, 2)
		var err error
		if cards[i], err = Repro(context.Background(), tinyScale(), testBackends(), r, quiet); err != nil {
			t.Fatal(err)
		}
		if again := i > 0; again != (len(*trained) == 0) {
			t.Errorf("start %d trained %d cells", i+1, len(*trained))
		}
	}
	card := cards[0]
	want := strings.Fields("S1 S2 S3 S4 S5 S6 S7 S8 S9 S12 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C17 C18")
	if len(card.Rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(card.Rows), len(want))
	}
	for i, r := range card.Rows {
		if r.ID != want[i] || r.Claim == "" || r.Source == "" || r.Measured == "" || r.Verdict != Holds && r.Verdict != Fails && r.Verdict != CannotTell {
			t.Errorf("row %d: %+v", i, r)
		}
		if strings.Contains(r.Measured, "–") || strings.Contains(r.Measured, "NaN") || strings.Contains(r.Measured, "Inf") {
			t.Errorf("%s was not measured: %s", r.ID, r.Measured)
		}
		if again := cards[1].Rows[i]; r.ID != "C10" && again != r {
			t.Errorf("%s differs from figures that were kept:\n%+v\n%+v", r.ID, r, again)
		}
	}
	checkCertain(t, card)
	if _, err := card.Report().Write(dir); err != nil {
		t.Error(err)
	}
	if text := card.String(); strings.Count(text, "\n     source") != len(want) || !strings.Contains(text, "Of 28 claims") {
		t.Error("the text lacks rows")
	}
}

// checkCertain holds the rows that are true or false by construction at any size.
func checkCertain(t *testing.T, card *Scorecard) {
	for _, r := range card.Rows {
		want, ok := map[string]Verdict{"C1": Holds, "C12": Fails, "C18": Holds, "S1": ""}[r.ID]
		if ok && want != "" && r.Verdict != want {
			t.Errorf("%s %s: %s", r.ID, r.Verdict, r.Measured)
		}
		if told := strings.Contains(r.Note, "after 21 steps of the same runs: "); told != slices.Contains(strings.Fields("S7 S8 S9 C3 C5 C6 C7 C8 C10 C13 C14 C16"), r.ID) {
			t.Errorf("%s says of the verdict on the way: %v: %s", r.ID, told, r.Note)
		}
		if several := strings.Contains(r.Note, "read in several ways"); several != slices.Contains(strings.Fields("S12 C6 C8 C11 C13"), r.ID) {
			t.Errorf("%s names several readings: %v: %s", r.ID, several, r.Note)
		}
	}
}

// TestScales wants every model of both scales to be one that can be built.
func TestScales(t *testing.T) {
	for _, s := range []Scale{Quick(), Full()} {
		for name, c := range s.deepVariants() {
			c.Vocab = 256
			if err := c.Problems().Err(); err != nil {
				t.Errorf("%s: %s: %v", s.Name, name, err)
			}
		}
		if err := s.Init.Check(); err != nil {
			t.Error(err)
		}
		if s.Paths.Layers > MostPathBlocks || s.Warmup >= s.Train.Steps || s.Early > 0 && (s.Early <= s.Warmup || s.Early >= s.Train.Steps) || s.Through <= s.Paths.Layers || s.Depths[0] != s.Shallow || s.Train.Problems().Err() != nil || !slices.Contains(s.Rates, s.Rate) || !slices.Contains(s.Rates, s.Warmed[0]) {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

func TestTiming(t *testing.T) {
	for name, calls := range map[string][2]kernels.Call{"rms": {kernels.RMSNorm{Eps: 1e-5}, kernels.RMSNormGrad{Eps: 1e-5}}, "layer": {kernels.LayerNorm{Eps: 1e-5}, kernels.LayerNormGrad{Eps: 1e-5}}} {
		// Forward and backward read and write some 20 MB, which takes a core at least a tenth of a millisecond.
		if seconds, err := timeNorm(openCPU(t), calls[0], calls[1]); err != nil || seconds < 1e-4 || seconds > 10 {
			t.Errorf("%s takes %g s, %v", name, seconds, err)
		}
	}
}
