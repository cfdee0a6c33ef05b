//go:build peers

// Command peers times matrix products of this package beside those of an OpenBLAS library, in turns in one process:
//
//	go run -tags peers ./kernels/cpu/peers -openblas LIBRARY [-what products|attention] [-threads 1,2] [-seconds S]
//
// It needs cgo and a C compiler, to open the library. Each shape is measured in turns of one product each; the figures are medians, and the
// ratio is the median over turns of OpenBLAS's time by ours. With one thread times are the thread's own, which other programs disturb little; with more
// they are those of the clock, and want a machine with nothing else to do. The peak is that of multiply-adds in registers.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef void (*gemm_t)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*threads_t)(int);
typedef char *(*config_t)(void);

static void *lib;
static gemm_t gemm;
static threads_t threads;
static config_t config;

static void *find(const char *plain, const char *prefixed) {
	void *p = dlsym(lib, plain);
	return p ? p : dlsym(lib, prefixed);
}

static const char *load(const char *path) {
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) return dlerror();
	gemm = (gemm_t)find("cblas_sgemm", "scipy_cblas_sgemm");
	threads = (threads_t)find("openblas_set_num_threads", "scipy_openblas_set_num_threads");
	config = (config_t)find("openblas_get_config", "scipy_openblas_get_config");
	return gemm && threads && config ? NULL : "it has no cblas_sgemm and openblas_set_num_threads";
}

static double thread_seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void set_threads(int n) { threads(n); }
static void *gemm_address(void) { return gemm; }
static const char *describe(void) { return config(); }
static void multiply(int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c) {
	gemm(101, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1.f, a, lda, b, ldb, 0.f, c, n);
}
*/
import "C"

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
)

// shape is a product of training: C[m,n] of k terms.
type shape struct {
	where   string
	m, n, k int
	call    kernels.MatMul
}

var (
	forward = kernels.MatMul{TransB: true}
	dx      = kernels.MatMul{}
	dw      = kernels.MatMul{TransA: true}
)

// linear are the three products of a linear layer from in to out features over rows.
func linear(where string, rows, in, out int) []shape {
	return []shape{{where + " forward", rows, out, in, forward}, {where + " dx", rows, in, out, dx}, {where + " dw", out, in, rows, dw}}
}

func shapes() []shape {
	return slices.Concat(
		linear("width 384, qkv", 2048, 384, 1152), linear("width 384, out", 2048, 384, 384), linear("width 384, up", 2048, 384, 1536),
		linear("width 384, down", 2048, 1536, 384),
		linear("width 768, qkv", 1024, 768, 2304), linear("width 768, out", 1024, 768, 768), linear("width 768, up", 1024, 768, 3072),
		linear("width 768, down", 1024, 3072, 768), linear("width 768, B*T=256, up", 256, 768, 3072),
		linear("head of 50257", 256, 768, 50257), linear("head of 8192", 1024, 384, 8192),
	)
}

func main() {
	library := flag.String("openblas", "", "the library")
	threads := flag.String("threads", "1,2", "numbers of threads")
	seconds := flag.Float64("seconds", 1, "for each shape")
	only := flag.String("only", "", "shapes whose names hold this")
	what := flag.String("what", "products", "products or attention")
	flag.Parse()
	measure, known := map[string]func(n int, only string, seconds float64) error{"products": compare, "attention": compareAttention}[*what]
	if !known {
		fmt.Fprintf(os.Stderr, "peers: -what %s: wants products or attention\n", *what)
		os.Exit(2)
	}
	if err := run(*library, *threads, *only, *seconds, measure); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(library, threads, only string, seconds float64, measure func(n int, only string, seconds float64) error) error {
	path := C.CString(library)
	defer C.free(unsafe.Pointer(path))
	if says := C.load(path); says != nil {
		return fmt.Errorf("-openblas %s: %s", library, C.GoString(says))
	}
	fmt.Printf("peer: %s\n", strings.TrimSpace(C.GoString(C.describe())))
	for _, word := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-threads %s: wants numbers from 1 on", threads)
		}
		if err := measure(n, only, seconds); err != nil {
			return err
		}
	}
	return nil
}

// begin prepares a comparison with n threads each. With one, times are the thread's own.
func begin(n int) (be *cpu.Backend, peak float64, end func()) {
	be = cpu.New(n)
	now = wall
	unlock := func() {}
	if n == 1 {
		runtime.LockOSThread()
		unlock = runtime.UnlockOSThread
		now = func() float64 { return float64(C.thread_seconds()) }
	}
	setThreads(n)
	return be, be.PeakFLOPs(), func() {
		unlock()
		_ = be.Close()
	}
}

func setThreads(n int) { C.set_threads(C.int(n)) }

// sgemm is the library's function.
func sgemm() unsafe.Pointer { return C.gemm_address() }

