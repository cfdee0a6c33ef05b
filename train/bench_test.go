package train

import (
	"context"
	"math/rand/v2"
	"testing"

	"prenorm/data/batch"
	"prenorm/kernels/cpu"
	"prenorm/model"
)

// benchModel is a model of the presets' shapes.
type benchModel struct {
	name   string
	config model.Config
	batch  int
}

func benchModels() []benchModel {
	llama := model.Default()
	llama.KVHeads, llama.FFN, llama.Vocab = 2, 352, 1024
	gpt := model.Default()
	gpt.FFN, gpt.Context, gpt.Vocab = 512, 64, 65
	gpt.Norm.Kind, gpt.MLP, gpt.Position.Kind = "layernorm", "gelu_tanh", "learned"
	return []benchModel{{"quickstart", llama, 16}, {"shakespeare-char-cpu", gpt, 12}}
}

// BenchmarkStep times whole training steps, clipping and AdamW included, on random tokens.
func BenchmarkStep(b *testing.B) {
	for _, m := range benchModels() {
		for _, workers := range []int{1, 2} {
			b.Run(m.name+map[int]string{1: "/workers=1", 2: "/workers=2"}[workers], func(b *testing.B) { benchStep(b, m, workers) })
		}
	}
}

func benchStep(b *testing.B, m benchModel, workers int) {
	be := cpu.New(workers)
	defer be.Close()
	w, err := model.NewWeights(be, m.config)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Initialise(1); err != nil {
		b.Fatal(err)
	}
	s, err := NewStepper(w, StepOptions{Batch: m.batch, Context: m.config.Context, Accumulate: 1, Optimizer: Default().Optimizer, Clip: 1})
	if err != nil {
		b.Fatal(err)
	}
	n := m.batch * m.config.Context
	data := &batch.Batch{B: m.batch, T: m.config.Context, Inputs: make([]int32, n), Targets: make([]int32, n)}
	for i := range n {
		data.Inputs[i], data.Targets[i] = rand.Int32N(int32(m.config.Vocab)), rand.Int32N(int32(m.config.Vocab))
	}
	step := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		step++
		if _, err := s.Step(context.Background(), step, 1e-4, []*batch.Batch{data}); err != nil {
			b.Fatal(err)
		}
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(s.Plan().FLOPs())*float64(step)/seconds/1e9, "GFLOP/s")
	b.ReportMetric(float64(n)*float64(step)/seconds, "tokens/s")
}
