//go:build gpu

package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"prenorm/kernels"
)

// TestManyKindsOfFaults binds more kinds of range checks than a page of the table holds, and wants a bad index of the first and of the last to be
// reported, once.
func TestManyKindsOfFaults(t *testing.T) {
	b := opened(t)
	p := placer{t, b}
	const most = 2*pageFaults + 3
	w := p.view(kernels.Shaped(kernels.F32, most, 1))
	tokens, y := p.view(kernels.Shaped(kernels.I32, 1)), p.view(kernels.Shaped(kernels.F32, 1, 1))
	p.upload(tokens, kernels.HostView([]int32{most}, 1))
	launches := map[int]kernels.Launch{}
	for vocab := 1; vocab <= most; vocab++ {
		w.Shape = []int{vocab, 1}
		launch, err := b.Bind(kernels.Embed{}, kernels.Args{Out: []kernels.View{y}, In: []kernels.View{tokens, w}})
		if err != nil {
			t.Fatal(err)
		}
		launches[vocab] = launch
	}
	for _, vocab := range []int{1, pageFaults, pageFaults + 1, most} {
		if err := launches[vocab](); err != nil {
			t.Fatal(err)
		}
	}
	err := b.Sync()
	for _, vocab := range []int{1, pageFaults, pageFaults + 1, most} {
		if words := fmt.Sprintf("token %d at index 0 is outside [0, %d)", most, vocab); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v does not say %q", err, words)
		}
	}
	if err := b.Sync(); err != nil {
		t.Errorf("reported again: %v", err)
	}
}

// TestFaultsNotFetched wants a fault table that cannot be copied to be an error of every wait, and none from what was fetched before.
func TestFaultsNotFetched(t *testing.T) {
	b := opened(t)
	if !strings.Contains(b.Device(), "Software") {
		t.Skip("a copy from a wild address is the end of a GPU's context")
	}
	if err := b.device.do(func() error { _, err := b.device.faults.word(faultKind{kernel: "embed"}, b.device.compute); return err }); err != nil {
		t.Fatal(err)
	}
	page := &b.device.faults.pages[0]
	table := page.table
	move := func(to cu.DevicePtr) { _ = b.device.do(func() error { page.table = to; return nil }) }
	move(1 << 60)
	for range 2 {
		if err := b.Sync(); err == nil || !strings.Contains(err.Error(), "cuda: cuMemcpyDtoHAsync of 8 bytes of the fault table: ") {
			t.Errorf("error %v", err)
		}
	}
	move(table)
	if err := b.Sync(); err != nil {
		t.Error(err)
	}
}

// TestRemedies wants errors of the driver and of cuBLAS to say what to do.
func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		err   error
		words []string
	}{
		{cu.OutOfMemory, []string{"cuda: cuCtxCreate: OutOfMemory", "how much is free is not known", "nvidia-smi", "CUDA_VISIBLE_DEVICES"}},
		{cu.NoDevice, []string{"cuCtxCreate: NoDevice", "nvidia-smi -L", "CUDA_VISIBLE_DEVICES", "device cpu"}},
		{cu.InvalidDevice, []string{"cuCtxCreate: InvalidDevice", "nvidia-smi -L", "CUDA_VISIBLE_DEVICES", "device cpu"}},
		{cu.NotSupported, []string{"cuCtxCreate: NotSupported", "nvidia-smi", "update", "device cpu"}},
	} {
		err := inOrder([]step{{"cuCtxCreate", func() error { return c.err }}})
		if !errors.Is(err, c.err) {
			t.Errorf("%v is not %v", err, c.err)
		}
		wantWords(t, err, c.words...)
	}
	if err := inOrder([]step{{"cuEventRecord", func() error { return cu.InvalidValue }}}); err.Error() != "cuda: cuEventRecord: InvalidValue" {
		t.Error(err)
	}
}

// TestBLASFails wants a product that cuBLAS refuses to say that there are others.
func TestBLASFails(t *testing.T) {
	needBLAS(t)
	b := openedIn(t, kernels.PrecisionFP32, "cublas")
	b.Multiplies() // opens it
	err := b.device.do(func() error { return b.device.blas.gemm(&request{m: -1, n: 1, k: 1, lda: 1, ldb: 1, ldc: 1}) })
	wantWords(t, err, "cublasGemmEx: status ", "kernels.matmul: own")
}

func wantWords(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %v does not say %q", err, w)
		}
	}
}