// compare measures every shape with n threads each.
func compare(n int, only string, seconds float64) error {
	be, peak, end := begin(n)
	defer end()
	fmt.Printf("\n%d threads, peak %.1f GFLOP/s\n%-28s %22s %9s %9s %7s %8s\n", n, peak/1e9, "product", "m x n x k", "GFLOP/s", "OpenBLAS", "ratio", "of peak")
	var ratios, shares, theirs []float64
	for _, s := range shapes() {
		if !strings.Contains(s.where, only) {
			continue
		}
		own, other, ratio, err := s.measure(be, n, seconds)
		if err != nil {
			return err
		}
		flops := 2 * float64(s.m) * float64(s.n) * float64(s.k)
		ratios, shares, theirs = append(ratios, ratio), append(shares, flops/own/peak), append(theirs, flops/other/peak)
		fmt.Printf("%-28s %22s %9.1f %9.1f %7.2f %7.1f%%\n", s.where, fmt.Sprintf("%d x %d x %d", s.m, s.n, s.k), flops/own/1e9, flops/other/1e9, ratio, 100*flops/own/peak)
	}
	fmt.Printf("geometric means: %.3f times OpenBLAS (worst %.2f), %.3f of peak; OpenBLAS %.3f\n", mean(ratios), slices.Min(ratios), mean(shares), mean(theirs))
	return nil
}

// measure returns the median seconds of our product and of theirs, and the median of their time by ours.
func (s shape) measure(be *cpu.Backend, threads int, seconds float64) (own, other, ratio float64, err error) {
	a, b, c, d := random(s.m*s.k), random(s.k*s.n), make([]float32, s.m*s.n), make([]float32, s.m*s.n)
	av, bv := kernels.HostView(a, s.m, s.k), kernels.HostView(b, s.k, s.n)
	lda, ldb, ta, tb := s.k, s.n, 0, 0
	if s.call.TransA {
		av.Shape, lda, ta = []int{s.k, s.m}, s.m, 1
	}
	if s.call.TransB {
		bv.Shape, ldb, tb = []int{s.n, s.k}, s.k, 1
	}
	launch, err := bind(be, s.call, kernels.Args{Out: []kernels.View{kernels.HostView(c, s.m, s.n)}, In: []kernels.View{av, bv}})
	if err != nil {
		return 0, 0, 0, err
	}
	peer := func() error {
		C.multiply(C.int(ta), C.int(tb), C.int(s.m), C.int(s.n), C.int(s.k), (*C.float)(&a[0]), C.int(lda), (*C.float)(&b[0]), C.int(ldb), (*C.float)(&d[0]))
		return nil
	}
	if own, other, ratio, err = inTurns(threads, seconds, launch, peer); err != nil {
		return 0, 0, 0, err
	}
	for i := range c { // both computed the same product
		if diff := math.Abs(float64(c[i] - d[i])); diff > 1e-4*math.Sqrt(float64(s.k)) {
			return 0, 0, 0, fmt.Errorf("%s: element %d is %g, OpenBLAS has %g", s.where, i, c[i], d[i])
		}
	}
	return own, other, ratio, nil
}

// random are n numbers around 0.
func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32() - 0.5
	}
	return x
}

// bind gives a call its workspace.
func bind(be *cpu.Backend, c kernels.Call, a kernels.Args) (kernels.Launch, error) {
	work, err := be.Workspace(c, a)
	if err != nil {
		return nil, err
	}
	a.Work = kernels.HostView(make([]int8, work), work)
	return be.Bind(c, a)
}

// inTurns returns the median seconds of ours and of theirs, and the median of their time by ours.
func inTurns(threads int, seconds float64, ours, theirs kernels.Launch) (own, other, ratio float64, err error) {
	var x, y, q []float64
	for began := time.Now(); len(x) < 5 || time.Since(began).Seconds() < seconds; {
		if threads > 1 {
			time.Sleep(rest)
		}
		u, err := timed(ours)
		if err != nil {
			return 0, 0, 0, err
		}
		v, err := timed(theirs)
		if err != nil {
			return 0, 0, 0, err
		}
		x, y, q = append(x, u), append(y, v), append(q, v/u)
	}
	return median(x), median(y), median(q), nil
}

// OpenBLAS's threads keep cores busy for some 100 ms after a product: rest is how long they are given to fall asleep. Sleeping threads, ours too, may
// take milliseconds to wake on a virtual machine: warm is how long products are made before one is timed.
const rest, warm = 300 * time.Millisecond, 30 * time.Millisecond

// timed is the median time of three calls, after others that bring the operands near and the threads awake.
func timed(f kernels.Launch) (float64, error) {
	for began := time.Now(); time.Since(began) < warm; {
		if err := f(); err != nil {
			return 0, err
		}
	}
	var times []float64
	for range 3 {
		began := now()
		if err := f(); err != nil {
			return 0, err
		}
		times = append(times, now()-began)
	}
	return median(times), nil
}

// now is the clock.
var now = wall

func wall() float64 { return time.Since(start).Seconds() }

var start = time.Now()

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// mean is the geometric mean.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}
