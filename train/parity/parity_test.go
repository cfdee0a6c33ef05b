package parity

import (
	"path/filepath"
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cpu"
	_ "prenorm/kernels/ref"
	"prenorm/model"
	"prenorm/model/block"
)

// TestGolden holds every backend of this build against float64 figures of an independent implementation.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.safetensors")
	if err != nil || len(files) == 0 {
		t.Fatal("no figures in testdata", err)
	}
	for _, name := range kernels.Names() {
		be, err := kernels.Open(name, kernels.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer be.Close()
		for _, path := range files {
			t.Run(name+"/"+filepath.Base(path), func(t *testing.T) { golden(t, be, path) })
		}
	}
}

// TestGoldenBF16 holds the reference in bfloat16, and with it the types that the executor gives to values, to the tolerances of bfloat16; and
// it wants to see that bfloat16 was used.
func TestGoldenBF16(t *testing.T) {
	be, err := kernels.Open("ref", kernels.Options{Precision: kernels.PrecisionBF16})
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/*.safetensors")
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			golden(t, be, path)
			if r, err := Check(be, path, Default); err != nil || r.OK() {
				t.Errorf("the figures are those of float32 (%v)", err)
			}
		})
	}
}

func golden(t *testing.T, be kernels.Backend, path string) {
	r, err := Check(be, path, Of(kernels.PrecisionOf(be)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures {
		t.Logf("%-20s %.3g of %.3g (%.2f) at %s", f.Kind, f.Value, f.Limit, f.Error, f.Where)
		if !f.OK() {
			t.Errorf("%s: %g, allowed %g, at %s", f.Kind, f.Value, f.Limit, f.Where)
		}
	}
	for _, n := range r.Notes {
		t.Log(n)
	}
	if len(r.Figures) < 3 {
		t.Errorf("only %d kinds of figures were compared", len(r.Figures))
	}
}

// TestTolerancesOfModels wants the wider bound of a gradient for the one placement that needs it, in every precision that rounds, and for no other.
func TestTolerancesOfModels(t *testing.T) {
	for _, name := range block.Names() {
		c := model.Default()
		c.Norm.Placement = name
		for precision, want := range map[kernels.Precision][2]float64{
			kernels.PrecisionFP32: {1e-4, 1e-4}, kernels.PrecisionTF32: {0.005, 0.00625}, kernels.PrecisionBF16: {0.04, 0.05},
		} {
			i := 0
			if name == "olmo2" {
				i = 1
			}
			if got := Of(precision).of(c).Grad; got != want[i] {
				t.Errorf("%s in %s: gradients within %g, want %g", name, precision, got, want[i])
			}
		}
	}
}
