package train

import (
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

// prepare opens the data, builds the model, and brings back the newest checkpoint.
func (l *loop) prepare() error {
	fsys := checkpoint.OS
	if _, err := checkpoint.Clean(fsys, checkpointRoot(l.Dir)); err != nil {
		return err
	}
	dir, refused, err := checkpoint.Latest(fsys, checkpointRoot(l.Dir))
	if err != nil {
		return err
	}
	var from *checkpoint.Loaded
	if dir != "" {
		if from, err = checkpoint.Load(fsys, dir); err != nil {
			return err
		}
	}
	if err := l.openData(from); err != nil {
		return err
	}
	if err := l.buildModel(from); err != nil {
		return err
	}
	if l.Profile != nil {
		l.window = newWindow(l.be, l.Profile, l.state.Step, int64(l.Train.Steps))
	}
	return l.openOutputs(from != nil, refused)
}

// openData opens the text, with the checkpoint's tokenizer where there is one.
func (l *loop) openData(from *checkpoint.Loaded) error {
	cache := l.Data.Cache
	if cache == "" {
		cache = filepath.Join(l.Dir, "data")
	}
	stages := metrics.NewStages(l.Out)
	defer stages.Close()
	options := dataset.Options{Dir: cache, Stdin: l.Stdin, Log: stages.Line, Progress: func(stage string, done, total int64) {
		stages.Show(stage, done, total, stage != "training tokenizer" || total == 0) // merges, once all bytes are counted
	}}
	var err error
	if from != nil {
		if options.Tokenizer, err = token.Unmarshal(from.Files[TokenizerFile]); err != nil {
			return fmt.Errorf("checkpoint %s: %w", from.Dir, err)
		}
	} else if options.Tokenizer, err = l.openStart(); err != nil {
		return err
	}
	if l.data, err = dataset.Open(l.Data, options); err != nil {
		return err
	}
	vocab := l.data.Tokenizer.Vocab()
	if l.Model.Vocab == 0 {
		l.Model.Vocab = vocab
	}
	if l.Model.Vocab < vocab {
		return fmt.Errorf("model.vocab is %d, the tokenizer has %d ids: set model.vocab to 0 (the tokenizer's) or to %d or more", l.Model.Vocab, vocab, vocab)
	}
	if _, err := PromptIDs(l.data.Tokenizer, l.Train.Sample.Prompt); err != nil {
		return fmt.Errorf("train.sample.prompt: %w", err)
	}
	tokenizer, err := l.data.Tokenizer.Marshal()
	if err != nil {
		return err
	}
	l.files = map[string][]byte{ConfigFile: l.Config, TokenizerFile: tokenizer}
	return nil
}

// openStart opens what init_from names, and returns its tokenizer where the run has to take it.
func (l *loop) openStart() (token.Tokenizer, error) {
	if l.InitFrom == "" {
		return nil, nil
	}
	var err error
	if l.first, err = openStart(l.InitFrom); err != nil {
		return nil, fmt.Errorf("init_from: %w", err)
	}
	t, line, err := startTokenizer(l.first, l.Data.Tokenizer)
	if line != "" {
		fmt.Fprintf(l.Out, "init_from %s: %s\n", l.InitFrom, line)
	}
	return t, err
}

// buildModel makes weights, training step and batches, new or from the checkpoint.
func (l *loop) buildModel(from *checkpoint.Loaded) error {
	feed, err := l.openFeed()
	if err != nil {
		return err
	}
	if l.rate, err = schedule.New(l.Train.Schedule.Kind, schedule.Config{Warmup: l.Train.Schedule.Warmup, Steps: l.Train.Steps, Min: l.Train.Schedule.Min, Decay: l.Train.Schedule.Decay}); err != nil {
		return err
	}
	if l.weights, err = model.NewWeights(l.be, l.Model); err != nil {
		return err
	}
	l.stepper, err = NewStepper(l.weights, StepOptions{Batch: l.Train.Batch, Context: l.Model.Context, Accumulate: l.Train.Accumulate,
		Optimizer: l.Train.Optimizer, Clip: l.Train.Clip, Seed: l.Seed, Inspect: l.Train.Inspect.Every > 0, Documents: !l.Data.Cross})
	if err != nil {
		return err
	}
	if l.evaluator, err = NewEvaluatorBy(l.weights, l.Train.Batch, dataset.RuleOf(l.Data)); err != nil {
		return err
	}
	for range max(l.Train.Accumulate, 1) {
		l.micros = append(l.micros, &batch.Batch{})
	}
	if err := l.start(from, feed); err != nil {
		return err
	}
	l.batches = batch.Prefetch(feed, prefetchDepth)
	return nil
}

// prefetchDepth is how many batches are read ahead.
const prefetchDepth = 2

// start sets the state: the checkpoint's, or that of a new run.
func (l *loop) start(from *checkpoint.Loaded, feed batch.Feed) error {
	var err error
	l.saved = -1
	if from == nil {
		l.state = State{Cursor: feed.Cursor(), Seed: l.Seed, Data: fingerprints(l.data.Stats), Sources: sourceStates(len(l.Data.Sources), l.data.Sources)}
		return l.firstWeights()
	}
	if l.state, err = restore(l.weights, l.stepper, from); err != nil {
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
	return feed.Seek(l.state.Cursor)
}

// firstWeights draws the weights or takes them from elsewhere.
func (l *loop) firstWeights() error {
	if l.first == nil {
		return l.weights.Initialise(l.Seed)
	}
	err := fit(l.weights.All(), l.first.weights)
	if err == nil {
		err = l.weights.Load(SourceOf(l.first.weights))
	}
	if err != nil {
		return fmt.Errorf("init_from: %s: %w", l.InitFrom, err)
	}
	l.first = nil // its memory is not needed any more
	return nil
}
