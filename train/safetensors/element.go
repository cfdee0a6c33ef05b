package safetensors

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Element is a Go type that has an element type of the format.
type Element interface {
	float32 | float64 | int32 | int64 | int8 | uint8
}

// New wraps values as a tensor. On a little-endian machine Data is the memory of values itself, so that nothing is copied: the tensor
// must be written before values change. [Write] checks that shape holds len(values) elements.
func New[E Element](name string, shape []int, values []E) Tensor {
	t := Tensor{Name: name, DType: dtypeOf[E](), Shape: shape}
	if littleEndian {
		t.Data = memory(values)
		return t
	}
	t.Data = make([]byte, len(values)*elementSize[t.DType])
	reverse(t.Data, memory(values), elementSize[t.DType])
	return t
}

// Copy copies the tensor's elements into dst, which must have the tensor's element type and number of elements.
func Copy[E Element](dst []E, t Tensor) error {
	if want := dtypeOf[E](); t.DType != want {
		return t.errorf("is %s, read as %s", t.DType, want)
	}
	if err := t.check(); err != nil {
		return err
	}
	if len(dst) != t.Len() {
		return t.errorf("has %d elements, read into %d", t.Len(), len(dst))
	}
	if littleEndian {
		copy(memory(dst), t.Data)
	} else {
		reverse(memory(dst), t.Data, elementSize[t.DType])
	}
	return nil
}

// F32 returns a copy of the elements of a tensor of F32.
func (t Tensor) F32() ([]float32, error) { return copied[float32](t) }

// F64 returns a copy of the elements of a tensor of F64.
func (t Tensor) F64() ([]float64, error) { return copied[float64](t) }

// I32 returns a copy of the elements of a tensor of I32.
func (t Tensor) I32() ([]int32, error) { return copied[int32](t) }

// I64 returns a copy of the elements of a tensor of I64.
func (t Tensor) I64() ([]int64, error) { return copied[int64](t) }

// ToF32 returns the elements of a floating-point tensor as float32. F16 and BF16 convert exactly; F64 is rounded to the nearest, and
// becomes infinite outside float32's range.
func (t Tensor) ToF32() ([]float32, error) {
	dst := make([]float32, t.Len())
	if err := t.ConvertF32(dst); err != nil {
		return nil, err
	}
	return dst, nil
}

// ConvertF32 is [Tensor.ToF32] into dst, which must have the tensor's number of elements.
func (t Tensor) ConvertF32(dst []float32) error {
	if t.DType == "F32" {
		return Copy(dst, t)
	}
	if err := t.check(); err != nil {
		return err
	}
	if len(dst) != t.Len() {
		return t.errorf("has %d elements, read into %d", t.Len(), len(dst))
	}
	switch t.DType {
	case "F16":
		for i := range dst {
			dst[i] = fromF16(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
	case "BF16":
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16)
		}
	case "F64":
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:])))
		}
	default:
		return t.errorf("is %s, only F16, BF16, F32 and F64 convert to float32", t.DType)
	}
	return nil
}

// fromF16 widens an IEEE 754 half: 1 sign, 5 exponent and 10 fraction bits.
func fromF16(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // zero and subnormals, multiples of 2^-24
		magnitude := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(magnitude) | sign)
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

func copied[E Element](t Tensor) ([]E, error) {
	dst := make([]E, t.Len())
	if err := Copy(dst, t); err != nil {
		return nil, err
	}
	return dst, nil
}

func dtypeOf[E Element]() string {
	var zero E
	switch any(zero).(type) {
	case float32:
		return "F32"
	case float64:
		return "F64"
	case int32:
		return "I32"
	case int64:
		return "I64"
	case int8:
		return "I8"
	}
	return "U8"
}

// littleEndian tells whether numbers in memory have the format's byte order.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// memory is the bytes of a slice.
func memory[E Element](s []E) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// reverse copies elements of size bytes with the bytes of each in opposite order.
func reverse(dst, src []byte, size int) {
	for i := 0; i < len(src); i += size {
		for j := range size {
			dst[i+j] = src[i+size-1-j]
		}
	}
}
