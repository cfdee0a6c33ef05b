package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"
)

// File is a parsed file.
type File struct {
	Tensors  []Tensor // in the order of their data; Data are windows of the file's bytes
	Metadata map[string]string
}

// Tensor finds a tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}

// Open reads and parses a file. Its errors name the file, the tensor and the broken rule.
func Open(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return f, nil
}

// readFile reads the file once into memory of its size, after a look at the header's length: a file that is no safetensors file is
// refused before it is read.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path)
	}
	var length [8]byte
	if _, err := io.ReadFull(f, length[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if _, err := headerSize(length[:min(8, info.Size())], info.Size()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data := make([]byte, info.Size())
	copy(data, length[:])
	if _, err := io.ReadFull(f, data[8:]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// Parse parses a file's bytes. The tensors' Data are windows of data, not copies.
func Parse(data []byte) (*File, error) {
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

// headerSize reads the length field and holds it against the file's size.
func headerSize(prefix []byte, fileSize int64) (int, error) {
	if len(prefix) < 8 {
		return 0, fmt.Errorf("%d bytes are too few for a safetensors file: is it cut off?", fileSize)
	}
	size := binary.LittleEndian.Uint64(prefix)
	if size > maxHeader {
		return 0, fmt.Errorf("header length %d exceeds the format's limit of %d bytes: is it a safetensors file?", size, maxHeader)
	}
	if int64(size) > fileSize-8 {
		return 0, fmt.Errorf("header length %d exceeds the %d bytes that follow: is the file cut off?", size, fileSize-8)
	}
	return int(size), nil
}

func parse(data []byte) (*File, error) {
	size, err := headerSize(data[:min(8, len(data))], int64(len(data)))
	if err != nil {
		return nil, err
	}
	header, body := data[8:8+size], data[8+size:]
	if !utf8.Valid(header) {
		return nil, errors.New("header is not UTF-8")
	}
	if !bytes.HasPrefix(header, []byte("{")) {
		return nil, errors.New("header does not start with '{'")
	}
	entries, metadata, err := decodeHeader(header)
	if err != nil {
		return nil, err
	}
	f := &File{Metadata: metadata}
	f.Tensors, err = place(entries, body)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// place gives every entry its window of the body: in range, of the right size, none overlapping, none of the body left over.
func place(entries []entry, body []byte) ([]Tensor, error) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			return a.begin - b.begin
		}
		return a.end - b.end
	})
	tensors := make([]Tensor, 0, len(entries))
	next := 0
	for _, e := range entries {
		t := Tensor{Name: e.name, DType: e.dtype, Shape: e.shape}
		switch {
		case e.begin > e.end || e.end > len(body):
			return nil, t.errorf("data_offsets [%d, %d] are outside the %d bytes of data", e.begin, e.end, len(body))
		case e.begin < next:
			return nil, t.errorf("data_offsets [%d, %d] overlap the tensor before, which ends at %d", e.begin, e.end, next)
		case e.begin > next:
			return nil, t.errorf("bytes %d to %d before it belong to no tensor", next, e.begin)
		}
		t.Data = body[e.begin:e.end:e.end]
		if err := t.check(); err != nil {
			return nil, err
		}
		next = e.end
		tensors = append(tensors, t)
	}
	if next != len(body) {
		return nil, fmt.Errorf("the last %d bytes of data belong to no tensor", len(body)-next)
	}
	return tensors, nil
}
