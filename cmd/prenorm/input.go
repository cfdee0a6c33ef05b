package main

import (
	"context"
	"io"
)

// input is a reader that does not wait any more once ctx ends: it then fails with errInterrupted, and what it waited for is lost. One goroutine
// may read it at a time.
type input struct {
	ctx   context.Context
	from  io.Reader
	read  chan error // the end of the read at work
	block []byte
	rest  []byte // of block, not handed on yet
	err   error  // behind the rest
}

// inputOf reads from until ctx ends.
func inputOf(ctx context.Context, from io.Reader) io.Reader {
	return &input{ctx: ctx, from: from, read: make(chan error, 1), block: make([]byte, 64<<10)}
}

func (in *input) Read(p []byte) (int, error) {
	if in.ctx.Err() != nil {
		return 0, errInterrupted
	}
	if len(in.rest) == 0 && in.err == nil {
		n := 0 // belongs to the goroutine until it sends
		go func() {
			var err error
			n, err = in.from.Read(in.block)
			in.read <- err
		}()
		select {
		case in.err = <-in.read:
			in.rest = in.block[:n]
		case <-in.ctx.Done():
			return 0, errInterrupted
		}
	}
	n := copy(p, in.rest)
	if in.rest = in.rest[n:]; len(in.rest) > 0 {
		return n, nil
	}
	err := in.err
	return n, err
}
