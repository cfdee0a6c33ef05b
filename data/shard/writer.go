package shard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Writer writes a shard. It is for one goroutine. Nothing appears under the shard's name before [Writer.Commit].
type Writer struct {
	draft   *draft
	partial *partial // nil for a shard that leaves nothing behind
	head    header
	buffer  []byte
	err     error // the first one; it sticks
	failed  bool  // err is the file system's
}

// bufferSize is how many bytes of ids are gathered before they are written.
const bufferSize = 1 << 16

// Create starts the shard that will be at path. Its folder must exist.
func Create(path string, meta Meta) (*Writer, error) {
	if err := meta.check(); err != nil {
		return nil, fmt.Errorf("token shard %s: %w", path, err)
	}
	d, err := newDraft(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{draft: d, head: header{Meta: meta}, buffer: make([]byte, 0, bufferSize+4)}
	if _, err := d.Write(make([]byte, headerSize)); err != nil {
		d.abort()
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return w, nil
}

// Append adds ids at the end. An id outside the vocabulary is an error. After an error the shard cannot be committed.
func (w *Writer) Append(ids []int32) error {
	if w.err != nil {
		return w.err
	}
	narrow := w.head.width() == 2
	for i, id := range ids {
		if id < 0 || int(id) >= w.head.Vocab {
			w.err = fmt.Errorf("token shard %s: id %d at place %d is outside the tokenizer's vocabulary of %d ids", w.draft.path, id, w.head.count+uint64(i), w.head.Vocab)
			return w.err
		}
		if narrow {
			w.buffer = binary.LittleEndian.AppendUint16(w.buffer, uint16(id))
		} else {
			w.buffer = binary.LittleEndian.AppendUint32(w.buffer, uint32(id))
		}
		if len(w.buffer) >= bufferSize {
			w.flush()
		}
	}
	w.head.count += uint64(len(ids))
	return w.err
}

// Len is the number of ids so far.
func (w *Writer) Len() int64 { return int64(w.head.count) }

// flush writes the buffer.
func (w *Writer) flush() {
	if w.err == nil {
		w.head.payload = crc32.Update(w.head.payload, castagnoli, w.buffer)
		_, err := w.draft.Write(w.buffer)
		w.fail(err)
	}
	w.buffer = w.buffer[:0]
}

// fail keeps an error of the file system, if there is one.
func (w *Writer) fail(err error) {
	if err != nil {
		w.err, w.failed = fmt.Errorf("writing %s: %w", w.draft.path, err), true
	}
}

// Failed says that the file system, not what was to be written, is why there is an error: what [Writer.Suspend] keeps is worth going on with.
func (w *Writer) Failed() bool { return w.failed }

// Commit completes the shard and gives it its name. When it returns nil, the shard is on disk. Where the file system fails, it ends with what
// [Writer.Suspend] does, with another error with what [Writer.Abort] does.
func (w *Writer) Commit() error {
	if w.draft.done {
		return fmt.Errorf("writing %s: it is already closed", w.draft.path)
	}
	w.flush()
	if w.err == nil {
		_, err := w.draft.WriteAt(w.head.marshal(), 0)
		w.fail(err)
	}
	if w.err == nil {
		w.err = w.draft.place()
		w.failed = w.err != nil
	}
	switch {
	case w.failed:
		w.Suspend()
		return w.err
	case w.err != nil:
		w.Abort()
		return w.err
	}
	err := w.draft.settle()
	if w.partial != nil {
		w.partial.close(w.draft.path)
	}
	return err
}

// Abort removes the unfinished shard. After [Writer.Commit] and [Writer.Suspend] it does nothing, so it can be deferred.
func (w *Writer) Abort() {
	if !w.draft.done {
		w.draft.abort()
		if w.partial != nil {
			w.partial.close(w.draft.path)
		}
	}
}
