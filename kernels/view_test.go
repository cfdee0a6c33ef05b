package kernels

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestViewSizes(t *testing.T) {
	for _, c := range []struct {
		view             View
		len, bytes, rows int
		text             string
	}{
		{Shaped(F32), 1, 4, 1, "f32[]"},
		{Shaped(F64, 3), 3, 24, 1, "f64[3]"},
		{Shaped(BF16, 2, 3), 6, 12, 2, "bf16[2 3]"},
		{Shaped(I32, 2, 5, 3), 30, 120, 10, "i32[2 5 3]"},
		{Shaped(I8, 0, 3), 0, 0, 0, "i8[0 3]"},
		{Shaped(F32, 3, 0), 0, 0, 1, "f32[3 0]"},
	} {
		v := c.view
		if v.Len() != c.len || v.Bytes() != c.bytes || v.Rows() != c.rows || v.String() != c.text {
			t.Errorf("%v: len %d, bytes %d, rows %d; want %v %d %d %d", v, v.Len(), v.Bytes(), v.Rows(), c.text, c.len, c.bytes, c.rows)
		}
	}
	v := Shaped(F32, 2, 5, 3)
	if v.Dim(0) != 2 || v.Dim(-1) != 3 || v.Dim(-2) != 5 {
		t.Errorf("dimensions of %v: %d %d %d", v, v.Dim(0), v.Dim(-1), v.Dim(-2))
	}
}

// TestHostViewSharesMemory wants a view to be the slice, in its type.
func TestHostViewSharesMemory(t *testing.T) {
	data := []float32{1, 2, 3, 4, 5, 6}
	v := HostView(data, 2, 3)
	v.F32()[4] = 50
	if data[4] != 50 || v.DType != F32 || len(v.Host) != 24 {
		t.Errorf("view %v of %d bytes, data %v", v, len(v.Host), data)
	}
	for _, c := range []struct {
		have View
		want DType
	}{{HostView([]float64{1}), F64}, {HostView([]int32{1}), I32}, {HostView([]int8{1}), I8}, {HostView([]uint16{1}), BF16}} {
		if c.have.DType != c.want || c.have.Len() != 1 {
			t.Errorf("%v, want %v", c.have, c.want)
		}
	}
	if e := HostView([]float64{}, 0, 4); e.Len() != 0 || e.F64() != nil {
		t.Errorf("empty view has elements %v", e.F64())
	}
}

// TestViewMisuse wants a programmer's error to stop the program, with words.
func TestViewMisuse(t *testing.T) {
	for name, f := range map[string]func(){
		"read as":         func() { HostView([]float32{1}).F64() },
		"bytes of memory": func() { Shaped(F32, 2).F32() },
		"does not hold":   func() { HostView([]float32{1, 2}, 3) },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.Contains(s, name) {
					t.Errorf("panic %q, wants one with %q", s, name)
				}
			}()
			f()
		}()
	}
}

func TestHostArena(t *testing.T) {
	for bytes := range 130 {
		a, err := NewHostArena(bytes)
		if err != nil {
			t.Fatal(err)
		}
		all := a.View(0, I8, bytes)
		if a.Bytes() != bytes || slices.ContainsFunc(all.I8(), func(b int8) bool { return b != 0 }) {
			t.Errorf("arena of %d bytes: says %d, holds %v", bytes, a.Bytes(), all.I8())
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(all.Host))); bytes > 0 && at%64 != 0 {
			t.Errorf("arena of %d bytes starts at %x", bytes, at)
		}
	}
	if _, err := NewHostArena(-1); err == nil {
		t.Error("an arena of -1 bytes is accepted")
	}
	a, _ := NewHostArena(24)
	v := a.View(8, F64, 2)
	v.F64()[1] = 3
	if got := a.View(16, F64).F64()[0]; got != 3 || cap(v.Host) != 16 {
		t.Errorf("overlapping views: %v, capacity %d", got, cap(v.Host))
	}
	if err := a.Free(); err != nil {
		t.Error(err)
	}
}

func TestHostCopies(t *testing.T) {
	a, _ := NewHostArena(64)
	v := a.View(4, I32, 3)
	if err := HostUpload(v, []int32{1, -2, 3}); err != nil {
		t.Fatal(err)
	}
	got := make([]int32, 3)
	if err := HostDownload(got, v); err != nil || !slices.Equal(got, []int32{1, -2, 3}) {
		t.Errorf("downloaded %v, %v", got, err)
	}
	for _, bad := range []any{[]int32{1, 2}, []int32{1, 2, 3, 4}, []float32{1, 2, 3}, "text", nil} {
		if HostUpload(v, bad) == nil || HostDownload(bad, v) == nil {
			t.Errorf("a copy of %T %v is accepted", bad, bad)
		}
	}
	if !slices.Equal(v.I32(), []int32{1, -2, 3}) {
		t.Errorf("a refused copy changed the view to %v", v.I32())
	}
}
