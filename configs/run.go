// Package configs decodes YAML run files, strictly and onto defaults, and holds the presets.
package configs

import (
	"prenorm/data"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
)

// Run is a whole run file.
type Run struct {
	Name       string           `yaml:"name"`      // the run's folder is runs/NAME unless --out says otherwise
	Seed       int64            `yaml:"seed"`      // of initialisation, data order, dropout and samples
	InitFrom   string           `yaml:"init_from"` // a run's folder or a weights file to start from
	Data       data.Config      `yaml:"data"`
	Model      model.Config     `yaml:"model"`
	Train      train.Config     `yaml:"train"`
	Checkpoint train.Checkpoint `yaml:"checkpoint"`
	Device     string           `yaml:"device"`    // auto | cpu | cuda
	Precision  string           `yaml:"precision"` // fp32 | tf32 | bf16
	Kernels    Kernels          `yaml:"kernels"`
	Workers    int              `yaml:"workers"` // threads of the CPU backend, 0 = all
}

// Kernels is the section `kernels:` of a run file: who computes what on a GPU.
type Kernels struct {
	MatMul string `yaml:"matmul"` // auto | own | cublas
}

// Options are what a backend is opened with for the run.
func (r Run) Options() kernels.Options {
	return kernels.Options{Workers: r.Workers, MatMul: r.Kernels.MatMul, Precision: kernels.Precision(r.Precision)}
}

// Default is what a run file is decoded onto.
func Default() Run {
	return Run{
		Name: "run", Seed: 1337,
		Data: data.Default(), Model: model.Default(), Train: train.Default(), Checkpoint: train.DefaultCheckpoint(),
		Device: "auto", Precision: string(kernels.PrecisionFP32), Kernels: Kernels{MatMul: "auto"},
	}
}
