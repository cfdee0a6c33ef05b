//go:build gpu

package cuda

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// productKernels lists the kernels of our products, in the order of their files.
func productKernels() (all []string) {
	for _, m := range []*module{matmuls, matmulsBF16, matmulsTF32} {
		for _, found := range regexp.MustCompile(`\.visible \.entry (matmul_\w+)`).FindAllStringSubmatch(m.ptx, -1) {
			if found[1] != "matmul_finish" {
				all = append(all, found[1])
			}
		}
	}
	return all
}

// wayOf is the kernel of a name, made to take a problem in a number of slices.
func wayOf(q *problem, name string, slices int) way {
	w := q.way()
	w.name, w.module, w.block, w.shared = name, matmuls, 256, 0
	w.slices, w.length = slices, max(32, ceil(ceil(q.k, slices), 32)*32)
	if _, err := fmt.Sscanf(name[strings.LastIndexByte(name, '_')+1:], "%d", &w.tile); err != nil {
		panic(err)
	}
	switch {
	case strings.Contains(name, "few"):
		w.tile = 0
	case strings.Contains(name, "bf16"), strings.Contains(name, "tf32"):
		w.block, w.shared = 128, stages*stageBytes*w.tile
		w.module = matmulsBF16
		if strings.Contains(name, "tf32") {
			w.module = matmulsTF32
		}
	}
	return w
}

// TestProducts takes every kernel at sizes beside its tile, with and without what it may add to its sums, in slices and not, aligned and not.
func TestProducts(t *testing.T) {
	opened(t)
	for _, name := range productKernels() {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "few") {
				testFew(t, name)
			} else {
				testTiles(t, name)
			}
		})
	}
}

func testTiles(t *testing.T, name string) {
	in, precision := family(name)
	b := openedIn(t, precision, "own")
	r := rand.New(rand.NewPCG(21, 22))
	parts := strings.Split(name, "_")
	mode, tile := parts[len(parts)-2], 64
	if parts[len(parts)-1] == "128" {
		tile = 128
	}
	worst := 0.0
	for i, s := range [][4]int{ // and slices
		{tile, tile, 96, 1}, {tile, tile, 96, 2}, {1, 1, 1, 1}, {tile + 1, tile - 1, 31, 1}, {tile - 3, 2*tile + 8, 40, 1}, {9 * tile, 8, 16, 1},
		{5, tile + 4, 100, 3}, {tile + 8, 24, 72, 2}, {16, 16, 0, 1}, {33, 60, 129, 1},
	} {
		c := kernels.MatMul{TransA: mode[0] == 't', TransB: mode[1] == 't', Bias: i%3 == 0, Residual: i%4 == 1, Accumulate: i%4 == 2}
		out := kernels.F32
		if in == kernels.BF16 && !c.Accumulate && i%2 == 0 {
			out = kernels.BF16
		}
		for _, lie := range []memory{pieces, anywhere} {
			if lie == anywhere && tile == 128 && precision != kernels.PrecisionFP32 {
				continue // these kernels take aligned operands only
			}
			q := newProblem(t, b, r, c, in, out, s[0], s[1], s[2], lie)
			worst = max(worst, q.check(fmt.Sprintf("%s %+v %v", name, c, lie), q.by(wayOf(q, name, s[3]))))
		}
	}
	t.Logf("the largest error is %.2g of its bound", worst)
}

func testFew(t *testing.T, name string) {
	b := openedIn(t, kernels.PrecisionFP32, "own")
	r := rand.New(rand.NewPCG(23, 24))
	var rows int
	if _, err := fmt.Sscanf(name, "matmul_few_%d", &rows); err != nil {
		t.Fatal(err)
	}
	for i, s := range [][3]int{{rows, 9, 260}, {1, 1, 1}, {max(1, rows-1), 130, 31}, {rows, 5, 128}, {rows, 3, 0}, {rows, 64, 1000}} {
		c := kernels.MatMul{TransB: true, Bias: i%3 == 0, Residual: i%4 == 1, Accumulate: i%4 == 2}
		for _, lie := range []memory{pieces, anywhere} {
			q := newProblem(t, b, r, c, kernels.F32, kernels.F32, s[0], s[1], s[2], lie)
			q.check(fmt.Sprintf("%s %+v %v", name, c, lie), q.by(wayOf(q, name, 1)))
		}
	}
}

// TestTilesGiveTheSameBits wants a product's elements not to depend on the tile, which the size of a batch may change, nor on alignment.
func TestTilesGiveTheSameBits(t *testing.T) {
	opened(t)
	for _, kind := range []string{"matmul", "matmul_bf16", "matmul_tf32"} {
		in, precision := family(kind)
		b := openedIn(t, precision, "own")
		var first []float64
		for _, name := range []string{kind + "_nn_128", kind + "_nn_64", kind + "_nn_64"} {
			lie := pieces
			if first != nil {
				lie = anywhere
			}
			q := newProblem(t, b, rand.New(rand.NewPCG(3, 4)), kernels.MatMul{Residual: true}, in, kernels.F32, 130, 90, 200, lie)
			got := q.by(wayOf(q, name, 2))
			if first == nil {
				first = got
			} else if !slices.Equal(got, first) {
				t.Errorf("%s %v gives other bits than the large tile", name, lie)
			}
		}
	}
}

