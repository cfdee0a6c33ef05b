package parity

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"prenorm/kernels/ref"
	"prenorm/train/safetensors"
)

// TestFindsDifferences changes one figure of a file at a time and wants the check to fail in that kind, and in no other.
func TestFindsDifferences(t *testing.T) {
	content, err := os.ReadFile("testdata/llama-pre-rmsnorm.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   string
		change func(t *testing.T, f *safetensors.File)
	}{
		{"logits", func(t *testing.T, f *safetensors.File) { add(t, f, "output.logits", 5, 1e-4) }},
		{"logits", func(t *testing.T, f *safetensors.File) { add(t, f, "output.logits", 5, math.NaN()) }},
		{"gradients", func(t *testing.T, f *safetensors.File) { add(t, f, "grad.norm.weight", 3, 0.01) }},
		{"gradients", func(t *testing.T, f *safetensors.File) { add(t, f, "grad.embed_tokens.weight", 0, math.Inf(1)) }},
		{"loss", func(_ *testing.T, f *safetensors.File) { f.Metadata["loss"] = "4.7463" }},
		{"adamw loss", func(t *testing.T, f *safetensors.File) { trajectory(t, f, 0) }},
		{"adamw gradient norm", func(t *testing.T, f *safetensors.File) { trajectory(t, f, 1) }},
	} {
		f, err := safetensors.Parse(append([]byte{}, content...))
		if err != nil {
			t.Fatal(err)
		}
		c.change(t, f)
		r, err := check(ref.New(), f, Default)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() {
			t.Errorf("%s: the report is clean", c.kind)
		}
		for _, fig := range r.Figures {
			if fig.OK() == (fig.Kind == c.kind) {
				t.Errorf("a changed figure of %s: %s is %g of %g", c.kind, fig.Kind, fig.Value, fig.Limit)
			}
		}
	}
}

func add(t *testing.T, f *safetensors.File, name string, i int, by float64) {
	t.Helper()
	for k, tensor := range f.Tensors {
		if tensor.Name != name {
			continue
		}
		x, err := tensor.ToF32()
		if err != nil {
			t.Fatal(err)
		}
		x[i] += float32(by)
		f.Tensors[k] = safetensors.New(name, tensor.Shape, x)
		return
	}
	t.Fatal("no tensor", name)
}

func trajectory(t *testing.T, f *safetensors.File, column int) {
	t.Helper()
	var a map[string]any
	if err := json.Unmarshal([]byte(f.Metadata["adamw"]), &a); err != nil {
		t.Fatal(err)
	}
	row := a["loss_and_gradnorm"].([]any)[7].([]any)
	row[column] = row[column].(float64) * 1.01
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	f.Metadata["adamw"] = string(text)
}

// TestHostileFiles wants files that describe impossible or enormous models to be refused before anything is allocated.
func TestHostileFiles(t *testing.T) {
	content, err := os.ReadFile("testdata/ignore-index.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{
		`"vocab": 67->"vocab": 16777216`:         "B·T·vocab is 436207616",
		`"width": 32->"width": 64`:               "embed_tokens.weight",
		`"layers": 3->"layers": 100000`:          "layers",
		`"B": 2->"B": 2000000`:                   "between 1 and",
		`"T": 13->"T": -1`:                       "between 1 and",
		`"heads": 4->"heads": 5`:                 "heads",
		`"norm": "rmsnorm"->"norm": "groupnorm"`: "norm.kind",
		`"width": 32->"depth": 32`:               "depth",
	} {
		f, err := safetensors.Parse(append([]byte{}, content...))
		if err != nil {
			t.Fatal(err)
		}
		from, to, _ := strings.Cut(change, "->")
		if !strings.Contains(f.Metadata["config"], from) {
			t.Fatalf("the file's config has no %s", from)
		}
		f.Metadata["config"] = strings.Replace(f.Metadata["config"], from, to, 1)
		if _, err := check(ref.New(), f, Default); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", change, err, want)
		}
	}
}
