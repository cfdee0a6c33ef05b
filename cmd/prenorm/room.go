package main

import (
	"path/filepath"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/data/shard"
	"prenorm/kernels"
	"prenorm/train"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// What the machine says of itself; tests put other machines in their place.
var (
	availableMemory = kernels.AvailableMemory
	freeSpace       = shard.FreeSpace
)

// room holds what a run takes against what the machine has.
type room struct {
	be     kernels.Backend
	run    configs.Run
	dir    string // the run's folder
	anyway bool   // do not refuse what is estimated

	// What was found last.
	step        int64 // updates done
	plan        *plan // nil while the vocabulary is not known
	host        int64 // bytes of the host's memory that the run takes, with a copy of its state while it is saved
	hostFree    int64 // 0 = not known
	device      int64 // of the device's own memory; 0 = it has none
	deviceFree  int64
	tokens      int64 // bytes of token files still to be written
	checkpoints int64 // checkpoints at most at one time, beyond those there are
	bundles     int64 // at most still to be written, of steps that are held back
	disk        int64 // bytes of both
	diskFree    int64 // where the checkpoints go; -1 = not known
}

func newRoom(be kernels.Backend, run configs.Run, dir string, anyway bool) *room {
	return &room{be: be, run: run, dir: dir, anyway: anyway}
}

// cache is the folder of token files.
func (r *room) cache() string { return firstOf(r.run.Data.Cache, filepath.Join(r.dir, "data")) }

// lacks says what the machine has too little of. It is the Room of a [train.Job].
func (r *room) lacks(needs train.Room) (l problem.List) {
	r.plan = nil
	if needs.Vocab > 1 {
		run := r.run
		run.Model.Vocab = needs.Vocab
		var err error
		if r.plan, err = planOf(r.be, run); err != nil {
			l.Addf("model", "it cannot be planned: %v", err)
			return l
		}
		r.measureMemory(needs.Held, &l)
	}
	r.measureDisk(needs, &l)
	return l
}

// measureMemory holds memory against what is free. held is given back before the run takes the most.
func (r *room) measureMemory(held int64, l *problem.List) {
	m := r.plan.Memory
	r.host, r.device, r.hostFree = m.Total+m.copies(), 0, int64(min(availableMemory(), 1<<62))
	if d, ok := r.be.(kernels.Limited); ok {
		r.host, r.device = m.copies(), m.Total
		if free, err := d.FreeMemory(); err == nil {
			r.deviceFree = free
			r.refuse(l, r.device, free, "on "+r.be.Name())
		}
	}
	if r.hostFree > 0 {
		r.hostFree += held
		r.refuse(l, r.host, r.hostFree, "on the host")
	}
}

// refuse adds memory that is not there.
func (r *room) refuse(l *problem.List, takes, free int64, where string) {
	if takes <= free || r.anyway {
		return
	}
	m := r.plan.Memory
	l.Addf("train.batch", "%d sequences of %d tokens: the run takes %s of memory %s and %s are free (weights, gradients and optimizer %s, training step %s, "+
		"validation %s, sampling %s, and on the host %s for copies of the state and the last batches): lower train.batch and raise train.accumulate, lower model.context or the model's sizes, "+
		"or stop what else takes memory; --ignore-estimates starts it as it is",
		r.run.Train.Batch, r.run.Model.Context, metrics.Bytes(takes), where, metrics.Bytes(free), metrics.Bytes(m.Weights+m.Gradients+m.Moments), metrics.Bytes(m.Train),
		metrics.Bytes(m.Eval), metrics.Bytes(m.Sample), metrics.Bytes(m.copies()))
}

// bytesPerToken is the least text that a token stands for, by and large.
func bytesPerToken(kind string) int64 {
	if kind == "byte" || kind == "char" {
		return 1
	}
	return 3
}

// copies is what the host keeps beside Total: copies of the state, and the last batches. Where training waits for saving, its copy is gone
// again before a bundle's is made.
func (m memory) copies() int64 {
	present := m.Saving + m.Bundling
	if !m.Background {
		present = max(m.Saving, m.Bundling)
	}
	return present + m.Rewind + m.Recent
}

// checkpointExtra is what a checkpoint has beside tensors: tokenizer, run file, headers.
const checkpointExtra = 64 << 10

// checkpoint is the size of one on disk.
func (m memory) checkpoint() int64 { return m.State + m.Rewind + checkpointExtra }

// bundle is the size of one on disk.
func (m memory) bundle() int64 { return m.Bundle + checkpointExtra }

// moreBundles is how many bundles the run may write from a step on. One that stops at the first step that is held back writes no second.
func (r *room) moreBundles(step int64) int64 {
	if step >= int64(r.run.Train.Steps) {
		return 0
	}
	g := r.run.Train.Guard
	more := max(g.Bundles-len(filesLike(filepath.Join(r.dir, train.BundleFolder), "step-*.zip")), 0)
	if g.Policy == train.GuardStop {
		more = min(more, 1)
	}
	return int64(more)
}

// refuseDisk adds a disk that is too full for checkpoints and bundles, by the key that takes too much.
func (r *room) refuseDisk(l *problem.List, free int64) {
	if r.disk <= free {
		return
	}
	bundles := r.bundles * r.plan.Memory.bundle()
	checkpoints := r.disk - bundles
	if checkpoints <= free {
		l.Addf("train.guard.bundles", "%d: the run writes up to %s in %s of steps that are held back, beside %s in %s, and %s are free at %s: free some, lower train.guard.bundles, or choose another folder with --out",
			r.run.Train.Guard.Bundles, metrics.Bytes(bundles), counted(int(r.bundles), "bundle"), metrics.Bytes(checkpoints), counted(int(r.checkpoints), "checkpoint"), metrics.Bytes(free), r.dir)
		return
	}
	l.Addf("checkpoint.keep", "%d: the run writes %s in %s, and %s are free at %s: free some, %sor choose another folder with --out",
		r.run.Checkpoint.Keep, metrics.Bytes(checkpoints), counted(int(r.checkpoints), "checkpoint"), metrics.Bytes(free), r.dir, r.keepFewer())
}

// keepFewer says what has the run keep fewer checkpoints at one time, "" where nothing does.
func (r *room) keepFewer() (ways string) {
	for _, way := range []struct {
		text string
		try  func(c *train.Checkpoint)
	}{
		{"lower checkpoint.keep", func(c *train.Checkpoint) { c.Keep = min(c.Keep, 1) }},
		{"set checkpoint.keep to 1 or more (0 keeps all)", func(c *train.Checkpoint) { c.Keep = max(c.Keep, 1) }},
		{"lower checkpoint.keep_best", func(c *train.Checkpoint) { c.KeepBest = 0 }},
		{"raise checkpoint.keep_every", func(c *train.Checkpoint) { c.KeepEvery = 0 }},
	} {
		c := r.run.Checkpoint
		if way.try(&c); r.moreCheckpoints(c) < r.checkpoints {
			ways += way.text + ", "
		}
	}
	return ways
}

// moreCheckpoints is how many checkpoints there will be at most at one time, by a policy, beyond those there are.
func (r *room) moreCheckpoints(c train.Checkpoint) int64 {
	there, _ := checkpoint.List(checkpoint.OS, filepath.Join(r.dir, train.CheckpointFolder))
	return c.More(r.step, int64(r.run.Train.Steps), int64(len(there)), r.run.Train.Eval.Every)
}

// measureDisk holds files to be written against what is free.
func (r *room) measureDisk(needs train.Room, l *problem.List) {
	r.tokens, r.checkpoints, r.bundles, r.disk = 0, 0, 0, 0
	cache := r.cache()
	if needs.Text > 0 {
		width := int64(2)
		if needs.Vocab > 1<<16 {
			width = 4
		}
		r.tokens = needs.Text / bytesPerToken(r.run.Data.Tokenizer.Kind) * width
	}
	if r.plan != nil {
		r.step = needs.Step
		r.checkpoints = r.moreCheckpoints(r.run.Checkpoint)
		r.bundles = r.moreBundles(needs.Step)
		r.disk = r.checkpoints*r.plan.Memory.checkpoint() + r.bundles*r.plan.Memory.bundle()
	}
	free, known := freeSpace(r.dir)
	if r.diskFree = free; !known {
		r.diskFree = -1
		return
	}
	r.refuseDisk(l, free)
	left := free - r.disk
	if r.run.Data.Cache != "" { // it may be on another disk
		if left, known = freeSpace(cache); !known {
			return
		}
	}
	if r.tokens > left && r.disk <= free && !r.anyway {
		l.Addf("data.cache", "the text becomes about %s of token files, and %s are left for them at %s: free some, or name a folder elsewhere (--set data.cache=PATH); "+
			"--ignore-estimates starts it as it is", metrics.Bytes(r.tokens), metrics.Bytes(max(left, 0)), cache)
	}
}
