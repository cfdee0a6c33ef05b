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

// problem is a product with its operands on the host, as float64, and where they lie on the device.
type problem struct {
	*product
	x, y, bias, residual []float64 // op(A)[m,k], op(B)[k,n], [n], [m,n]
	at                   placer
}

// memory says how a problem lies there: its rows at multiples of some elements, or one element past an aligned address.
type memory struct {
	multiple int
	shifted  bool
}

var (
	pieces   = memory{multiple: 8}                // as kernels that copy 16 bytes want it
	anywhere = memory{multiple: 1, shifted: true} // as views may lie
)

// newProblem makes a random product in device memory. Its call says which of bias, residual and C are added.
func newProblem(t *testing.T, b *Backend, r *rand.Rand, c kernels.MatMul, in, out kernels.DType, m, n, k int, lie memory) *problem {
	t.Helper()
	q := &problem{product: &product{call: c, m: m, n: n, k: k, narrow: in == kernels.BF16, narrowOut: out == kernels.BF16}, at: placer{t, b}}
	q.tf32 = b.precision == kernels.PrecisionTF32 && !q.narrow
	q.x, q.y = normals(r, m*k, in), normals(r, k*n, in)
	q.a, q.lda = q.place(q.x, m, k, c.TransA, in, lie)
	q.b, q.ldb = q.place(q.y, k, n, c.TransB, in, lie)
	q.ldc = n
	if c.Bias {
		q.bias = normals(r, n, kernels.F32)
		q.product.bias, _ = q.place(q.bias, 1, n, false, kernels.F32, memory{1, lie.shifted})
	}
	if c.Residual || c.Accumulate {
		q.residual = normals(r, m*n, kernels.F32)
		q.product.residual, _ = q.place(q.residual, m, n, false, kernels.F32, memory{1, lie.shifted})
	}
	q.c, _ = q.place(make([]float64, m*n), m, n, false, out, memory{1, lie.shifted})
	if c.Accumulate {
		q.c = q.product.residual
	}
	return q
}

// normals are normally distributed numbers that a type can hold.
func normals(r *rand.Rand, n int, dtype kernels.DType) []float64 {
	x := make([]float64, n)
	for i := range x {
		f := float32(r.NormFloat64())
		if dtype == kernels.BF16 {
			f = kernels.FromBF16(kernels.ToBF16(f))
		}
		x[i] = float64(f)
	}
	return x
}

// place copies a matrix to the device, transposed or not, and returns its address and the distance of its rows. What lies between rows is NaN.
func (q *problem) place(x []float64, rows, columns int, trans bool, dtype kernels.DType, lie memory) (uintptr, int) {
	at := func(i, j int) float64 { return x[i*columns+j] }
	if trans {
		rows, columns = columns, rows
		at = func(i, j int) float64 { return x[j*rows+i] }
	}
	ld := ceil(columns, lie.multiple) * lie.multiple
	shift := 0
	if lie.shifted {
		shift = 1
	}
	wide, short := make([]float32, rows*ld+shift), make([]uint16, rows*ld+shift)
	for i := range wide {
		wide[i] = float32(math.NaN())
	}
	for i := range rows {
		for j := range columns {
			wide[shift+i*ld+j] = float32(at(i, j))
		}
	}
	for i, v := range wide {
		short[i] = kernels.ToBF16(v)
	}
	view := q.at.view(kernels.Shaped(dtype, len(wide)))
	var err error
	if dtype == kernels.BF16 {
		err = q.at.be.Upload(view, short)
	} else {
		err = q.at.be.Upload(view, wide)
	}
	if err != nil {
		q.at.t.Fatal(err)
	}
	return view.Dev + uintptr(shift*dtype.Size()), ld
}

// launch runs what a builder adds and returns C.
func (q *problem) launch(add func(b *builder)) []float64 {
	q.at.t.Helper()
	be := q.at.be.(*Backend)
	p := &program{call: q.call}
	b := &builder{device: be.device, precision: be.precision, program: p}
	add(b)
	if b.err != nil {
		q.at.t.Fatal(b.err)
	}
	be.device.jobs <- job{program: p}
	return q.result()
}

