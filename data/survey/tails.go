package survey

import (
	"errors"
	"fmt"
	"os"
)

// tails keeps the ends of the sources' training texts in a file, so that memory does not grow with the number of sources.
type tails struct {
	file    *os.File
	end     int64
	lengths []int // by source
}

// newTails makes the file in a folder, "" = the system's for such files.
func newTails(dir string) (*tails, error) {
	f, err := os.CreateTemp(dir, "ends-")
	if err != nil {
		return &tails{}, fmt.Errorf("the ends of the training texts cannot be kept: %w", err)
	}
	return &tails{file: f}, nil
}

// keep takes the end of the next source.
func (t *tails) keep(text []byte) error {
	_, err := t.file.WriteAt(text, t.end)
	t.end += int64(len(text))
	t.lengths = append(t.lengths, len(text))
	return err
}

// next returns the end of the first source that was not asked for yet.
func (t *tails) next() ([]byte, error) {
	at := t.end
	for _, n := range t.lengths {
		at -= int64(n)
	}
	text := make([]byte, t.lengths[0])
	t.lengths = t.lengths[1:]
	_, err := t.file.ReadAt(text, at)
	return text, err
}

func (t *tails) close() error {
	if t.file == nil {
		return nil
	}
	return errors.Join(t.file.Close(), os.Remove(t.file.Name()))
}
