package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/configs"
	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/checkpoint"
)

// trained is a model brought back from a checkpoint, which needs nothing but the checkpoint's folder.
type trained struct {
	dir       string // the checkpoint's folder
	step      int64
	state     []byte // the run's state as JSON
	run       configs.Run
	tokenizer token.Tokenizer
	weights   *model.Weights
	be        kernels.Backend
}

// open brings back the model that a path means, a run's folder or a checkpoint's, on the device of the flag. That of
// the run does not count, as the machine may be another.
func (r *runFlags) open(cmd *cobra.Command, path string) (*trained, error) {
	if err := r.checkDevice(cmd); err != nil {
		return nil, err
	}
	saved, refused, err := train.OpenWeights(path)
	if err != nil {
		return nil, err
	}
	dir := saved.Dir
	noteRefused(cmd, refused)
	t := &trained{dir: dir, step: saved.Step, state: saved.State}
	config, err := configs.Parse(filepath.Join(dir, train.ConfigFile), saved.Files[train.ConfigFile], nil)
	if err != nil {
		return nil, err
	}
	t.run = config.Run
	if t.tokenizer, err = train.TokenizerOf(saved); err != nil {
		return nil, err
	}
	if t.run.Model.Vocab == 0 {
		t.run.Model.Vocab = t.tokenizer.Vocab()
	}
	r.override(cmd, &t.run)
	return t, t.load(saved, cmd.ErrOrStderr())
}

// noteRefused tells of checkpoints that were passed over for not being whole.
func noteRefused(cmd *cobra.Command, refused []checkpoint.Refused) {
	for _, c := range refused {
		note(cmd.ErrOrStderr(), "warning: an older checkpoint is used, because %s", c)
	}
}

// noteOthers tells of what has the name of a run's checkpoint and is none.
func noteOthers(cmd *cobra.Command, run string) error {
	others, err := checkpoint.Others(checkpoint.OS, filepath.Join(run, train.CheckpointFolder))
	for _, o := range others {
		note(cmd.ErrOrStderr(), "note: %s", o)
	}
	return err
}

// override puts the device flags in place of the run's settings, and says where a run that was on a GPU may be on the CPU now for want of
// a build that knows GPUs. Any other reason is said when the GPU is looked for.
func (r *runFlags) override(cmd *cobra.Command, run *configs.Run) {
	if run.Device == "cuda" && r.device == "auto" && !needsGPU(run.Options()) && !slices.Contains(knownKernels(), "cuda") {
		note(cmd.ErrOrStderr(), "note: the run's device is cuda, which this build lacks; this is on the CPU")
	}
	run.Device = r.device
	if cmd.Flags().Changed("workers") {
		run.Workers = r.workers
	}
}

// load puts the weights on the device.
func (t *trained) load(saved *checkpoint.Loaded, notes io.Writer) error {
	var err error
	if t.be, err = openSettled(t.run.Device, t.run.Options(), notes); err != nil {
		return err
	}
	if t.weights, err = model.NewWeights(t.be, t.run.Model); err == nil {
		err = t.weights.Load(train.SourceOf(saved.Weights))
	}
	if err != nil {
		t.be.Close()
		return fmt.Errorf("checkpoint %s: %w", t.dir, err)
	}
	return nil
}

func (t *trained) close() {
	t.weights.Free()
	t.be.Close()
}