// by runs the product by one of our kernels.
func (q *problem) by(w way) []float64 {
	q.at.t.Helper()
	if w.slices > 1 {
		q.sums = q.at.view(kernels.Shaped(kernels.F32, w.slices*q.m*q.n)).Dev
	}
	return q.launch(func(b *builder) { b.own(q.product, w) })
}

func (q *problem) result() []float64 {
	q.at.t.Helper()
	n := q.m * q.n
	wide, short := make([]float32, n), make([]uint16, n)
	var err error
	if q.narrowOut {
		err = q.at.be.Download(short, kernels.View{Shape: []int{n}, DType: kernels.BF16, Dev: q.c})
	} else {
		err = q.at.be.Download(wide, kernels.View{Shape: []int{n}, DType: kernels.F32, Dev: q.c})
	}
	if err != nil {
		q.at.t.Fatal(err)
	}
	all := make([]float64, n)
	for i := range all {
		if all[i] = float64(wide[i]); q.narrowOut {
			all[i] = float64(kernels.FromBF16(short[i]))
		}
	}
	return all
}

// check compares C with the sums in float64 and returns the largest error in units of the bound. A float32 sum of k products is off by at most
// k+3 roundings of 2^-24 of the sum of their sizes, the bias and the residual included; tensor cores may cut off where others round, which
// is twice that. Rounding a factor to tf32 is 2^-11 of each product, storing a bfloat16 2^-8 of the result.
func (q *problem) check(what string, got []float64) (worst float64) {
	q.at.t.Helper()
	for i := range q.m {
		for j := range q.n {
			sum, size := 0.0, 0.0
			add := func(v float64) { sum, size = sum+v, size+math.Abs(v) }
			for l := range q.k {
				add(q.x[i*q.k+l] * q.y[l*q.n+j])
			}
			bound := 0.0
			if q.tf32 {
				bound = 2 * 0x1.01p-11 * size
			}
			if q.bias != nil {
				add(q.bias[j])
			}
			if q.residual != nil {
				add(q.residual[i*q.n+j])
			}
			bound += float64(q.k+3) * 0x1p-23 * size
			if q.narrowOut {
				bound += 0x1p-8 * (math.Abs(sum) + bound)
			}
			off := math.Abs(got[i*q.n+j] - sum)
			if !(off <= bound) {
				q.at.t.Errorf("%s, %d x %d x %d: element [%d, %d] is %g, want %g: off by %g, allowed are %g", what, q.m, q.n, q.k, i, j, got[i*q.n+j], sum, off, bound)
				return math.Inf(1)
			}
			if bound > 0 {
				worst = max(worst, off/bound)
			}
		}
	}
	return worst
}

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

