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
		if _, err := w.draft.Write(w.buffer); err != nil {
			w.err = fmt.Errorf("writing %s: %w", w.draft.path, err)
		}
	}
	w.buffer = w.buffer[:0]
}

// Commit completes the shard and gives it its name. When it returns nil, the shard is on disk.
func (w *Writer) Commit() error {
	w.flush()
	if w.err == nil {
		if _, err := w.draft.WriteAt(w.head.marshal(), 0); err != nil {
			w.err = fmt.Errorf("writing %s: %w", w.draft.path, err)
		}
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	err := w.draft.commit()
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
