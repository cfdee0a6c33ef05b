package shard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"prenorm/data/regular"
)

// A shard that takes long to write lies beside its later name, with a journal of the places up to which it is on disk, so that another
// process can go on with it:
//
//	train-K.tokens.part          header (zero until the end) and ids
//	train-K.tokens.part.journal  a line a checkpoint: a record in JSON, a blank, its CRC-32C
//	train-K.tokens.part.lock     held by the process that writes
const (
	unfinished   = ".part"
	journalName  = unfinished + ".journal"
	lockName     = unfinished + ".lock"
	keepPartials = 30 * 24 * time.Hour // how long an unfinished shard waits for a process to go on with it
)

// checkpoint is a line of a journal.
type checkpoint struct {
	Meta    Meta
	Count   uint64          // ids so far
	Payload uint32          // CRC-32C of their bytes
	Note    json.RawMessage // what the writer's owner has to know to go on
}

// partial is what a [Writer] of an unfinished shard has besides.
type partial struct {
	journal handle // nil before the first checkpoint
	kept    uint64 // ids up to the last checkpoint
	lock    *flock.Flock
}

// Continue goes on with the unfinished shard of path, or starts it. note is that of the last [Writer.Checkpoint] up to which the shard is
// whole, nil for a shard that starts. While another process writes the same shard, this one gets a new one that leaves nothing behind. With an
// error, what could be gone on with stays.
func Continue(path string, meta Meta) (w *Writer, note []byte, err error) {
	if err := meta.check(); err != nil {
		return nil, nil, fmt.Errorf("token shard %s: %w", path, err)
	}
	lock := lockPartial(path + lockName)
	if lock == nil {
		w, err := Create(path, meta)
		return w, nil, err
	}
	last, size := lastCheckpoint(path, meta)
	w = &Writer{head: header{Meta: meta}, buffer: make([]byte, 0, bufferSize+4), partial: &partial{lock: lock}}
	if last == nil {
		err = w.begin(path)
	} else {
		w.head.count, w.head.payload = last.Count, last.Payload
		w.partial.kept = last.Count
		err = w.reopen(path, size)
		note = last.Note
	}
	if err != nil {
		unlock(lock)
		return nil, nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return w, note, nil
}

// begin starts an unfinished shard.
func (w *Writer) begin(path string) error {
	temp := path + unfinished
	os.Remove(temp + ".journal")
	os.Remove(temp)
	h, err := files.create(temp)
	if err != nil {
		return err
	}
	w.draft = &draft{handle: h, path: path, temp: temp}
	if _, err := h.Write(make([]byte, headerSize)); err != nil {
		w.draft.abort()
		return err
	}
	return nil
}

// reopen goes on with an unfinished shard; size is that of the journal's good part.
func (w *Writer) reopen(path string, size int64) error {
	temp := path + unfinished
	h, err := files.open(temp, w.size(w.head.count))
	if err != nil {
		return err
	}
	w.draft = &draft{handle: h, path: path, temp: temp}
	w.partial.journal, err = files.open(path+journalName, size)
	if err != nil {
		h.Close()
	}
	return err
}

// Checkpoint makes everything so far durable, with a note for whoever goes on from here. It does nothing for a shard that leaves nothing
// behind.
func (w *Writer) Checkpoint(note []byte) error {
	if w.flush(); w.err != nil || w.partial == nil {
		return w.err
	}
	err := w.draft.Sync() // the ids first: a line of the journal promises them
	if err == nil && w.partial.journal == nil {
		w.partial.journal, err = files.create(w.draft.path + journalName)
	}
	var line []byte
	if err == nil {
		line, err = json.Marshal(checkpoint{w.head.Meta, w.head.count, w.head.payload, note})
	}
	if err == nil {
		_, err = w.partial.journal.Write(fmt.Appendf(line, " %08x\n", crc32.Checksum(line, castagnoli)))
	}
	if err == nil {
		err = w.partial.journal.Sync()
	}
	if w.fail(err); err == nil {
		w.partial.kept = w.head.count
	}
	return w.err
}

// Kept is the number of ids that [Writer.Suspend] keeps.
func (w *Writer) Kept() int64 {
	if w.partial == nil {
		return 0
	}
	return int64(w.partial.kept)
}

// Suspend ends the writing and keeps what the last checkpoint holds, for [Continue]; where there was none, nothing. What lies behind it is cut
// off, as the disk may be short of its room. After [Writer.Commit] it does nothing.
func (w *Writer) Suspend() {
	switch {
	case w.Kept() == 0:
		w.Abort()
	case !w.draft.done:
		w.draft.done = true
		w.draft.Close()
		if h, err := files.open(w.draft.temp, w.size(w.partial.kept)); err == nil { // if not, whoever goes on cuts it
			h.Close()
		}
		w.partial.journal.Close()
		unlock(w.partial.lock)
	}
}

// size is that of the file with so many ids, in bytes.
func (w *Writer) size(ids uint64) int64 { return headerSize + int64(ids)*int64(w.head.width()) }

// close removes journal and lock, once the shard has its name or is given up.
func (p *partial) close(path string) {
	if p.journal != nil {
		p.journal.Close()
		files.remove(path + journalName)
	}
	unlock(p.lock)
}

// tryLock locks a file; tests have others remove it meanwhile.
var tryLock = (*flock.Flock).TryLock

// lockPartial takes the lock at path, or returns nil where another holds it or there can be none.
func lockPartial(path string) *flock.Flock {
	lock := flock.New(path)
	if held, err := tryLock(lock); err != nil || !held {
		lock.Close()
		return nil
	}
	if !isAt(lock, path) {
		lock.Close()
		return nil
	}
	return lock
}

// isAt says whether a lock is of the file at path: whoever held it before may have removed that, and a third have made and locked another.
func isAt(lock *flock.Flock, path string) bool {
	mine, err := lock.Stat()
	there, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(mine, there)
}

// unlock removes the lock's file and releases it; a system that cannot remove an open file gets a second try.
func unlock(lock *flock.Flock) {
	removed := os.Remove(lock.Path()) == nil
	lock.Close()
	if !removed {
		os.Remove(lock.Path())
	}
}

// lastCheckpoint returns the last checkpoint of the journal that the unfinished shard's bytes agree with, nil for none, and the journal's
// size up to there.
func lastCheckpoint(path string, meta Meta) (last *checkpoint, size int64) {
	journal, err := regular.ReadFile(path + journalName)
	if err != nil {
		return nil, 0
	}
	ids, err := regular.Open(path + unfinished)
	if err != nil {
		return nil, 0
	}
	defer ids.Close()
	if _, err := ids.Seek(headerSize, io.SeekStart); err != nil {
		return nil, 0
	}
	var count uint64
	var sum uint32
	buffer := make([]byte, bufferSize)
	for at := int64(0); ; {
		line, _, whole := bytes.Cut(journal[at:], []byte("\n"))
		c := parseCheckpoint(line)
		if !whole || c == nil || c.Meta != meta || c.Count < count {
			return last, size
		}
		left := int64(c.Count-count) * int64(meta.width())
		for left > 0 {
			n, err := io.ReadFull(ids, buffer[:min(left, bufferSize)])
			if err != nil {
				return last, size
			}
			sum = crc32.Update(sum, castagnoli, buffer[:n])
			left -= int64(n)
		}
		if sum != c.Payload {
			return last, size
		}
		count = c.Count
		at += int64(len(line)) + 1
		last, size = c, at
	}
}

// parseCheckpoint decodes a line, nil for a damaged one.
func parseCheckpoint(line []byte) *checkpoint {
	i := bytes.LastIndexByte(line, ' ')
	if i < 0 || string(line[i+1:]) != fmt.Sprintf("%08x", crc32.Checksum(line[:i], castagnoli)) {
		return nil
	}
	var c checkpoint
	if json.Unmarshal(line[:i], &c) != nil {
		return nil
	}
	return &c
}

// stale says whether an unfinished file has waited too long.
func stale(name string, age time.Duration) bool {
	if strings.Contains(name, temporary) {
		return age > 24*time.Hour
	}
	for _, end := range []string{unfinished, journalName, lockName} {
		if strings.HasSuffix(name, end) && strings.Contains(filepath.Base(name), ".tokens") {
			return age > keepPartials
		}
	}
	return false
}