// openedIn is a backend in the precision that a kernel is for.
func openedIn(t *testing.T, precision kernels.Precision, products string) *Backend {
	t.Helper()
	b, err := New(kernels.Options{MatMul: products, Precision: precision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// family is the type of the operands that a kernel is for, and the precision.
func family(name string) (kernels.DType, kernels.Precision) {
	switch {
	case strings.Contains(name, "bf16"):
		return kernels.BF16, kernels.PrecisionBF16
	case strings.Contains(name, "tf32"):
		return kernels.F32, kernels.PrecisionTF32
	}
	return kernels.F32, kernels.PrecisionFP32
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

// TestWay pins which kernel takes which product.
func TestWay(t *testing.T) {
	nn, nt, tn, tt := kernels.MatMul{}, kernels.MatMul{TransB: true}, kernels.MatMul{TransA: true}, kernels.MatMul{TransA: true, TransB: true}
	const base = 1 << 20
	for _, c := range []struct {
		call       kernels.MatMul
		m, n, k    int
		precision  string // of the operands
		a, lda     int    // address beside base, distance of rows; 0 = as k says
		whole      bool
		want       string
		slices     int
		wantVector int
	}{
		{nt, 16384, 768, 768, "fp32", 0, 0, false, "matmul_nt_128", 1, 3},
		{nt, 16384, 768, 768, "tf32", 0, 0, false, "matmul_tf32_nt_128", 1, 3},
		{nt, 16384, 768, 768, "bf16", 0, 0, false, "matmul_bf16_nt_128", 1, 3},
		{nn, 16384, 768, 768, "bf16", 8, 0, false, "matmul_bf16_nn_64", 1, 2},    // not at 16 bytes
		{nn, 16384, 768, 768, "bf16", 0, 772, false, "matmul_bf16_nn_64", 1, 2},  // rows not at 16 bytes
		{nn, 16384, 768, 768, "tf32", 0, 772, false, "matmul_tf32_nn_128", 1, 3}, // four floats are 16 bytes
		{nn, 16384, 768, 768, "fp32", 4, 0, false, "matmul_nn_128", 1, 2},
		{tn, 768, 768, 16384, "bf16", 0, 768, false, "matmul_bf16_tn_128", 5, 3}, // the gradient of a weight
		{tn, 768, 768, 16384, "bf16", 2, 768, false, "matmul_bf16_tn_64", 5, 2},  // alignment does not change the slices
		{tn, 768, 768, 16384, "bf16", 0, 768, true, "matmul_bf16_tn_64", 1, 3},
		{tn, 64, 64, 1 << 17, "fp32", 0, 64, false, "matmul_tn_64", 16, 3},
		{tt, 16384, 768, 768, "bf16", 0, 16384, false, "matmul_bf16_tt_64", 1, 3},
		{nt, 1, 50257, 768, "fp32", 0, 0, false, "matmul_few_1", 1, 3},
		{nt, 3, 768, 768, "tf32", 0, 0, false, "matmul_few_4", 1, 3},
		{nt, 8, 768, 768, "fp32", 4, 0, false, "matmul_few_8", 1, 2},
		{nt, 8, 768, 128, "fp32", 0, 0, true, "matmul_nt_64", 1, 3},
		{nt, 9, 768, 128, "fp32", 0, 0, false, "matmul_nt_64", 1, 3},
		{nn, 8, 768, 128, "fp32", 0, 0, false, "matmul_nn_64", 1, 3},
		{nt, 8, 768, 128, "bf16", 0, 0, false, "matmul_bf16_nt_64", 1, 3},
		{nn, 64, 64, 0, "fp32", 0, 4, false, "matmul_nn_64", 1, 3},
	} {
		p := &product{call: c.call, a: uintptr(base + c.a), b: base, m: c.m, n: c.n, k: c.k, lda: c.lda, ldb: 768, narrow: c.precision == "bf16", tf32: c.precision == "tf32", whole: c.whole}
		if p.lda == 0 {
			p.lda = p.k
		}
		w := p.way()
		if w.name != c.want || w.slices != c.slices || w.vector != c.wantVector {
			t.Errorf("%+v of %d x %d x %d in %s: %s, %d slices, alignment %b; want %s, %d, %b", c.call, c.m, c.n, c.k, c.precision, w.name, w.slices, w.vector, c.want, c.slices, c.wantVector)
		}
		if w.slices > 1 && (w.length%32 != 0 || w.length*w.slices < c.k || w.length*(w.slices-1) >= c.k) {
			t.Errorf("%d slices of %d do not make %d", w.slices, w.length, c.k)
		}
		if w.shared > staticShared {
			t.Errorf("%s wants %d bytes of shared memory: an SM of sm_86 would not hold two blocks", w.name, w.shared)
		}
		if partial := p.partial(); (w.slices > 1) != (partial == w.slices*c.m*c.n) || w.slices == 1 && partial != 0 {
			t.Errorf("%d slices have a workspace of %d floats", w.slices, partial)
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

// exceeds says whether any element is further from its sum than float32 explains.
func (q *problem) exceeds(got []float64) bool {
	for i := range q.m {
		for j := range q.n {
			sum, size := 0.0, 0.0
			for l := range q.k {
				v := q.x[i*q.k+l] * q.y[l*q.n+j]
				sum, size = sum+v, size+math.Abs(v)
			}
			if math.Abs(got[i*q.n+j]-sum) > float64(q.k+3)*0x1p-23*size {
				return true
			}
		}
	}
	return false
}
