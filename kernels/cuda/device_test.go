//go:build gpu

package cuda

import (
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"prenorm/kernels"
)

// asChild is the variable that makes this test program do one thing and end, see TestMain.
const asChild = "PRENORM_CUDA_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(asChild) {
	case "open":
		_, err := kernels.Open("cuda", kernels.Options{})
		fmt.Println(err)
	case "blas":
		bindProduct()
	case "describe":
		describe()
	default:
		if where := os.Getenv(mutated); where != "" {
			mutate(where)
		}
		os.Exit(m.Run())
	}
}

// child runs this test program again with other variables.
func child(t *testing.T, variables ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDigest$", "-test.v")
	cmd.Env = append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", variables, err, out)
	}
	return string(out)
}

// TestStartsAnywhere wants the program to start without a driver, and opening the backend to say what is missing.
func TestStartsAnywhere(t *testing.T) {
	self, err := elf.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	libraries, err := self.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range libraries {
		if strings.HasPrefix(l, "libcu") {
			t.Errorf("the program asks for %s when it starts", l)
		}
	}
	out := child(t, asChild+"=open", "PRENORM_LIBCUDA=/nowhere/libcuda.so.1")
	for _, words := range []string{"no NVIDIA driver", "/nowhere/libcuda.so.1", "PRENORM_LIBCUDA"} {
		if !strings.Contains(out, words) {
			t.Errorf("without a driver: %q does not say %q", out, words)
		}
	}
}

// TestNoDevice wants a driver that finds no GPU to be told apart from no driver.
func TestNoDevice(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("only the software driver can be told to have no device")
	}
	if out := child(t, asChild+"=open", "EMU_NODEVICE=1"); !strings.Contains(out, "no usable GPU: cuInit returns error 100 (nvidia-smi -L") || !strings.Contains(out, "CUDA_VISIBLE_DEVICES") {
		t.Errorf("without a device: %q", out)
	}
}

// TestDigest prints a hash of results that are sums over many threads. It is run by TestOrderOfBlocks.
func TestDigest(t *testing.T) {
	b := opened(t)
	r := rand.New(rand.NewPCG(13, 14))
	const n, width, vocab = 200, 48, 90
	x, dy, gain, w := random(r, n, width), random(r, n, width), random(r, width), random(r, vocab, width)
	tokens := below(r, n, vocab)
	var results []kernels.View
	add := func(c kernels.Call, in ...kernels.View) { results = append(results, run(t, b, c, nil, in...)...) }
	add(kernels.SumRows{}, x)
	add(kernels.RMSNormGrad{Eps: 1e-5}, x, gain, dy)
	add(kernels.LayerNormGrad{Eps: 1e-5}, x, gain, gain, dy)
	add(kernels.EmbedGrad{Vocab: vocab}, tokens, dy)
	add(kernels.LinearCrossEntropyGrad{}, x, w, tokens, scalar(n), kernels.HostView([]float32{1}))
	add(kernels.GlobalNorm{}, random(r, 50000))
	c := kernels.Attention{Heads: 3, KVHeads: 1, HeadDim: 16, T: 100, Scale: 0.25}
	kv := random(r, n, 16)
	y := run(t, b, c, nil, x, kv, kv)[0]
	add(kernels.AttentionGrad(c), x, kv, kv, y, dy)
	results = append(results, flashResults(t, b, r)...)
	t.Logf("digest %x", digest(results))
}

// TestOrderOfBlocks wants the same bits in whatever order the device runs blocks and warps.
func TestOrderOfBlocks(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("only the software driver can be told the order")
	}
	line := func(seed int) string {
		out := child(t, fmt.Sprint("EMU_FUZZ=", seed), "EMU_THREADS=2")
		_, rest, ok := strings.Cut(out, "digest ")
		if !ok {
			t.Fatal(out)
		}
		return strings.Fields(rest)[0]
	}
	for seed := 1; seed <= 3; seed++ {
		if a, b := line(0), line(seed); a != b {
			t.Errorf("order %d gives the digest %s, order 0 gives %s", seed, b, a)
		}
	}
}

