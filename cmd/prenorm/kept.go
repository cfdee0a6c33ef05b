package main

import (
	"encoding/json"
	"path/filepath"

	"prenorm/configs"
	"prenorm/data/regular"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// explainKept writes down why each whole checkpoint of a run is kept, by the settings and the state in the newest of them. records are the run's
// checkpoints, oldest first. What cannot be read explains nothing: the records themselves say whether it is whole.
func explainKept(run string, records []verifyRecord) {
	rank := 0
	var keep checkpoint.Keep
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if !r.Whole {
			continue
		}
		if rank == 0 {
			var ok bool
			if _, keep, ok = keepOf(run, r.Checkpoint); !ok {
				return
			}
		}
		r.Kept = keep.Reasons(rank, r.Step)
		rank++
	}
}

// keepOf is the policy of the run whose newest checkpoint is in a folder, as its run file has it and with the best checkpoints. The state
// there does not know its own validation, which the measurements do.
func keepOf(run, newest string) (policy train.Checkpoint, keep checkpoint.Keep, known bool) {
	text, err := regular.ReadFile(filepath.Join(newest, train.ConfigFile))
	if err != nil {
		return policy, keep, false
	}
	config, err := configs.Parse(train.ConfigFile, text, nil)
	if err != nil {
		return policy, keep, false
	}
	var state train.State
	text, err = regular.ReadFile(filepath.Join(newest, train.StateFile))
	if err != nil || json.Unmarshal(text, &state) != nil {
		return policy, keep, false
	}
	records, err := metrics.Read(filepath.Join(run, train.MetricsFile))
	if err != nil {
		records = nil
	}
	there, err := checkpoint.List(checkpoint.OS, filepath.Join(run, train.CheckpointFolder))
	if err != nil {
		return policy, keep, false
	}
	var validations []train.Scored
	own := -1 // the validation of the state's own step
	for _, r := range records {
		if e, ok := r.(metrics.Eval); ok {
			if e.Step == state.Step {
				own = len(validations)
			}
			validations = append(validations, train.Scored{Step: e.Step, Loss: float64(e.Loss)})
		}
	}
	c := config.Run.Checkpoint
	best := c.BestThere(state, validations, there)
	if own >= 0 {
		best = c.Best(best, state.Step, validations[own].Loss)
	}
	return c, c.Kept(best), true
}
