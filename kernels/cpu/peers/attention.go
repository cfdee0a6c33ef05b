//go:build peers

package main

/*
typedef void (*gemm_t)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { rows = 101, plain = 111, turned = 112 };

// forward is s = q kT and y = s v of one head whose rows are ld apart.
static void forward(void *f, int t, int d, int ld, const float *q, const float *k, const float *v, float *y, float *s) {
	gemm_t gemm = (gemm_t)f;
	gemm(rows, plain, turned, t, t, d, 1.f, q, ld, k, ld, 0.f, s, t);
	gemm(rows, plain, plain, t, d, t, 1.f, s, t, v, ld, 0.f, y, ld);
}

// backward is s = q kT, ds = dy vT, dq = ds k, dv = sT dy and dk = dsT q of one head.
static void backward(void *f, int t, int d, int ld, const float *q, const float *k, const float *v, const float *dy, float *dq, float *dk, float *dv, float *s, float *ds) {
	gemm_t gemm = (gemm_t)f;
	gemm(rows, plain, turned, t, t, d, 1.f, q, ld, k, ld, 0.f, s, t);
	gemm(rows, plain, turned, t, t, d, 1.f, dy, ld, v, ld, 0.f, ds, t);
	gemm(rows, plain, plain, t, d, t, 1.f, ds, t, k, ld, 0.f, dq, ld);
	gemm(rows, turned, plain, t, d, t, 1.f, s, t, dy, ld, 0.f, dv, ld);
	gemm(rows, turned, plain, t, d, t, 1.f, ds, t, q, ld, 0.f, dk, ld);
}
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
)

// attentionRows are the rows of all sequences together.
const attentionRows, attentionHeads = 2048, 8

// heads is attention over sequences of T rows and heads of D elements.
type heads struct {
	t, d        int
	q, k, v, dy []float32
	y           []float32    // of ours
	out         [4][]float32 // of theirs: y, dq, dk, dv
	s           [][]float32  // [T, T] twice, for each thread of theirs
}

// compareAttention measures causal attention, with its softmax and what comes back of it, beside the products alone of every head in full,
// and nothing for softmax: two forward and five backward. Both are counted with the products' operations. Theirs are the better of each product on all
// threads, and of each thread on heads of its own.
func compareAttention(n int, only string, seconds float64) error {
	be, peak, end := begin(n)
	defer end()
	fmt.Printf("\n%d threads, peak %.1f GFLOP/s\n%-28s %9s %9s %7s %8s\n", n, peak/1e9, "attention", "GFLOP/s", "OpenBLAS", "ratio", "of peak")
	var ratios, shares []float64
	for _, t := range []int{64, 256, 1024} {
		for _, d := range []int{32, 64, 128} {
			h := newHeads(t, d, n)
			for _, backward := range []bool{false, true} {
				name, flops := fmt.Sprintf("T %d, D %d, forward", t, d), 4*float64(attentionRows*attentionHeads)*float64(t*d)
				if backward {
					name, flops = fmt.Sprintf("T %d, D %d, backward", t, d), 2.5*flops
				}
				if !strings.Contains(name, only) {
					continue
				}
				own, other, ratio, err := h.measure(be, n, backward, seconds)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				ratios, shares = append(ratios, ratio), append(shares, flops/own/peak)
				fmt.Printf("%-28s %9.1f %9.1f %7.2f %7.1f%%\n", name, flops/own/1e9, flops/other/1e9, ratio, 100*flops/own/peak)
			}
		}
	}
	if len(ratios) > 0 {
		fmt.Printf("geometric means: %.3f times OpenBLAS (worst %.2f), %.3f of peak\n", mean(ratios), slices.Min(ratios), mean(shares))
	}
	return nil
}

func newHeads(t, d, threads int) *heads {
	size := attentionRows * attentionHeads * d
	h := &heads{t: t, d: d, q: random(size), k: random(size), v: random(size), dy: random(size), y: make([]float32, size)}
	for i := range h.out {
		h.out[i] = make([]float32, size)
	}
	for range threads {
		h.s = append(h.s, make([]float32, 2*t*t))
	}
	return h
}

// measure times ours beside the better of theirs.
func (h *heads) measure(be *cpu.Backend, threads int, backward bool, seconds float64) (own, other, ratio float64, err error) {
	launch, err := h.ours(be, backward)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, byHead := range []bool{false, true} {
		if byHead && threads == 1 {
			break
		}
		each := threads
		if byHead {
			each = 1
		}
		setThreads(each)
		u, v, q, err := inTurns(threads, seconds, launch, func() error { h.theirs(threads/each, backward); return nil })
		if err != nil {
			return 0, 0, 0, err
		}
		if other == 0 || v < other {
			own, other, ratio = u, v, q
		}
	}
	setThreads(threads)
	return own, other, ratio, nil
}

// ours binds the call.
func (h *heads) ours(be *cpu.Backend, backward bool) (kernels.Launch, error) {
	view := func(x []float32) kernels.View { return kernels.HostView(x, attentionRows, attentionHeads*h.d) }
	lse := kernels.HostView(make([]float32, attentionRows*attentionHeads), attentionRows, attentionHeads)
	c := kernels.Attention{Heads: attentionHeads, KVHeads: attentionHeads, HeadDim: h.d, T: h.t, Scale: 1 / math.Sqrt(float64(h.d))}
	a := kernels.Args{Out: []kernels.View{view(h.y)}, In: []kernels.View{view(h.q), view(h.k), view(h.v)}, Aux: []kernels.View{lse}}
	launch, err := bind(be, c, a)
	if err != nil || !backward {
		return launch, err
	}
	if err := launch(); err != nil { // y and its statistics
		return nil, err
	}
	size := len(h.q)
	dx := func() kernels.View { return view(make([]float32, size)) }
	return bind(be, kernels.AttentionGrad(c), kernels.Args{Out: []kernels.View{dx(), dx(), dx()},
		In: append(slices.Clone(a.In), a.Out[0], view(h.dy)), Saved: []kernels.View{lse}})
}

// theirs multiplies head by head, each of so many threads its share of them.
func (h *heads) theirs(threads int, backward bool) {
	all := attentionRows / h.t * attentionHeads
	part := func(thread int) {
		for i := thread * all / threads; i < (thread+1)*all/threads; i++ {
			h.theirHead(i, h.s[thread], backward)
		}
	}
	var done sync.WaitGroup
	for thread := 1; thread < threads; thread++ {
		done.Go(func() { part(thread) })
	}
	part(0)
	done.Wait()
}

func (h *heads) theirHead(i int, s []float32, backward bool) {
	ld := attentionHeads * h.d
	at := i/attentionHeads*h.t*ld + i%attentionHeads*h.d
	p := func(x []float32) *C.float { return (*C.float)(&x[at]) }
	t, d, own, second := C.int(h.t), C.int(h.d), (*C.float)(&s[0]), (*C.float)(&s[h.t*h.t])
	if backward {
		C.backward(sgemm(), t, d, C.int(ld), p(h.q), p(h.k), p(h.v), p(h.dy), p(h.out[1]), p(h.out[2]), p(h.out[3]), own, second)
		return
	}
	C.forward(sgemm(), t, d, C.int(ld), p(h.q), p(h.k), p(h.v), p(h.out[0]), own)
}