// TestOutOfMemory wants bytes wanted, bytes free and the remedy.
func TestOutOfMemory(t *testing.T) {
	b := opened(t)
	_, err := b.NewArena(1 << 50)
	if err == nil {
		t.Fatal("a petabyte is granted")
	}
	for _, words := range []string{"out of memory", fmt.Sprint(1<<50, " bytes wanted"), "bytes free of", "0 bytes taken before", "train.batch ", "train.accumulate", "model.context", "--set precision=bf16"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
	if b.Allocated() != 0 {
		t.Errorf("%d bytes are counted", b.Allocated())
	}
}

// TestAllocated wants arenas to take what was asked for, to the byte.
func TestAllocated(t *testing.T) {
	b := opened(t)
	first, err := b.NewArena(1001)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.NewArena(7)
	if err != nil || b.Allocated() != 1008 {
		t.Fatalf("%d bytes, %v", b.Allocated(), err)
	}
	for range 2 { // freeing twice is freeing once
		if err := first.Free(); err != nil || b.Allocated() != 7 {
			t.Fatalf("%d bytes, %v", b.Allocated(), err)
		}
	}
	if err := second.Free(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeCopies moves more than the staging buffers hold, and wants an upload to come before a launch behind it and after one before it.
func TestLargeCopies(t *testing.T) {
	b := opened(t)
	const n = 3*stagingBytes/4 + 5
	p := placer{t, b}
	x, y, z := p.view(kernels.Shaped(kernels.F32, n)), p.view(kernels.Shaped(kernels.F32, n)), p.view(kernels.Shaped(kernels.F32, n))
	first, err := b.Bind(kernels.Scale{Factor: 2}, kernels.Args{Out: []kernels.View{y}, In: []kernels.View{x}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Bind(kernels.Scale{Factor: 4}, kernels.Args{Out: []kernels.View{z}, In: []kernels.View{x}})
	if err != nil {
		t.Fatal(err)
	}
	host := make([]float32, n)
	for i := range host {
		host[i] = float32(i)
	}
	for _, step := range []func() error{
		func() error { return b.Upload(x, host) }, first,
		func() error { slices.Reverse(host); return b.Upload(x, host) }, second,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	clear(host)
	for factor, v := range map[int]kernels.View{2: y, 4: z} {
		if err := b.Download(host, v); err != nil {
			t.Fatal(err)
		}
		for i, got := range host {
			if want := float32(factor * map[int]int{2: i, 4: n - 1 - i}[factor]); got != want {
				t.Fatalf("factor %d, element %d: %g, want %g", factor, i, got, want)
			}
		}
	}
}

// TestBadIndexIsReportedOnce wants the first bad index of a launch at the next wait, its words those of the reference, and nothing after.
func TestBadIndexIsReportedOnce(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	tokens, w, y := p.view(kernels.Shaped(kernels.I32, 4)), p.view(kernels.Shaped(kernels.F32, 5, 2)), p.view(kernels.Shaped(kernels.F32, 4, 2))
	launch, err := b.Bind(kernels.Embed{}, kernels.Args{Out: []kernels.View{y}, In: []kernels.View{tokens, w}})
	if err != nil {
		t.Fatal(err)
	}
	p.upload(tokens, kernels.HostView([]int32{0, -3, 9, 1}, 4))
	if err := launch(); err != nil {
		t.Fatal("the launch itself fails: ", err)
	}
	if err := b.Download(make([]float32, 8), y); err == nil || err.Error() != "embed: token -3 at index 1 is outside [0, 5)" {
		t.Errorf("error %v", err)
	}
	p.upload(tokens, kernels.HostView([]int32{0, 3, 4, 1}, 4))
	for range 2 {
		if err := launch(); err != nil {
			t.Fatal(err)
		}
		if err := b.Sync(); err != nil {
			t.Errorf("good tokens: %v", err)
		}
	}
}

// TestGoroutines uses the backend from several goroutines, as training and prefetching do.
func TestGoroutines(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	var all sync.WaitGroup
	for g := range 4 {
		x := p.view(kernels.Shaped(kernels.F32, 100))
		launch, err := b.Bind(kernels.Scale{Factor: 2}, kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x}})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			host := make([]float32, 100)
			for i := range host {
				host[i] = float32(g)
			}
			for range 5 {
				if err := b.Upload(x, host); err != nil {
					t.Error(err)
				}
				_ = launch()
				got := make([]float32, 100)
				if err := b.Download(got, x); err != nil || got[99] != float32(2*g) {
					t.Errorf("%v, %v", got[99], err)
				}
			}
		})
	}
	all.Wait()
}

// TestRefusals pins the words of what Bind refuses beyond shapes.
func TestRefusals(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	f := func(shape ...int) kernels.View { return p.view(kernels.Shaped(kernels.F32, shape...)) }
	views := func(v ...kernels.View) []kernels.View { return v }
	x, out := f(2, 3), f(2, 3)
	wide := p.view(kernels.Shaped(kernels.F64, 2, 3))
	odd := x
	odd.Dev += 2
	large := kernels.Attention{Heads: 1, KVHeads: 1, HeadDim: 257, T: 1}
	for _, c := range []struct {
		call kernels.Call
		args kernels.Args
		want string
	}{
		{kernels.Add{}, kernels.Args{Out: views(wide), In: views(wide, wide)}, "computes in f32 and bf16 only"},
		{&kernels.Add{}, kernels.Args{Out: views(out), In: views(x, x)}, "as *kernels.Add"},
		{nil, kernels.Args{}, "no call"},
		{kernels.SumRows{}, kernels.Args{Out: views(f(3)), In: views(x)}, "ask Workspace"},
		{kernels.Add{}, kernels.Args{Out: views(kernels.Shaped(kernels.F32, 2, 3)), In: views(x, x)}, "has no device memory"},
		{kernels.Add{}, kernels.Args{Out: views(out), In: views(odd, x)}, "not aligned"},
		{kernels.AddBias{}, kernels.Args{Out: views(x), In: views(x, f(3))}, "shares memory with input 0"},
		{kernels.Activation{Kind: "relu"}, kernels.Args{Out: views(out), In: views(x)}, "have gelu_tanh, silu"},
		{kernels.Softcap{}, kernels.Args{Out: views(out), In: views(x)}, "above 0"},
		{kernels.Fill{Value: 0.5}, kernels.Args{Out: views(p.view(kernels.Shaped(kernels.I32, 2))), In: views(p.view(kernels.Shaped(kernels.I32, 2)))}, "cannot hold 0.5"},
		{large, kernels.Args{Out: views(f(1, 257)), In: views(f(1, 257), f(1, 257), f(1, 257))}, "head dimension of 257"},
	} {
		if _, err := b.Bind(c.call, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want one with %q", c.call, err, c.want)
		}
	}
}

// TestClosed wants a backend that is closed to say so, and to free what is left.
func TestClosed(t *testing.T) {
	needDevice(t)
	b, err := New(kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.NewArena(8)
	if err != nil {
		t.Fatal(err)
	}
	x := a.View(0, kernels.F32, 2)
	launch, err := b.Bind(kernels.Fill{}, kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if launch() != errClosed || b.Sync() != errClosed || b.Upload(x, []float32{1, 2}) != errClosed {
		t.Error("a closed backend takes work")
	}
	if err := a.Free(); err != nil {
		t.Error(err)
	}
}

// TestTime wants the events around launches to measure something, and the error of what is timed.
func TestTime(t *testing.T) {
	b := opened(t)
	x := placer{t, b}.view(kernels.Shaped(kernels.F32, 1<<16))
	launch, err := b.Bind(kernels.Fill{Value: 1}, kernels.Args{Out: []kernels.View{x}, In: []kernels.View{x}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := b.Time(launch); err != nil || !(s > 0 && s < 60) {
		t.Errorf("%g seconds, %v", s, err)
	}
	if _, err := b.Time(func() error { return errClosed }); err == nil {
		t.Error("the error of what is timed is lost")
	}
}

// TestFaultIsBlamed wants a fault of the device to name the kernel, the call and the views; with PRENORM_CUDA_SYNC=1, that of the right launch.
func TestFaultIsBlamed(t *testing.T) {
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("a fault is the end of a GPU's context, and may disturb others that use it")
	}
	for _, wait := range []string{"", "1"} {
		t.Setenv("PRENORM_CUDA_SYNC", wait)
		b, err := New(kernels.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.NewArena(400)
		if err != nil {
			t.Fatal(err)
		}
		good, wild := a.View(0, kernels.F32, 100), a.View(4096, kernels.F32, 100)
		scale, err := b.Bind(kernels.Scale{Factor: 3}, kernels.Args{Out: []kernels.View{wild}, In: []kernels.View{wild}})
		if err != nil {
			t.Fatal(err)
		}
		fill, err := b.Bind(kernels.Fill{}, kernels.Args{Out: []kernels.View{good}, In: []kernels.View{good}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(scale(), fill()); err != nil {
			t.Fatal("a launch does more than enqueue: ", err)
		}
		words := []string{"IllegalAddress", "kernel fill_4 of fill", "f32[100]", "or a launch before it"}
		if wait != "" {
			words = []string{"IllegalAddress", "kernel scale_f of scale", "Factor:3", "f32[100]"}
		}
		err = b.Sync()
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("PRENORM_CUDA_SYNC=%q: error %v does not say %q", wait, err, w)
			}
		}
		_ = b.Close() // the context is lost
	}
}
