//go:build gpu

package cuda

import (
	"os"
	"path/filepath"
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cpu"
	"prenorm/train/parity"
)

// TestGolden holds models on the GPU against float64 figures of an independent implementation, in every precision, to the tolerances of the CPU
// in fp32, with our own products and with cuBLAS's where it is found. Beside the files that are committed it takes those that the CPU can check in PRENORM_GOLDEN or
// ../shared/golden.
func TestGolden(t *testing.T) {
	needDevice(t)
	for _, precision := range kernels.Precisions() {
		for _, products := range []string{"own", "auto"} {
			o := kernels.Options{MatMul: products, Precision: precision}
			t.Run(string(precision)+"/"+products, func(t *testing.T) { goldenFiles(t, o) })
		}
	}
}

func goldenFiles(t *testing.T, o kernels.Options) {
	be, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	}()
	committed, err := filepath.Glob("../../train/parity/testdata/*.safetensors")
	if err != nil || len(committed) == 0 {
		t.Fatal("no figures in train/parity/testdata", err)
	}
	for _, path := range committed {
		t.Run(filepath.Base(path), func(t *testing.T) { golden(t, be, path) })
	}
	folder := os.Getenv("PRENORM_GOLDEN")
	if folder == "" {
		folder = "../../../shared/golden"
	}
	more, _ := filepath.Glob(filepath.Join(folder, "*.safetensors"))
	for _, path := range more {
		if _, err := os.Stat(filepath.Join("../../train/parity/testdata", filepath.Base(path))); err == nil {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			host, err := kernels.Open("cpu", kernels.Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			if _, err := parity.Check(host, path, parity.Default); err != nil {
				t.Skip("not on the CPU either: ", err)
			}
			golden(t, be, path)
		})
	}
}

func golden(t *testing.T, be kernels.Backend, path string) {
	r, err := parity.Check(be, path, parity.Of(be.(kernels.Mixed).Precision()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures {
		t.Logf("%-20s %.3g of %.3g (%.2f) at %s", f.Kind, f.Value, f.Limit, f.Error, f.Where)
		if !f.OK() {
			t.Errorf("%s: %g, allowed %g, at %s", f.Kind, f.Value, f.Limit, f.Where)
		}
	}
	if len(r.Figures) < 3 {
		t.Errorf("only %d kinds of figures were compared", len(r.Figures))
	}
}
