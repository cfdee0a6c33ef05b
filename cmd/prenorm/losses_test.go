package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestLosses wants the steps of a run to be found behind a line as long as a deep model's inspection.
func TestLosses(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for step := 1; step < 4; step++ {
		fmt.Fprintf(&text, "{\"kind\":\"train\",\"step\":%d,\"loss\":%d.5,\"grad_norm\":2}\n{\"kind\":\"inspect\",\"step\":%d,\"x\":%q}\n", step, step, step, strings.Repeat("x", 1<<20))
	}
	text.WriteString(`{"kind":"guard","step":4,"cause":"c"}` + "\n" + `{"kind":"train","st`)
	write(t, filepath.Join(dir, "metrics.jsonl"), text.String())
	want := `step 1: loss 1.5, gradient norm 2|step 2: loss 2.5, gradient norm 2|step 3: loss 3.5, gradient norm 2|step 4: held back {"kind":"guard","step":4,"cause":"c"}`
	if got := strings.Join(losses(dir), "|"); got != want {
		t.Errorf("%.300s", got)
	}
}
