package metrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"prenorm/data/regular"
)

// Writer appends records to a metrics file. Every record reaches the system in one write before Write returns. A Writer is not for use by
// several goroutines at once, but for [Writer.Sync].
type Writer struct {
	file file
	size int64 // bytes of whole lines
	last map[string]int64

	pending []byte // whole lines that could not be written
	torn    bool   // half a line may stand at the end, which could not be cut off

	seconds Float // of the last Train record
	evals   []Eval
}

// file is what a Writer asks of a file, so that a test can stand in for one that fails.
type file interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Recovered tells what opening an existing file did to it.
type Recovered struct {
	Kept    int    // records kept
	Dropped int    // records of steps after the one resumed from
	Torn    int64  // bytes of an unfinished last line, cut off
	Missing string // a warning of kept records between which others are missing, "" = none
}

// String tells what was done in a sentence, or is empty when nothing was.
func (r Recovered) String() string {
	switch {
	case r.Torn > 0 && r.Dropped > 0:
		return fmt.Sprintf("metrics: cut off an unfinished line of %s and dropped %s after the step resumed from", Bytes(r.Torn), plural(r.Dropped, "record"))
	case r.Torn > 0:
		return fmt.Sprintf("metrics: cut off an unfinished line of %s", Bytes(r.Torn))
	case r.Dropped > 0:
		return fmt.Sprintf("metrics: dropped %s after the step resumed from", plural(r.Dropped, "record"))
	}
	return ""
}

// Open opens a metrics file for a run that goes on from a checkpoint of the given step, and makes it when there is none. What a stopped
// run wrote after that step is dropped, as the resumed run writes it again, so that in the end the file equals an uninterrupted run's in
// all but the clock's readings. A negative step drops everything: the run starts afresh. A file with a line that is no record, other than
// at its end, is not touched.
func Open(path string, step int64) (*Writer, Recovered, error) {
	w, recovered, err := open(path, step)
	if err != nil {
		return nil, Recovered{}, fmt.Errorf("metrics: %w", err)
	}
	return w, recovered, nil
}

func open(path string, step int64) (*Writer, Recovered, error) {
	if err := regular.Check(path); err != nil {
		return nil, Recovered{}, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, Recovered{}, err
	}
	return openFrom(f, path, step)
}

// openFrom is open for a file that is open.
func openFrom(f file, path string, step int64) (*Writer, Recovered, error) {
	w := &Writer{file: f, last: map[string]int64{}}
	recovered, err := w.recover(path, step)
	if err != nil {
		f.Close()
		return nil, Recovered{}, err
	}
	return w, recovered, nil
}

// recover cuts the file after the last record to be kept. Steps never fall within a file, so what is dropped is its end.
func (w *Writer) recover(path string, step int64) (Recovered, error) {
	var r Recovered
	var keep, previous int64
	var fallen error
	number := 0
	var holes gaps
	end, err := scan(w.file, func(line []byte, offset int64) error {
		number++
		kind, at, err := decodeHead(line)
		if err != nil {
			return err
		}
		if at < previous && fallen == nil {
			fallen = fmt.Errorf(":%d: is of step %d after step %d, steps must not fall: put the lines in order or move the file away", number, at, previous)
		}
		switch {
		case at > step && !stopped(line, kind, at, step):
			r.Dropped++
		default:
			r.Kept++
			w.last[kind] = at
			if kind == KindEval {
				e, err := decodeAs[Eval](line)
				if err != nil {
					return err
				}
				w.evals = append(w.evals, e.(Eval))
			}
			if kind == KindTrain {
				var t Train
				if err := json.Unmarshal(line, &t); err != nil {
					return err
				}
				w.seconds = t.Seconds
				holes.see(at)
			}
			if kind == KindGuard && at <= step {
				holes.held(at)
			}
			keep = offset + int64(len(line)) + 1
		}
		previous = at
		return nil
	})
	if err == nil {
		err = fallen
	}
	if err != nil {
		return r, fmt.Errorf("%s%w", path, err)
	}
	size, err := w.file.Seek(0, io.SeekEnd)
	if err != nil {
		return r, err
	}
	r.Torn, r.Missing = size-end, holes.String()
	w.size = min(keep, size)
	if err := w.cut(); err != nil {
		return r, err
	}
	if keep > size { // the last record is whole but for its line break
		return r, w.append([]byte("\n"))
	}
	return r, nil
}

// stopped says whether a line is of the step that ended the run right after the one gone on from. It stays: it says why the run was stopped, and
// the step is tried again after it.
func stopped(line []byte, kind string, at, step int64) bool {
	if kind != KindGuard || at != step+1 {
		return false
	}
	var g Guard
	return json.Unmarshal(line, &g) == nil && g.Action == actionStop
}

// cut makes the file end, and go on, at size.
func (w *Writer) cut() error {
	if err := w.file.Truncate(w.size); err != nil {
		return err
	}
	_, err := w.file.Seek(w.size, io.SeekStart)
	return err
}

// append writes all of data, or, as far as the system allows, nothing: half a line would spoil the next one.
func (w *Writer) append(data []byte) error {
	if w.torn {
		if err := w.cut(); err != nil {
			return err
		}
		w.torn = false
	}
	if _, err := w.file.Write(data); err != nil {
		failed := w.cut()
		w.torn = failed != nil
		return errors.Join(err, failed)
	}
	w.size += int64(len(data))
	return nil
}

// Again writes the records that could not be written.
func (w *Writer) Again() error {
	if len(w.pending) == 0 {
		return nil
	}
	if err := w.append(w.pending); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	w.pending = w.pending[:0]
	return nil
}

// Write appends a record. One that cannot be written comes before the next, so that none is missing in the middle.
func (w *Writer) Write(r Record) error {
	line, err := encode(r)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	w.pending = append(w.pending, line...)
	if err := w.Again(); err != nil {
		return err
	}
	w.last[r.kind()] = r.step()
	if e, ok := r.(Eval); ok {
		w.evals = append(w.evals, e)
	}
	return nil
}

// Last is the step of the last record of a kind in the file, and whether there is one. A resumed loop asks it whether an evaluation of the
// step resumed from was written before the run stopped.
func (w *Writer) Last(kind string) (step int64, ok bool) {
	step, ok = w.last[kind]
	return step, ok
}

// Evals are the Eval records in the file.
func (w *Writer) Evals() []Eval { return w.evals }

// Seconds is what the last Train record kept by [Open] says was spent training, from which a resumed run counts on; 0 where there is none.
func (w *Writer) Seconds() Float {
	if x := float64(w.seconds); x > 0 && x < 1e9 { // a clock that went wrong is not counted on from
		return w.seconds
	}
	return 0
}

// Sync makes all records durable. A loop calls it before it saves a checkpoint: what a checkpoint has trained is not measured again.
func (w *Writer) Sync() error {
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// Close makes all records durable and closes the file.
func (w *Writer) Close() error {
	err := w.file.Sync()
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}
