package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// metadataKey is the header's one entry that is no tensor.
const metadataKey = "__metadata__"

// maxHeader is the format's limit on the header, in bytes.
const maxHeader = 100_000_000

// Write writes the tensors in the order given, which is the order of the header and of the data, and metadata sorted by key; so the same
// input gives the same bytes. Data is passed to w as it is, without a copy. Nothing is written when a tensor breaks a rule of the format.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	header, err := encodeHeader(tensors, metadata)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("safetensors: header: %w", err)
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("safetensors: %w", t.errorf("%w", err))
		}
	}
	return nil
}

// encodeHeader returns the length field and the JSON, padded with spaces so that the data starts at a multiple of 8.
func encodeHeader(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, 8))
	buf.WriteByte('{')
	if len(metadata) > 0 {
		if err := encodeMetadata(buf, metadata); err != nil {
			return nil, err
		}
	}
	offset := 0
	seen := make(map[string]bool, len(tensors))
	for i, t := range tensors {
		if err := checkName(t.Name, seen); err != nil {
			return nil, err
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		if i > 0 || len(metadata) > 0 {
			buf.WriteByte(',')
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		entry := tensorInfo{DType: t.DType, Shape: shape, Offsets: []int{offset, offset + len(t.Data)}}
		offset += len(t.Data)
		if err := encodeEntry(buf, t.Name, entry); err != nil {
			return nil, err
		}
	}
	buf.WriteByte('}')
	for buf.Len()%8 != 0 {
		buf.WriteByte(' ')
	}
	size := buf.Len() - 8
	if size > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, the format allows %d: use fewer tensors or less metadata", size, maxHeader)
	}
	binary.LittleEndian.PutUint64(buf.Bytes(), uint64(size))
	return buf.Bytes(), nil
}

// tensorInfo is a tensor's entry in the header.
type tensorInfo struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"`
}

func encodeMetadata(buf *bytes.Buffer, metadata map[string]string) error {
	keys := make([]string, 0, len(metadata))
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("metadata %q: is not UTF-8", key)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	fmt.Fprintf(buf, "%q:{", metadataKey)
	for i, key := range keys {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := encodeEntry(buf, key, metadata[key]); err != nil {
			return err
		}
	}
	buf.WriteByte('}')
	return nil
}

// encodeEntry writes "key":value.
func encodeEntry(buf *bytes.Buffer, key string, value any) error {
	k, err := json.Marshal(key)
	if err != nil {
		return err
	}
	v, err := json.Marshal(value)
	if err != nil {
		return err
	}
	buf.Write(k)
	buf.WriteByte(':')
	buf.Write(v)
	return nil
}

// checkName refuses names that the header cannot hold, and adds the others to seen.
func checkName(name string, seen map[string]bool) error {
	switch {
	case name == metadataKey:
		return fmt.Errorf("tensor %q: the name is reserved for metadata", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("tensor %q: the name is not UTF-8", name)
	case seen[name]:
		return fmt.Errorf("tensor %q: the name occurs twice", name)
	}
	seen[name] = true
	return nil
}
