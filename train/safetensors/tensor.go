// Package safetensors reads and writes the safetensors format: an 8-byte little-endian header length, a JSON header, and the tensors'
// bytes, little-endian and dense in row-major order.
//
//	{"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//
// The reader is strict and bounded: it allocates what the file's own size justifies, and a file that it accepts has every byte of data
// belonging to exactly one tensor. The format is described in the documentation of the safetensors library (huggingface.co/docs/safetensors).
package safetensors

import (
	"fmt"
	"math"
	"slices"
)

// Tensor is one named array. Data holds the elements little-endian, dense, row-major; a scalar has no dimensions and one element.
type Tensor struct {
	Name  string
	DType string // F64 F32 BF16 F16 I64 I32 I8 U8 BOOL
	Shape []int
	Data  []byte
}

// elementSize is the known element types and their sizes in bytes.
var elementSize = map[string]int{"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "BOOL": 1}

// DTypes lists the known element types in alphabetical order.
func DTypes() []string {
	names := make([]string, 0, len(elementSize))
	for name := range elementSize {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Len is the number of elements that Data holds, 0 for an unknown element type.
func (t Tensor) Len() int {
	if size := elementSize[t.DType]; size > 0 {
		return len(t.Data) / size
	}
	return 0
}

// byteSize is the size that the element type and shape ask for, or the rule that they break.
func byteSize(dtype string, shape []int) (int, error) {
	n, known := elementSize[dtype]
	if !known {
		return 0, fmt.Errorf("dtype %q is not one of %v", dtype, DTypes())
	}
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d > 0 && n > math.MaxInt/d {
			return 0, fmt.Errorf("shape %v overflows the size of a tensor", shape)
		}
		n *= d
	}
	return n, nil
}

// check applies the rules that one tensor can break by itself.
func (t Tensor) check() error {
	size, err := byteSize(t.DType, t.Shape)
	if err != nil {
		return t.errorf("%w", err)
	}
	if size != len(t.Data) {
		return t.errorf("%s %v takes %d bytes, has %d", t.DType, t.Shape, size, len(t.Data))
	}
	return nil
}

func (t Tensor) errorf(format string, args ...any) error {
	return fmt.Errorf("tensor %q: %w", t.Name, fmt.Errorf(format, args...))
}
