package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"prenorm/configs/problem"
	"prenorm/data"
	"prenorm/data/baseline"
	"prenorm/data/batch"
	"prenorm/data/dataset"
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

	ValidationChosen bool // train.eval.windows is the user's own value, so that nothing is said of it

	Dir     string              // the run's folder
	Lock    *checkpoint.RunLock // of Dir, held by the caller; nil = Run takes it
	MaxTime time.Duration       // stop, and save, after this long; 0 = no limit
	MaxStep int64               // stop, and save, after this step; 0 = no limit
	Stdin   io.Reader           // for data "-"
	Out     io.Writer           // progress
	Profile io.Writer           // where a trace of a few steps goes; nil = none

	// Room says what the machine has too little of for the run, by full key; nil = it is not asked. It is asked once or twice, before
	// anything large is made.
	Room func(Room) problem.List

	// Differs says by which settings the model of another run's file is another than this job's, in lines for people; nil = nobody knows.
	Differs func(config []byte) []string
}

// Outcome is how a run ended.
type Outcome struct {
	Step       int64  // updates done, by earlier sessions too
	Steps      int64  // updates wanted
	Checkpoint string // folder of the newest checkpoint; "" = the run was stopped while it was prepared
	Stopped    string // why it ended before Steps; "" = it did not
}

// CheckpointFolder is the folder of a run's checkpoints inside its own.
const CheckpointFolder = "checkpoints"

func checkpointRoot(dir string) string { return filepath.Join(dir, CheckpointFolder) }

// Run trains until the job's last step, its time limit, or ctx's end, from the newest whole checkpoint of its folder, or from the start. It
// saves before it returns, except after an error of the data or the machine, or where the folder was moved away: see [checkpoint.ErrMoved].
func Run(ctx context.Context, be kernels.Backend, j Job) (Outcome, error) {
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		return Outcome{}, fmt.Errorf("run folder: %w", err)
	}
	unlock := func() error { return nil }
	if j.Lock == nil {
		var err error
		if j.Lock, err = checkpoint.Lock(j.Dir); err != nil {
			return Outcome{}, err
		}
		unlock = j.Lock.Unlock
	}
	l := &loop{Job: j, be: be, began: time.Now()}
	outcome, err := l.run(ctx)
	return outcome, errors.Join(err, l.close(), unlock())
}

// loop is a run at work.
type loop struct {
	Job
	be           kernels.Backend
	began        time.Time
	data         *dataset.Dataset
	lines        baseline.Lines
	linesPerByte baseline.Lines // in bits a byte of validation text
	weights      *model.Weights
	stepper      *Stepper
	evaluator    *Evaluator
	generator    *sample.Generator
	batches      *batch.Prefetcher
	rate         schedule.Schedule
	first        *start // of init_from, until it is used
	metrics      *metrics.Writer
	progress     *metrics.Progress
	state        State
	loaders      []*batch.Loader     // of each source
	packed       []batch.Packing     // of each source, where documents are packed whole
	validation   []*batch.Evaluation // of each source
	held         *held               // of the state last saved, and before that of the first; nil where training waits for saving
	good         *held               // what the guard goes back to; nil where it does not
	saver        *checkpoint.Saver
	files        map[string][]byte
	newest       string         // folder of the newest checkpoint
	there        []Scored       // the best checkpoints that are there, best first
	saved        int64          // its step, or that of the save at work; -1 for none
	failed       bool           // a save has
	copied       time.Time      // when the state was last copied to be saved
	ring         ring           // of the batches read last
	micros       []*batch.Batch // of the step at work, in the ring
	news         bool           // something was saved or validated since the start
	full         bool           // it was said that there is no room for another bundle

	lap     time.Time     // when the last update was reported
	trained time.Duration // spent in updates since the run's start, as far as it is recorded
	speed   speed
	window  *window // nil without a profile
}

func (l *loop) run(ctx context.Context) (Outcome, error) {
	if err := l.prepare(ctx); err != nil {
		if stopped := ended(ctx); stopped != nil && errors.Is(err, stopped) {
			return l.outcome("interrupted"), nil
		}
		return Outcome{}, err
	}
	defer context.AfterFunc(ctx, l.progress.Interrupt)()
	stopped, err := l.untilEnd(ctx)
	if stopped != "" {
		err = errors.Join(l.save(), l.endProfile())
	}
	if DiskFull(err) && !l.failed {
		err = errors.Join(err, l.saveInWhatIsLeft())
	}
	err = l.ending(err)
	return l.outcome(stopped), err
}

// untilEnd trains until the last step, or says why it was stopped before.
func (l *loop) untilEnd(ctx context.Context) (stopped string, err error) {
	l.lap = time.Now()
	err = l.catchUp(ctx)
	l.lap = time.Now()
	for err == nil && l.state.Step < int64(l.Train.Steps) {
		if reason := l.stopReason(ctx); reason != "" {
			return reason, nil
		}
		err = l.next(ctx)
	}
	if err != nil && errors.Is(err, ctx.Err()) { // given up between two micro-batches or within an evaluation
		return "interrupted", nil
	}
	return "", err
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
	if l.MaxStep > 0 && l.state.Step >= l.MaxStep {
		return fmt.Sprintf("step limit of %d reached", l.MaxStep)
	}
	return ""
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
	for _, f := range []interface{ Free() error }{l.generator, l.evaluator, l.stepper, l.weights, l.held, l.good} {
		if !isNil(f) {
			err = errors.Join(err, f.Free())
		}
	}
	return err
}
