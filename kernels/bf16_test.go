package kernels_test

import (
	"math"
	"testing"

	"prenorm/kernels"
)

// TestBF16 wants every bfloat16 to survive the way to float32 and back, and what lies between two to go to the nearer, the even one of two.
func TestBF16(t *testing.T) {
	for b := range 1 << 16 {
		x := kernels.FromBF16(uint16(b))
		if got := kernels.ToBF16(x); x == x && got != uint16(b) || x != x && kernels.FromBF16(got) == kernels.FromBF16(got) {
			t.Fatalf("%#x becomes %#x", b, got)
		}
	}
	for _, c := range []struct {
		bits uint32
		want uint16
	}{
		{0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x3f80ffff, 0x3f81}, {0xbf807fff, 0xbf80}, {0x7f7fffff, 0x7f80},
		{0x00008000, 0}, {0x00008001, 1},
	} {
		if got := kernels.ToBF16(math.Float32frombits(c.bits)); got != c.want {
			t.Errorf("%#x becomes %#x, want %#x", c.bits, got, c.want)
		}
	}
	if b := kernels.ToBF16(math.Float32frombits(0x7f800001)); b&0x7fff <= 0x7f80 {
		t.Errorf("a NaN in the low half becomes %#x", b)
	}
}
