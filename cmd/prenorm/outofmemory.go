package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/kernels"
	"prenorm/train/metrics"
)

// explainMemory puts what the run takes in all beside what a device had free, where that is what failed.
func explainMemory(be kernels.Backend, run configs.Run, err error) error {
	var full *kernels.OutOfMemory
	if !errors.As(err, &full) || run.Model.Vocab == 0 {
		return err
	}
	p, planErr := planOf(be, run)
	if planErr != nil {
		return err
	}
	m := p.Memory
	return fmt.Errorf("%w\nThe run takes %s in all (%s bytes): weights, gradients and optimizer %s, training step %s, validation %s, sampling %s. "+
		"%s were free before it. prenorm plan shows the same before a run starts",
		err, metrics.Bytes(m.Total), grouped(m.Total), metrics.Bytes(m.Weights+m.Gradients+m.Moments), metrics.Bytes(m.Train), metrics.Bytes(m.Eval), metrics.Bytes(m.Sample),
		metrics.Bytes(full.Free+full.Held))
}

// outOfMemory is explainMemory for a run whose vocabulary may be its tokenizer's.
func outOfMemory(cmd *cobra.Command, be kernels.Backend, l *configs.Loaded, err error) error {
	if full := (*kernels.OutOfMemory)(nil); !errors.As(err, &full) {
		return err
	}
	run := l.Run
	if vocab, _, vocabErr := vocabOf(cmd, l); vocabErr == nil {
		run.Model.Vocab = vocab
	}
	return explainMemory(be, run, err)
}
