package kernels

import (
	"fmt"
	"unsafe"
)

// DType is an element type.
type DType uint8

// Element types. BF16 is the upper half of a float32.
const (
	F32 DType = iota
	F64
	BF16
	I32
	I8
)

// Size is the width of one element in bytes.
func (d DType) Size() int { return [...]int{4, 8, 2, 4, 1}[d] }

func (d DType) String() string { return [...]string{"f32", "f64", "bf16", "i32", "i8"}[d] }

// View is a typed window of memory. Its rank is len(Shape); a scalar has rank 0 and one element. A view without memory (nil Host and
// zero Dev) stands for a shape while a program is being planned.
type View struct {
	Shape []int
	DType DType
	Host  []byte  // the memory on the host, nil on a device
	Dev   uintptr // the address on a device, 0 on the host
}

// Shaped returns a view without memory.
func Shaped(dtype DType, shape ...int) View { return View{Shape: shape, DType: dtype} }

// Len is the number of elements.
func (v View) Len() int {
	n := 1
	for _, d := range v.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of the elements in memory.
func (v View) Bytes() int { return v.Len() * v.DType.Size() }

// Dim returns Shape[i]; a negative i counts from the end.
func (v View) Dim(i int) int {
	if i < 0 {
		i += len(v.Shape)
	}
	return v.Shape[i]
}

// Rows is the number of rows when the last dimension is taken as the row.
func (v View) Rows() int {
	if len(v.Shape) == 0 || v.Dim(-1) == 0 {
		return 1
	}
	return v.Len() / v.Dim(-1)
}

// Part returns rows from … to-1 of a view of rank 1 or more, in the same memory.
func (v View) Part(from, to int) View {
	row := v.DType.Size()
	for _, d := range v.Shape[1:] {
		row *= d
	}
	part := View{Shape: append([]int{to - from}, v.Shape[1:]...), DType: v.DType}
	if v.Host != nil {
		part.Host = v.Host[from*row : to*row : to*row]
	}
	if v.Dev != 0 {
		part.Dev = v.Dev + uintptr(from*row)
	}
	return part
}

func (v View) String() string { return fmt.Sprintf("%s%v", v.DType, v.Shape) }

// F32 returns the elements of a host view of float32. The accessors panic on another type: that is a programmer's error, Bind checks.
func (v View) F32() []float32 { return elems[float32](v, F32) }

// F64 returns the elements of a host view of float64.
func (v View) F64() []float64 { return elems[float64](v, F64) }

// I32 returns the elements of a host view of int32.
func (v View) I32() []int32 { return elems[int32](v, I32) }

// I8 returns the elements of a host view of int8.
func (v View) I8() []int8 { return elems[int8](v, I8) }

// BF16 returns the elements of a host view of bfloat16 as raw bits.
func (v View) BF16() []uint16 { return elems[uint16](v, BF16) }

func elems[E any](v View, want DType) []E {
	if v.DType != want {
		panic(fmt.Sprintf("kernels: %v read as %v", v.DType, want))
	}
	n := v.Len()
	if n == 0 {
		return nil
	}
	if len(v.Host) < v.Bytes() {
		panic(fmt.Sprintf("kernels: view %v has %d bytes of memory, needs %d", v, len(v.Host), v.Bytes()))
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(v.Host))), n)
}

// HostView wraps a Go slice (float32, float64, int32, int8, uint16 as BF16) without copying it. A scalar has no shape arguments.
func HostView[E float32 | float64 | int32 | int8 | uint16](data []E, shape ...int) View {
	var zero E
	v := View{Shape: shape}
	switch any(zero).(type) {
	case float32:
		v.DType = F32
	case float64:
		v.DType = F64
	case int32:
		v.DType = I32
	case int8:
		v.DType = I8
	case uint16:
		v.DType = BF16
	}
	if v.Len() != len(data) {
		panic(fmt.Sprintf("kernels: shape %v does not hold %d elements", shape, len(data)))
	}
	if len(data) > 0 {
		v.Host = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), v.Bytes())
	}
	return v
}
