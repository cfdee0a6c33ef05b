package parity

import (
	"os"
	"strings"
	"testing"

	"prenorm/configs/problem/problemtest"
	"prenorm/kernels/ref"
	"prenorm/train/safetensors"
)

// smallFile is the small file of figures that the tests here change.
func smallFile(t testing.TB) *safetensors.File {
	t.Helper()
	content, err := os.ReadFile("testdata/ignore-index.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzDescription describes the model of a file with any text: it is refused, or it is a model whose every weight the file holds.
func FuzzDescription(f *testing.F) {
	file := smallFile(f)
	whole := file.Metadata["config"]
	f.Add(whole, file.Metadata["adamw"])
	for _, change := range []string{`"vocab": 67->"vocab": 16777216`, `"B": 2->"B": 65536`, `"T": 13->"T": 65536`, `"heads": 4->"heads": 0`, `"width": 32->"width": -32`, `"layers": 3->"layers": 1000`} {
		from, to, _ := strings.Cut(change, "->")
		f.Add(strings.Replace(whole, from, to, 1), `{"betas":[0,1],"loss_and_gradnorm":[[]]}`)
	}
	f.Fuzz(func(t *testing.T, config, trajectory string) {
		problemtest.Bounded(t, len(config)+len(trajectory), 4000, func() {
			if a, err := decodeAdamW(trajectory); err != nil {
				problemtest.Says(t, err, "metadata entry adamw: ")
			} else if len(a.Betas) != 2 {
				t.Errorf("%+v", a)
			}
			fc, err := decodeConfig(config)
			if err != nil {
				problemtest.Says(t, err, "metadata entry config: ")
				return
			}
			c, err := fc.model()
			if err != nil || c.Layers > 20 { // a table of many layers takes its time
				return
			}
			k := checker{be: ref.New(), file: file, fc: fc, config: c}
			if _, err := k.readBatch(); err != nil {
				return
			}
			if err := k.fits(); err != nil {
				problemtest.Says(t, err, "does not hold")
			}
		})
	})
}

// TestClaimsNoMemory has a file with many tokens and few logits, which says so before it makes room for the logits that belong to so many.
func TestClaimsNoMemory(t *testing.T) {
	f := smallFile(t)
	const rows = 1 << 16
	for i, tensor := range f.Tensors {
		if tensor.Name == "input.tokens" || tensor.Name == "input.targets" {
			f.Tensors[i] = safetensors.New(tensor.Name, []int{rows}, make([]int32, rows))
		}
	}
	f.Metadata["config"] = strings.NewReplacer(`"B": 2`, `"B": 256`, `"T": 13`, `"T": 256`).Replace(f.Metadata["config"])
	problemtest.Bounded(t, 2*4*rows, 8, func() {
		if _, err := check(ref.New(), f, Default); err == nil || !strings.Contains(err.Error(), "tensor output.logits has ") {
			t.Errorf("%v", err)
		}
	})
}
