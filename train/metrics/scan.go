package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"prenorm/data/regular"
)

// Read returns the records of a metrics file in order, for reports and plots. A torn last line is left out; any other line that is no
// record is an error that gives its number.
func Read(path string) ([]Record, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer f.Close()
	var records []Record
	_, err = scan(f, func(line []byte, _ int64) error {
		r, err := decode(line)
		if r != nil && err == nil {
			records = append(records, r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("metrics: %s%w", path, err)
	}
	return records, nil
}

// scan calls use with every line that use accepts, without its line break, and the line's offset. Lines after the last accepted one are
// what a cut in power leaves: scan returns the offset where they begin. A refused line before an accepted one is an error.
func scan(r io.Reader, use func(line []byte, offset int64) error) (end int64, err error) {
	reader := bufio.NewReader(r)
	var refused error
	var offset int64
	for number := 1; ; number++ {
		line, readErr := reader.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return 0, fmt.Errorf(": %w", readErr)
		}
		if len(line) == 0 {
			return end, nil
		}
		size := int64(len(line))
		if line[size-1] == '\n' {
			line = line[:size-1]
		}
		if err := use(line, offset); err == nil {
			if refused != nil {
				return 0, refused
			}
			end = offset + size
		} else if refused == nil {
			refused = fmt.Errorf(":%d: is not a record: %w: repair the line or move the file away", number, err)
		}
		offset += size
	}
}
