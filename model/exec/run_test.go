package exec_test

import (
	"slices"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// TestTaps wants a program whose values are watched to give the bits of one without.
func TestTaps(t *testing.T) {
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			o := model.Options{B: 2, T: 9}
			plain := bind(t, c, o)
			var taps []string
			for _, tap := range plain.net.Graph.Taps() {
				taps = append(taps, tap.Name)
			}
			if len(taps) < c.Layers+1 {
				t.Fatalf("only the taps %v", taps)
			}
			want, tapped := plain.results(t), bind(t, c, o, taps...)
			if !slices.Equal(want, tapped.results(t)) {
				t.Error("watched values change the results")
			}
			for _, tap := range []string{taps[0], taps[len(taps)-1]} { // alone, the value must be the same
				one := bind(t, c, o, tap)
				if !slices.Equal(one.results(t), want) {
					t.Errorf("watching %s changes the results", tap)
				}
				v, w := one.floats(t, tap), tapped.floats(t, tap)
				if !slices.Equal(v, w) || !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
					t.Errorf("the values of %s differ or are zero", tap)
				}
			}
		})
	}
}

func (b *bound) floats(t *testing.T, name string) []float32 {
	t.Helper()
	v, err := b.program.View(name)
	if err != nil {
		t.Fatal(err)
	}
	return v.F32()
}

// idle is a backend whose launches do nothing.
type idle struct{ kernels.Backend }

func (idle) Bind(kernels.Call, kernels.Args) (kernels.Launch, error) {
	return func() error { return nil }, nil
}

// TestRunAllocatesNothing guards the hot path, on a backend whose launches do nothing and on both that run on the host.
func TestRunAllocatesNothing(t *testing.T) {
	fast := cpu.New(2)
	defer fast.Close()
	for name, c := range configs() {
		for _, be := range []kernels.Backend{idle{ref.New()}, ref.New(), fast} {
			b := bindOn(t, be, c, model.Options{B: 2, T: 9})
			var tokens any = make([]int32, 18)
			var loss any = make([]float32, 1)
			n := testing.AllocsPerRun(5, func() {
				if err := b.program.Set(model.InTokens, tokens); err != nil {
					t.Fatal(err)
				}
				if err := b.program.Run(); err != nil {
					t.Fatal(err)
				}
				if err := b.program.Get(model.OutLoss, loss); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%s on %T: %v allocations a run", name, be, n)
			}
		}
	}
}
