package batch

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// order lists a permutation.
func order(n, seed, epoch int64) []int64 {
	p := newPermutation(n, seed, epoch)
	list := make([]int64, n)
	for i := range list {
		list[i] = p.at(int64(i))
	}
	return list
}

func TestPermutationIsOne(t *testing.T) {
	sizes := []int64{1000, 1023, 1024, 1025, 4097, 65535, 65536, 65537}
	for n := int64(1); n <= 300; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for _, seed := range []int64{0, -1, 1337, math.MinInt64} {
			seen := make([]bool, n)
			for _, w := range order(n, seed, n%5) {
				if w < 0 || w >= n || seen[w] {
					t.Fatalf("n %d, seed %d: window %d is outside or comes twice", n, seed, w)
				}
				seen[w] = true
			}
		}
	}
}

// TestPermutationOfHugeSizes inverts nothing, but looks for repeats among many places of sizes that cannot be listed.
func TestPermutationOfHugeSizes(t *testing.T) {
	for _, n := range []int64{1<<40 + 1, 1 << 50, math.MaxInt64} {
		p := newPermutation(n, 1, 2)
		seen := map[int64]bool{}
		for i := range int64(10_000) {
			w := p.at(n - 1 - i)
			if w < 0 || w >= n || seen[w] {
				t.Fatalf("n %d: window %d is outside or comes twice", n, w)
			}
			seen[w] = true
		}
	}
}

// TestPermutationStays holds the orders to those of earlier versions: a run that is continued depends on them.
func TestPermutationStays(t *testing.T) {
	if got := fmt.Sprint(order(10, 1337, 0), order(10, 1337, 1), order(1000, -5, 77)[:6]); got != knownOrders {
		t.Errorf("the orders have changed: %s", got)
	}
}

const knownOrders = "[2 7 8 0 5 6 9 4 1 3] [0 5 9 1 3 8 6 7 4 2] [738 16 831 765 401 35]"

func TestPermutationDiffers(t *testing.T) {
	base := order(1000, 7, 3)
	for _, other := range [][]int64{order(1000, 7, 4), order(1000, 8, 3), order(1000, 3, 7), order(1000, -7, 3), order(1000, 7, 3+1<<32)} {
		same := 0
		for i := range base {
			if base[i] == other[i] {
				same++
			}
		}
		if same > 8 { // 1 expected, Poisson
			t.Errorf("%d of 1000 places agree", same)
		}
	}
}

// TestPermutationOfSmallSizes counts every permutation of few windows over many epochs. The bound is the chi-square distribution's mean
// plus six standard deviations.
func TestPermutationOfSmallSizes(t *testing.T) {
	for n, all := range map[int64]int{2: 2, 3: 6, 4: 24, 5: 120} {
		const per = 100
		counts := map[string]int{}
		for epoch := range int64(all * per) {
			counts[fmt.Sprint(order(n, 42, epoch))]++
		}
		chi := float64((all - len(counts)) * per)
		for _, c := range counts {
			chi += float64((c-per)*(c-per)) / per
		}
		free := float64(all - 1)
		if chi > free+6*math.Sqrt(2*free) {
			t.Errorf("n %d: chi-square %.1f with %v degrees of freedom, %d of %d permutations seen", n, chi, free, len(counts), all)
		}
	}
}

// TestPermutationMixes looks at one large order for structure that a shuffle has not.
func TestPermutationMixes(t *testing.T) {
	for _, n := range []int64{4096, 5000, 60_000} {
		list := order(n, 99, 1)
		neighbours, run, longest := 0, 1, 1
		var product float64
		buckets := make([]int, 64) // eighth of the place times eighth of the window
		middle := float64(n-1) / 2
		for i, w := range list {
			buckets[int64(i)*8/n*8+w*8/n]++
			product += (float64(i) - middle) * (float64(w) - middle)
			if i == 0 {
				continue
			}
			if d := w - list[i-1]; d == 1 || d == -1 {
				neighbours++
			}
			if run++; w < list[i-1] {
				run = 1
			}
			longest = max(longest, run)
		}
		if neighbours > 12 { // 2 expected, Poisson
			t.Errorf("n %d: %d neighbours stay neighbours", n, neighbours)
		}
		if longest > 12 { // one in 12! starts such a run
			t.Errorf("n %d: a rising run of %d", n, longest)
		}
		if r := product / (float64(n) * float64(n*n-1) / 12); math.Abs(r) > 5/math.Sqrt(float64(n)) {
			t.Errorf("n %d: correlation %.3f of place and window", n, r)
		}
		var chi float64
		for _, c := range buckets {
			want := float64(n) / 64
			chi += (float64(c) - want) * (float64(c) - want) / want
		}
		if chi > 49+6*math.Sqrt(98) {
			t.Errorf("n %d: chi-square %.1f with 49 degrees of freedom", n, chi)
		}
	}
}

// TestPermutationOfNextEpoch looks at how a window's places in two epochs go together.
func TestPermutationOfNextEpoch(t *testing.T) {
	const n = 4096
	a, b := order(n, 5, 0), order(n, 5, 1)
	var product float64
	for i := range a {
		product += (float64(a[i]) - n/2) * (float64(b[i]) - n/2)
	}
	if r := product / (n * float64(n*n) / 12); math.Abs(r) > 5/math.Sqrt(n) {
		t.Errorf("correlation %.3f of two epochs", r)
	}
	if slices.Equal(a, b) {
		t.Error("two epochs have one order")
	}
}
