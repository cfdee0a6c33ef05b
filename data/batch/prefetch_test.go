package batch

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestPrefetchHandsOutTheSame(t *testing.T) {
	src := count(100)
	want := newLoader(t, src, 3, 7, 5)
	for _, depth := range []int{-1, 0, 1, 2, 7} {
		p := Prefetch(newLoader(t, src, 3, 7, 5), depth)
		if err := want.Seek(Cursor{}); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			if p.Cursor() != want.Cursor() {
				t.Fatalf("depth %d, batch %d: cursor %+v, want %+v", depth, i, p.Cursor(), want.Cursor())
			}
			if a, b := next(t, p, 1), next(t, want, 1); !slices.EqualFunc(a, b, equal) {
				t.Fatalf("depth %d: batch %d differs", depth, i)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPrefetchSeekAndClose(t *testing.T) {
	src := count(100)
	l := newLoader(t, src, 3, 7, 5)
	p := Prefetch(l, 4)
	first := next(t, p, 5)
	if err := p.Seek(Cursor{Epoch: 0, Window: 999}); err == nil {
		t.Error("a place outside the epoch was accepted")
	}
	after := next(t, p, 1) // goes on as if nothing had been asked
	if err := p.Seek(Cursor{}); err != nil {
		t.Fatal(err)
	}
	if again := next(t, p, 6); !slices.EqualFunc(again, append(first, after...), equal) {
		t.Error("other batches follow a seek")
	}
	at := p.Cursor()
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if l.Cursor() != at || p.Cursor() != at {
		t.Errorf("closed at %+v, loader at %+v, prefetcher at %+v", at, l.Cursor(), p.Cursor())
	}
	if err := p.Next(&Batch{}); !errors.Is(err, errClosed) {
		t.Errorf("next after close: %v", err)
	}
	if err := p.Seek(Cursor{}); !errors.Is(err, errClosed) {
		t.Errorf("seek after close: %v", err)
	}
}

// TestPrefetchBatchesAreTheCallers holds on to batches while others are prepared.
func TestPrefetchBatchesAreTheCallers(t *testing.T) {
	p := Prefetch(newLoader(t, count(100), 2, 7, 5), 2)
	defer p.Close()
	var b Batch
	if err := p.Next(&b); err != nil {
		t.Fatal(err)
	}
	held := clone(b)
	next(t, p, 20)
	if !equal(b, held) {
		t.Error("a batch changed after it was handed out")
	}
}

func TestPrefetchLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		p := Prefetch(newLoader(t, count(100), 2, 7, 5), 3)
		next(t, p, 1)
		if err := p.Seek(Cursor{}); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	// A goroutine that is done counts until the scheduler has put it away.
	for tries := 0; runtime.NumGoroutine() > before; tries++ {
		if tries == 60_000 { // a busy machine may take long for that
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}
