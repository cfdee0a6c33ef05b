package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/kernels"
)

// Runner trains cells, several at once, and keeps what is finished in a folder, so that nothing runs twice.
type Runner struct {
	Dir    string // where results are kept; "" = nowhere
	Text   *Text
	Device string                                       // part of a result's name
	Jobs   int                                          // cells at once, each with a backend of its own
	Open   func(workers int) (kernels.Backend, error)   // opens such a backend; a job has one worker where there are several
	Log    func(done, all int, r CellResult, kept bool) // told of every result; may be nil
}

// CellsFolder holds the results inside a lab's folder.
const CellsFolder = "cells"

// Run returns the results of cells in their order. After an error or an interruption the finished ones are kept.
func (r *Runner) Run(ctx context.Context, cells []Cell) ([]CellResult, error) {
	results := make([]CellResult, len(cells))
	var todo []int
	done := 0
	for i, c := range cells {
		kept, ok, err := r.recall(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			todo = append(todo, i)
			continue
		}
		kept.Label = c.Label
		results[i] = kept
		done++
		r.log(done, len(cells), kept, true)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	go func() {
		defer close(next)
		for _, i := range todo {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wait sync.WaitGroup
	var lock sync.Mutex
	jobs := max(1, min(r.Jobs, len(todo)))
	for range jobs {
		wait.Go(func() {
			err := r.job(ctx, jobs, cells, next, func(i int, result CellResult) {
				lock.Lock()
				defer lock.Unlock()
				results[i] = result
				done++
				r.log(done, len(cells), result, false)
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return results, context.Cause(ctx)
}

func (r *Runner) log(done, all int, result CellResult, kept bool) {
	if r.Log != nil {
		r.Log(done, all, result, kept)
	}
}

// job runs cells one after the other on one backend.
func (r *Runner) job(ctx context.Context, jobs int, cells []Cell, next <-chan int, finished func(int, CellResult)) (err error) {
	workers := 0
	if jobs > 1 {
		workers = 1
	}
	be, err := r.Open(workers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, be.Close()) }()
	for i := range next {
		result, err := runCell(ctx, be, r.Text, cells[i])
		if err == nil {
			err = r.keep(cells[i], result)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", cells[i].Label, err)
		}
		finished(i, result)
	}
	return nil
}

// path is the file of a cell's result.
func (r *Runner) path(c Cell) (string, error) {
	key, err := c.key(r.Text, r.Device)
	return filepath.Join(r.Dir, CellsFolder, key+".json"), err
}

// recall reads a result that was kept. A file that is damaged counts as none.
func (r *Runner) recall(c Cell) (result CellResult, ok bool, err error) {
	if r.Dir == "" {
		return result, false, nil
	}
	path, err := r.path(c)
	if err != nil {
		return result, false, err
	}
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return result, false, nil
	}
	if err != nil {
		return result, false, fmt.Errorf("a result of an earlier start: %w", err)
	}
	return result, json.Unmarshal(text, &result) == nil && result.Outcome != "", nil
}

// keep writes a result.
func (r *Runner) keep(c Cell, result CellResult) error {
	if r.Dir == "" {
		return nil
	}
	path, err := r.path(c)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return shard.WriteFile(path, append(text, '\n'))
}
