package metrics

import (
	"bufio"
	"bytes"
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

// longest is how many bytes of one line are kept in memory. The longest that a run writes is an inspection: less than a hundredth of it for
// hundreds of layers.
const longest = 16 << 20

var errLong = fmt.Errorf("it has more than %d bytes", longest)

// readLine reads a line with its line break, no more than limit bytes of it, and returns its size. The last one may have no line break.
func readLine(r *bufio.Reader, limit int) (line []byte, size int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		line = append(line, part[:min(len(part), limit-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}

// scan calls use with every line that use accepts, without its line break, and the line's offset. Lines after the last accepted one are
// what a cut in power leaves: scan returns the offset where they begin. A refused line before an accepted one is an error.
func scan(r io.Reader, use func(line []byte, offset int64) error) (end int64, err error) {
	reader := bufio.NewReader(r)
	var refused error
	var offset int64
	for number := 1; ; number++ {
		line, size, readErr := readLine(reader, longest)
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return 0, fmt.Errorf(": %w", readErr)
		}
		if len(line) == 0 {
			return end, nil
		}
		err := errLong
		if size == int64(len(line)) {
			err = use(bytes.TrimSuffix(line, []byte("\n")), offset)
		}
		if err == nil {
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
