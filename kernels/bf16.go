package kernels

import "math"

// ToBF16 is the bfloat16 nearest to x, the even one of two; a NaN stays one.
func ToBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return uint16(bits>>16) | 0x40 // quiet, so that no bit of the mantissa need survive
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FromBF16 is the float32 of a bfloat16.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
