package train

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels/cpu"
)

// endsWith is a context that ends once a file is there.
type endsWith struct {
	context.Context
	path string
}

func (e endsWith) Err() error {
	if _, err := os.Stat(e.path); err != nil {
		return nil
	}
	return context.Canceled
}

func (e endsWith) Done() <-chan struct{} {
	if e.Err() == nil {
		return nil
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// TestInterruptedLines interrupts a run while its reference lines are measured, which ends it there, with none kept.
func TestInterruptedLines(t *testing.T) {
	j := tinyJob(t)
	be := cpu.New(1)
	defer be.Close()
	o, err := Run(endsWith{t.Context(), filepath.Join(j.Dir, MetricsFile)}, be, j)
	if err != nil || o.Stopped != "interrupted" || o.Step != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if kept, _ := filepath.Glob(filepath.Join(j.Dir, "data", "lines-*")); len(kept) > 0 {
		t.Errorf("lines were kept: %v", kept)
	}
	if said := j.Out.(*bytes.Buffer).String(); strings.Contains(said, "ln V") {
		t.Errorf("the run went on:\n%s", said)
	}
	o, err = Run(t.Context(), be, j)
	if kept, _ := filepath.Glob(filepath.Join(j.Dir, "data", "lines-*")); err != nil || o.Stopped != "" || len(kept) != 1 {
		t.Errorf("started again: %+v, %v, lines %v", o, err, kept)
	}
}
