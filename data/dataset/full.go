package dataset

import (
	"errors"
	"fmt"

	"prenorm/data"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// Full is the error of a folder of shards whose disk has no room.
type Full struct {
	Folder string
	More   int64  // bytes still to be written there, about; 0 where that is not known
	Free   int64  // bytes; -1 where that is not known
	GoesOn string // says where the next run with the same texts begins; "" where nothing is to be said of it

	err  error
	kept int64   // bytes on disk of the shard at work
	per  float64 // bytes of ids a byte of text, as far as it was encoded; 0 where none was
}

func (f *Full) Error() string {
	text := f.err.Error()
	if tells := f.Tells(); tells != "" {
		text += ": " + tells
	}
	return fmt.Sprintf("%s: make room on the disk of %s, or choose another place with --out or data.cache, where it begins anew, and run again", text, f.Folder)
}

func (f *Full) Unwrap() error { return f.err }

// Tells says how much is missing and what is kept, "" where nothing is known of that.
func (f *Full) Tells() string {
	tells := ""
	if f.More > 0 {
		tells = fmt.Sprintf("about %s of token ids are still to be written", size(f.More))
		if f.Free >= 0 {
			tells += fmt.Sprintf(" and %s are free", size(f.Free))
		}
	}
	switch {
	case f.GoesOn == "":
		return tells
	case tells == "":
		return f.GoesOn
	}
	return tells + "; " + f.GoesOn
}

// size is a number of bytes for a person.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// full makes an error that is of a full disk one that says what to do.
func full(err error, cfg data.Config, opt Options) error {
	if known := (*Full)(nil); !shard.Full(err) || errors.As(err, &known) {
		return err
	}
	folder := cfg.Cache
	if folder == "" {
		folder = opt.Dir
	}
	return &Full{Folder: folder, Free: -1, err: err}
}

// measureFull adds to the error of a source's full disk how much is still to be written of all sources.
func (all builders) measureFull(err error, b *builder, t token.Tokenizer, print [32]byte) error {
	err = full(err, b.cfg, b.opt)
	f := (*Full)(nil)
	if !errors.As(err, &f) {
		return err
	}
	if f.per == 0 {
		f.per = float64(idBytes(t)) / float64(leastText(t))
	}
	text := int64(0)
	for _, b := range all {
		text += b.unwritten(t, print)
	}
	f.More = max(int64(f.per*float64(text))-f.kept, 0)
	if free, known := shard.FreeSpace(f.Folder); known {
		f.Free = free
	}
	return err
}

// idBytes is how many bytes an id takes in a shard.
func idBytes(t token.Tokenizer) int64 { return shard.Meta{Vocab: t.Vocab()}.IDBytes() }

// leastText is how many bytes of text a token stands for at least, by and large.
func leastText(t token.Tokenizer) int64 {
	if kind := t.Kind(); kind == "byte" || kind == "char" {
		return 1
	}
	return 3
}

// suspended keeps what is on disk of a shard that could not be written on, and says where the next run goes on: done of total bytes of
// text were encoded, kept are marked.
func (b *builder) suspended(w *shard.Writer, err error, stage string, t token.Tokenizer, done, kept, total int64) error {
	w.Suspend()
	goesOn := stage + " begins anew"
	if w.Kept() > 0 {
		goesOn = fmt.Sprintf("%s goes on after %.0f%%", stage, 100*float64(kept)/float64(max(total, 1)))
	}
	if b.opt.Temporary && b.cfg.Cache == "" {
		goesOn = ""
	}
	if !shard.Full(err) {
		if goesOn == "" {
			return err
		}
		return fmt.Errorf("%w: see to the disk and run again: %s", err, goesOn)
	}
	f := &Full{Folder: b.dir, Free: -1, GoesOn: goesOn, err: err, kept: w.Kept() * idBytes(t)}
	if done > 0 {
		f.per = float64(w.Len()*idBytes(t)) / float64(done)
	}
	return f
}
