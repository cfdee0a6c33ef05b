// Package configs decodes YAML run files, strictly and onto defaults, and holds the presets.
package configs

import (
	"prenorm/data"
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
	Precision  string           `yaml:"precision"` // fp32
	Workers    int              `yaml:"workers"`   // threads of the CPU backend, 0 = all
}

// Default is what a run file is decoded onto.
func Default() Run {
	return Run{
		Name: "run", Seed: 1337,
		Data: data.Default(), Model: model.Default(), Train: train.Default(), Checkpoint: train.DefaultCheckpoint(),
		Device: "auto", Precision: "fp32",
	}
}
