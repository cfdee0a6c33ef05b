package kernels

import (
	"math"
	"testing"
)

// TestPhiloxKnownAnswers compares with the known-answer vectors that Random123 publishes for philox4x32-10.
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = math.MaxUint32
	for _, k := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(k.counter, k.key); got != k.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", k.counter, k.key, got, k.want)
		}
	}
}

// TestUniformLayout pins which word of which block is whose: the seed is the key, the counter is {i/4, site, step, micro-batch}.
func TestUniformLayout(t *testing.T) {
	counter := [4]int32{-5, 7, 11, 13}
	for i := range 9 {
		block := Philox([4]uint32{uint32(i / 4), 3, 11, 13}, [2]uint32{math.MaxUint32 - 4, 7})
		if got, want := Uniform(counter, 3, i), float32(block[i%4]>>8)/(1<<24); got != want {
			t.Errorf("Uniform(%d) = %v, want %v", i, got, want)
		}
	}
}

// TestUniformDistribution looks at range, mean, variance and serial correlation of many draws; each bound is six standard errors.
func TestUniformDistribution(t *testing.T) {
	const n = 200000
	sum, squares, products, previous := 0.0, 0.0, 0.0, 0.0
	for i := range n {
		u := float64(Uniform([4]int32{1, 2, 3, 4}, 5, i))
		if u < 0 || u >= 1 || u*(1<<24) != math.Trunc(u*(1<<24)) {
			t.Fatalf("element %d: %v is no multiple of 2^-24 in [0, 1)", i, u)
		}
		sum += u - 0.5
		squares += (u-0.5)*(u-0.5) - 1.0/12
		products += (u - 0.5) * previous
		previous = u - 0.5
	}
	deviations := []float64{math.Sqrt(1.0 / 12), math.Sqrt(1.0/80 - 1.0/144), 1.0 / 12}
	for i, s := range []float64{sum, squares, products} {
		if z := s / math.Sqrt(n) / deviations[i]; math.Abs(z) > 6 {
			t.Errorf("moment %d is %.1f standard errors off", i, z)
		}
	}
}

// TestUniformDependsOnEverything wants another stream from every part of the counter and from the site.
func TestUniformDependsOnEverything(t *testing.T) {
	base := [4]int32{1, 2, 3, 4}
	same := func(counter [4]int32, site uint32) (n int) {
		for i := range 100 {
			if Uniform(base, 0, i) == Uniform(counter, site, i) {
				n++
			}
		}
		return n
	}
	for k := range base {
		other := base
		other[k]++
		if n := same(other, 0); n > 1 {
			t.Errorf("counter %d: %d of 100 draws are the same", k, n)
		}
	}
	if n := same(base, 1); n > 1 {
		t.Errorf("site: %d of 100 draws are the same", n)
	}
}
