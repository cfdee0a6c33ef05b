package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"prenorm/data"
	"prenorm/data/batch"
	"prenorm/data/dataset"
	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/sample"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
	"prenorm/train/schedule"
)

// Job is a run to be started or continued.
type Job struct {
	Name       string
	Seed       int64
	InitFrom   string // run folder, checkpoint folder or weights file; "" = draw the weights
	Data       data.Config
	Model      model.Config
	Train      Config
	Checkpoint Checkpoint
	Config     []byte // the run file as resolved; kept in every checkpoint

	Dir     string        // the run's folder
	Locked  bool          // the caller holds the lock of Dir
	MaxTime time.Duration // stop, and save, after this long; 0 = no limit
	Stdin   io.Reader     // for data "-"
	Out     io.Writer     // progress
	Profile io.Writer     // where a trace of a few steps goes; nil = none
}

// Outcome is how a run ended.
type Outcome struct {
	Step       int64  // updates done
	Steps      int64  // updates wanted
	Checkpoint string // folder of the newest checkpoint
	Stopped    string // why it ended before Steps; "" = it did not
}

// CheckpointFolder is the folder of a run's checkpoints inside its own.
const CheckpointFolder = "checkpoints"

func checkpointRoot(dir string) string { return filepath.Join(dir, CheckpointFolder) }

// Run trains until the job's last step, its time limit, or ctx's end, from the newest whole checkpoint of its folder, or from the start. It
// saves before it returns, except after an error of the data or the machine.
func Run(ctx context.Context, be kernels.Backend, j Job) (Outcome, error) {
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		return Outcome{}, fmt.Errorf("run folder: %w", err)
	}
	unlock := func() error { return nil }
	if !j.Locked {
		lock, err := checkpoint.Lock(j.Dir)
		if err != nil {
			return Outcome{}, err
		}
		unlock = lock.Unlock
	}
	l := &loop{Job: j, be: be, began: time.Now()}
	outcome, err := l.run(ctx)
	return outcome, errors.Join(err, l.close(), unlock())
}

// loop is a run at work.
type loop struct {
	Job
	be        kernels.Backend
	began     time.Time
	data      *dataset.Dataset
	weights   *model.Weights
	stepper   *Stepper
	evaluator *Evaluator
	generator *sample.Generator
	batches   *batch.Prefetcher
	rate      schedule.Schedule
	first     *start // of init_from, until it is used
	metrics   *metrics.Writer
	progress  *metrics.Progress
	state     State
	files     map[string][]byte
	newest    string // folder of the newest checkpoint
	saved     int64  // its step, -1 for none
	micros    []*batch.Batch

	lap     time.Time     // when the last update was reported
	trained time.Duration // spent in updates since the run's start, as far as it is recorded
	speed   speed
	window  *window // nil without a profile
}

func (l *loop) run(ctx context.Context) (Outcome, error) {
	if err := l.prepare(); err != nil {
		return Outcome{}, err
	}
	defer context.AfterFunc(ctx, l.progress.Interrupt)()
	l.lap = time.Now()
	err := l.catchUp(ctx)
	l.lap = time.Now()
	for err == nil && l.state.Step < int64(l.Train.Steps) {
		if reason := l.stopReason(ctx); reason != "" {
			return l.stop(reason)
		}
		err = l.next(ctx)
	}
	if err != nil && errors.Is(err, ctx.Err()) { // given up between two micro-batches or within an evaluation
		return l.stop("interrupted")
	}
	return l.outcome(""), err
}

// stop saves and tells where.
func (l *loop) stop(reason string) (Outcome, error) {
	err := errors.Join(l.save(), l.endProfile())
	return l.outcome(reason), err
}

func (l *loop) outcome(stopped string) Outcome {
	return Outcome{Step: l.state.Step, Steps: int64(l.Train.Steps), Checkpoint: l.newest, Stopped: stopped}
}

// stopReason says why the run must end now, "" to go on.
func (l *loop) stopReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	if l.MaxTime > 0 && time.Since(l.began) >= l.MaxTime {
		return fmt.Sprintf("time limit of %v reached", l.MaxTime)
	}
	return ""
}

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
	options := dataset.Options{Dir: cache, Stdin: l.Stdin, Log: func(line string) { fmt.Fprintln(l.Out, line) }}
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
	loader, err := batch.NewLoader(l.data.Train, l.Train.Batch, l.Model.Context, l.Seed)
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
		Optimizer: l.Train.Optimizer, Clip: l.Train.Clip, Seed: l.Seed, Inspect: l.Train.Inspect.Every > 0})
	if err != nil {
		return err
	}
	if n := l.data.Val.Len(); n <= int64(l.Model.Context) {
		return fmt.Errorf("the validation text has %d tokens, one block needs context+1 = %d: use a longer text, a larger data.val.fraction or a smaller model.context", n, l.Model.Context+1)
	}
	if l.evaluator, err = NewEvaluator(l.weights, l.Train.Batch); err != nil {
		return err
	}
	for range max(l.Train.Accumulate, 1) {
		l.micros = append(l.micros, &batch.Batch{})
	}
	if err := l.start(from, loader); err != nil {
		return err
	}
	l.batches = batch.Prefetch(loader, prefetchDepth)
	return nil
}

// prefetchDepth is how many batches are read ahead.
const prefetchDepth = 2

// start sets the state: the checkpoint's, or that of a new run.
func (l *loop) start(from *checkpoint.Loaded, loader *batch.Loader) error {
	var err error
	l.saved = -1
	if from == nil {
		l.state = State{Seed: l.Seed, Data: fingerprints(l.data.Stats)}
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
	return loader.Seek(l.state.Cursor)
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

func (l *loop) close() error {
	if l.progress != nil {
		l.progress.Close()
	}
	if w := l.window; w != nil && !w.done {
		fmt.Fprintf(l.Out, "no profile: the run ended before step %d, the first to be recorded\n", w.first)
	}
	var err error
	for _, c := range []interface{ Close() error }{l.batches, l.metrics, l.data} {
		if !isNil(c) {
			err = errors.Join(err, c.Close())
		}
	}
	for _, f := range []interface{ Free() error }{l.generator, l.evaluator, l.stepper, l.weights} {
		if !isNil(f) {
			err = errors.Join(err, f.Free())
		}
	}
	return err
}
