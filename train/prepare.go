package train

import (
	"context"
	"fmt"
	"path/filepath"

	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/data/token"
	"prenorm/model"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
	"prenorm/train/schedule"
)

// prepare opens the data, builds the model, and brings back the newest checkpoint. A run that cannot come to its end is refused before
// anything large is made: see [Refused].
func (l *loop) prepare(ctx context.Context) error {
	if _, err := checkpoint.Clean(l.disk(), checkpointRoot(l.Dir)); err != nil {
		return err
	}
	resumed, refused, err := l.assemble(ctx)
	if err != nil {
		return err
	}
	if err := l.openSaver(); err != nil {
		return err
	}
	if l.Profile != nil {
		l.window = newWindow(l.be, l.Profile, l.state.Step, int64(l.Train.Steps))
	}
	return l.openOutputs(ctx, resumed, refused)
}

// assemble is prepare without anything that changes the run's folder, its data apart. It says whether the state is that of a checkpoint, and
// which ones are not whole.
func (l *loop) assemble(ctx context.Context) (resumed bool, refused []checkpoint.Refused, err error) {
	disk := untilEnded(ctx)
	if there, err := checkpoint.List(disk, checkpointRoot(l.Dir)); err == nil && len(there) > 0 {
		l.state.Step = there[len(there)-1].Step // for who stops while they are read
	}
	dir, refused, err := Newest(disk, l.Dir)
	if err != nil {
		return false, nil, err
	}
	var from *checkpoint.Loaded
	if dir != "" {
		if from, err = checkpoint.Load(disk, dir); err != nil {
			return false, nil, err
		}
		l.state.Step = from.Step
	}
	if err := l.openData(ctx, from); err != nil {
		return false, nil, err
	}
	return from != nil, refused, l.buildModel(ctx, from)
}

// openData opens the text, with the checkpoint's tokenizer where there is one.
func (l *loop) openData(ctx context.Context, from *checkpoint.Loaded) (err error) {
	refused, further, err := l.lookAhead(ctx, from)
	if err != nil {
		return err
	}
	if !further {
		return refused
	}
	stages := metrics.NewStages(l.Out)
	defer func() { stages.End(err) }()
	options := dataset.Options{Dir: l.ownCache(), Stdin: l.Stdin, Log: stages.Line, Stop: func() error { return ended(ctx) }, Progress: dataset.WithUnit(stages.Show)}
	if from != nil {
		if options.Tokenizer, err = TokenizerOf(from); err != nil {
			return err
		}
	} else if options.Tokenizer, err = l.startTokenizer(); err != nil {
		return err
	}
	if l.data, err = dataset.Open(l.Data, options); err != nil {
		if stopped := ended(ctx); stopped != nil {
			return stopped
		}
		return refused.dataError(err)
	}
	l.lookAtTokens(from, refused)
	if err := refused.err(); err != nil {
		return err
	}
	tokenizer, err := l.data.Tokenizer.Marshal()
	if err != nil {
		return err
	}
	l.files = map[string][]byte{ConfigFile: l.Config, TokenizerFile: tokenizer}
	return nil
}

// ownCache is the folder of shards where data.cache names none.
func (l *loop) ownCache() string { return filepath.Join(l.Dir, "data") }

// ended is the error of a context that has ended.
func ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}

// untilEnded is the file system, of which nothing can be read once a context has ended.
func untilEnded(ctx context.Context) checkpoint.FS {
	return checkpoint.Stoppable(checkpoint.OS, func() error { return ended(ctx) })
}

// startTokenizer returns the tokenizer of what init_from names, where the run has to take it.
func (l *loop) startTokenizer() (token.Tokenizer, error) {
	if l.first == nil {
		return nil, nil
	}
	t, line, err := startTokenizer(l.first, l.Data.Tokenizer)
	if line != "" {
		fmt.Fprintf(l.Out, "init_from %s: %s\n", l.InitFrom, line)
	}
	return t, err
}

// buildModel makes weights, training step and batches, new or from the checkpoint. Between its parts, and between tensors, it asks whether to
// go on.
func (l *loop) buildModel(ctx context.Context, from *checkpoint.Loaded) error {
	feed, err := l.feed()
	if err != nil {
		return err
	}
	if l.rate, err = schedule.New(l.Train.Schedule.Kind, schedule.Config{Warmup: l.Train.Schedule.Warmup, Steps: l.Train.Steps, Min: l.Train.Schedule.Min, Decay: l.Train.Schedule.Decay}); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	if l.weights, err = model.NewWeights(l.be, l.Model); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	l.stepper, err = NewStepper(l.weights, StepOptions{Batch: l.Train.Batch, Context: l.Model.Context, Accumulate: l.Train.Accumulate,
		Optimizer: l.Train.Optimizer, Clip: l.Train.Clip, Seed: l.Seed, Inspect: l.Train.Inspect.Every > 0, Documents: !l.Data.Cross})
	if err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return err
	}
	if l.evaluator, err = NewEvaluatorBy(l.weights, l.Train.Batch, dataset.RuleOf(l.Data)); err != nil {
		return err
	}
	l.ring = newRing(l.Train.Guard.keepsRecent(), max(l.Train.Accumulate, 1))
	if err := l.start(ctx, from, feed); err != nil {
		return err
	}
	if err := l.startGuard(from); err != nil {
		return err
	}
	l.batches = batch.Prefetch(feed, prefetchDepth)
	return nil
}

// prefetchDepth is how many batches are read ahead.
const prefetchDepth = 2

// start sets the state: the checkpoint's, or that of a new run.
func (l *loop) start(ctx context.Context, from *checkpoint.Loaded, feed batch.Feed) error {
	var err error
	l.saved = -1
	if from == nil {
		l.state = State{Cursor: feed.Cursor(), Seed: l.Seed, Data: fingerprints(l.data.Stats), Sources: sourceStates(len(l.Data.Sources), l.data.Sources)}
		return l.firstWeights(ctx)
	}
	if l.state, err = restore(ctx, l.weights, l.stepper, from, "checkpoint "+from.Dir); err != nil {
		return err
	}
	if now := fingerprints(l.data.Stats); now != l.state.Data {
		return fmt.Errorf("run folder %s: the text is not the one that the run was trained on (fingerprints %.8s/%.8s, now %.8s/%.8s): put the files back as they were, or start anew with --fresh",
			l.Dir, l.state.Data.Train, l.state.Data.Val, now.Train, now.Val)
	}
	if l.state.Seed != l.Seed {
		return fmt.Errorf("run folder %s was started with seed %d, now it is %d: a run keeps its seed; start anew with --fresh", l.Dir, l.state.Seed, l.Seed)
	}
	l.newest, l.saved = from.Dir, l.state.Step
	if err := l.readRecent(feed); err != nil {
		return fmt.Errorf("checkpoint %s: %s: recent: %w", from.Dir, StateFile, err)
	}
	return feed.Seek(l.state.Cursor)
}

// firstWeights draws the weights or takes them from elsewhere.
func (l *loop) firstWeights(ctx context.Context) error {
	if l.first == nil {
		return load(ctx, l.weights, drawn(l.weights, l.Seed))
	}
	if err := load(ctx, l.weights, SourceOf(l.first.weights)); err != nil { // they fit, or the run was refused
		return fmt.Errorf("init_from: %s: %w", l.InitFrom, err)
	}
	l.first = nil // its memory is not needed any more
	return nil
}