// TestFewRowsGiveTheSameBits wants a row's results not to depend on how many rows there are, as a batch of texts that are sampled may shrink.
func TestFewRowsGiveTheSameBits(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(25, 26))
	w, x := random(r, 77, 260), random(r, 8, 260)
	all := run(t, b, kernels.MatMul{TransB: true}, nil, x, w)[0].F32()
	for _, rows := range []int{1, 2, 5} {
		few := run(t, b, kernels.MatMul{TransB: true}, nil, kernels.HostView(x.F32()[:rows*260], rows, 260), w)[0].F32()
		if !slices.Equal(few, all[:len(few)]) {
			t.Errorf("%d rows are not those of eight", rows)
		}
	}
}

// TestSlices takes a product in slices through the backend, workspace and all.
func TestSlices(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(27, 28))
	c := kernels.MatMul{TransA: true, Bias: true, Residual: true}
	x, y := random(r, 1100, 37), random(r, 1100, 68)
	if w := productOf(c, kernels.Args{In: []kernels.View{x, y, random(r, 68), random(r, 37, 68)}, Out: []kernels.View{random(r, 37, 68)}}).way(); w.slices != 4 {
		t.Fatalf("%d slices", w.slices)
	}
	sameAsReference(t, b, 2e-6, c, x, y, random(r, 68), random(r, 37, 68))
}

// TestProductDigest prints a hash of products in slices. It is run by TestProductOrder.
func TestProductDigest(t *testing.T) {
	opened(t)
	h := fnv.New64a()
	for _, name := range []string{"matmul_tn_64", "matmul_bf16_tn_128", "matmul_tf32_nt_64"} {
		in, precision := family(name)
		b := openedIn(t, precision, "own")
		c := kernels.MatMul{TransA: strings.Contains(name, "tn"), TransB: strings.Contains(name, "nt"), Bias: true, Accumulate: true}
		q := newProblem(t, b, rand.New(rand.NewPCG(29, 30)), c, in, kernels.F32, 150, 70, 330, pieces)
		fmt.Fprint(h, q.by(wayOf(q, name, 4)))
	}
	t.Logf("digest %x", h.Sum64())
}

// TestProductOrder wants products in slices to have the same bits in whatever order the device runs blocks and warps.
func TestProductOrder(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("only the software driver can be told the order")
	}
	digest := func(seed int) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProductDigest$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprint("EMU_FUZZ=", seed), "EMU_THREADS=2")
		out, err := cmd.CombinedOutput()
		_, rest, ok := strings.Cut(string(out), "digest ")
		if err != nil || !ok {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Fields(rest)[0]
	}
	first := digest(0)
	for seed := 1; seed <= 3; seed++ {
		if d := digest(seed); d != first {
			t.Errorf("order %d gives the digest %s, order 0 gives %s", seed, d, first)
		}
	}
}

// TestPrecisionOfProducts wants tf32 to round factors where it was asked for, and nowhere else, with our products and with cuBLAS's.
func TestPrecisionOfProducts(t *testing.T) {
	opened(t)
	for _, products := range []string{"own", "auto"} {
		if products == "auto" {
			needBLAS(t)
		}
		for _, precision := range kernels.Precisions() {
			b := openedIn(t, precision, products)
			q := newProblem(t, b, rand.New(rand.NewPCG(31, 32)), kernels.MatMul{}, kernels.F32, kernels.F32, 70, 50, 96, pieces)
			got := q.launch(func(b *builder) { b.multiply(q.product) })
			q.check(string(precision)+" "+products, got)
			if q.tf32 != (precision == kernels.PrecisionTF32) {
				t.Errorf("%s: products in tf32: %v", precision, q.tf32)
			}
			if over := q.exceeds(got); over != q.tf32 {
				t.Errorf("%s, %s: errors beyond those of float32: %v", precision, products, over)
			}
		}
	}
}

// TestNoNumbers wants a NaN or an infinity of a factor to reach the elements that it counts for, and no others, whatever the factor is rounded
// to.
func TestNoNumbers(t *testing.T) {
	opened(t)
	for _, name := range []string{"matmul_nt_64", "matmul_bf16_nt_128", "matmul_tf32_nt_128", "matmul_tf32_nt_64"} {
		in, precision := family(name)
		q := newProblem(t, openedIn(t, precision, "own"), rand.New(rand.NewPCG(37, 38)), kernels.MatMul{TransB: true}, in, kernels.F32, 40, 24, 70, pieces)
		for row, v := range map[int]float64{3: math.NaN(), 21: math.Inf(1)} {
			q.x[row*q.k+66] = v
		}
		q.a, q.lda = q.place(q.x, q.m, q.k, false, in, pieces)
		for e, v := range q.by(wayOf(q, name, 1)) {
			switch row := e / q.n; {
			case row == 3 && !math.IsNaN(v), row == 21 && !math.IsInf(v, 0), row != 3 && row != 21 && (math.IsNaN(v) || math.IsInf(v, 0)):
				t.Errorf("%s: element [%d, %d] is %g", name, row, e%q.n, v)
			}
		}
	}
}
