package train

import (
	"context"
	"os"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels/cpu"
	"prenorm/model"
	"prenorm/train/checkpoint"
)

// BenchmarkSave measures how long a step waits for a checkpoint of models of three sizes with AdamW: in the background, for the copy of the
// state alone; otherwise, until the checkpoint is durable.
//
//	go test ./train -run '^$' -bench Save -benchtime 3x
func BenchmarkSave(b *testing.B) {
	for _, size := range []struct {
		name                 string
		layers, width, vocab int
	}{{"1M", 4, 128, 1024}, {"15M", 6, 288, 32000}, {"124M", 12, 768, 50257}} {
		be := cpu.New(0)
		c := model.Default()
		c.Layers, c.Width, c.Heads, c.KVHeads, c.Vocab, c.Context, c.MLP = size.layers, size.width, size.width/32, size.width/32, size.vocab, 16, "gelu_tanh"
		c.FFN, c.Tied = 4*size.width, true
		w, err := model.NewWeights(be, c)
		if err != nil {
			b.Fatal(err)
		}
		s, err := NewStepper(w, StepOptions{Batch: 1, Context: 16, Accumulate: 1, Optimizer: Default().Optimizer, Clip: 1})
		if err != nil {
			b.Fatal(err)
		}
		if err := touch(w, s); err != nil {
			b.Fatal(err)
		}
		bytes := HeldBytes(w.Table, w.BufferTable, len(s.Moments()))
		b.Run(size.name+"/background", func(b *testing.B) {
			h, err := newHeld(w, s)
			if err == nil {
				err = h.hold(State{})
			}
			if err != nil {
				b.Fatal(err)
			}
			defer h.Free()
			b.SetBytes(bytes)
			for b.Loop() {
				if err := h.hold(State{}); err != nil {
					b.Fatal(err)
				}
			}
			report(b, w)
		})
		b.Run(size.name+"/waiting", func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(bytes)
			for b.Loop() {
				h, err := newWindows(w, s)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := checkpoint.Save(checkpoint.OS, dir, h.snapshot(nil)); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			report(b, w)
		})
		if err := s.Free(); err != nil {
			b.Fatal(err)
		}
		if err := w.Free(); err != nil {
			b.Fatal(err)
		}
		be.Close()
	}
}

// touch writes to all of the state: memory that nobody has written to yet is no memory.
func touch(w *model.Weights, s *Stepper) error {
	if err := w.Initialise(1); err != nil {
		return err
	}
	m := &batch.Batch{B: 1, T: 16, Inputs: make([]int32, 16), Targets: make([]int32, 16)}
	_, err := s.Step(context.Background(), 1, 1e-3, []*batch.Batch{m})
	return err
}

func report(b *testing.B, w *model.Weights) {
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/save")
	b.ReportMetric(float64(w.Count())/1e6, "Mparams")
}
