package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"prenorm/configs/problem/problemtest"
)

func encode(t *testing.T, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// raw builds a file from a header's text.
func raw(header string, body int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), make([]byte, body)...)
}

func sample() []Tensor {
	return []Tensor{
		New("z", []int{2, 3}, []float32{1, -2, 3.5, 0, float32(math.Inf(1)), 1e-40}),
		New("a \"quoted\" <é>", nil, []float64{math.Pi}),
		New("none", []int{0, 4}, []float32{}),
		New("counts", []int{2}, []int32{-1, math.MaxInt32}),
		New("long", []int{1}, []int64{math.MinInt64}),
		New("bytes", []int{3}, []uint8{1, 2, 255}),
		{Name: "flag", DType: "BOOL", Shape: []int{1}, Data: []byte{1}},
	}
}

func TestExactBytes(t *testing.T) {
	got := encode(t, []Tensor{New("b", []int{2}, []float32{1, -2}), New("a", []int{1, 1}, []int8{-1})}, map[string]string{"y": "2", "x": "1"})
	header := `{"__metadata__":{"x":"1","y":"2"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},` +
		`"a":{"dtype":"I8","shape":[1,1],"data_offsets":[8,9]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	want = append(want, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0xff)
	if !bytes.Equal(got, want) {
		t.Errorf("wrote\n%q, want\n%q", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	tensors, metadata := sample(), map[string]string{"format": "pt", "": "\x00\u2028"}
	data := encode(t, tensors, metadata)
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Metadata, metadata) {
		t.Errorf("metadata %q, want %q", f.Metadata, metadata)
	}
	if len(f.Tensors) != len(tensors) {
		t.Fatalf("%d tensors, want %d", len(f.Tensors), len(tensors))
	}
	for i, want := range tensors {
		got := f.Tensors[i]
		if got.Name != want.Name || got.DType != want.DType || len(got.Shape) != len(want.Shape) || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("tensor %d is %v, want %v", i, got, want)
		}
		if found, ok := f.Tensor(want.Name); !ok || !bytes.Equal(found.Data, want.Data) {
			t.Errorf("Tensor(%q) = %v, %v", want.Name, found, ok)
		}
	}
	if again := encode(t, f.Tensors, f.Metadata); !bytes.Equal(again, data) {
		t.Error("a file written from a read one differs")
	}
	if _, ok := f.Tensor("absent"); ok {
		t.Error("found a tensor that is not there")
	}
}

func TestAccessors(t *testing.T) {
	f, err := Parse(encode(t, sample(), nil))
	if err != nil {
		t.Fatal(err)
	}
	floats, err := f.Tensors[0].F32()
	if want := []float32{1, -2, 3.5, 0, float32(math.Inf(1)), 1e-40}; err != nil || !reflect.DeepEqual(floats, want) {
		t.Errorf("F32 = %v, %v; want %v", floats, err, want)
	}
	before := bytes.Clone(f.Tensors[0].Data)
	floats[0] = 99
	if !bytes.Equal(before, f.Tensors[0].Data) {
		t.Error("F32 is not a copy")
	}
	if doubles, err := f.Tensors[1].F64(); err != nil || doubles[0] != math.Pi {
		t.Errorf("F64 = %v, %v", doubles, err)
	}
	if ints, err := f.Tensors[3].I32(); err != nil || !reflect.DeepEqual(ints, []int32{-1, math.MaxInt32}) {
		t.Errorf("I32 = %v, %v", ints, err)
	}
	if longs, err := f.Tensors[4].I64(); err != nil || longs[0] != math.MinInt64 {
		t.Errorf("I64 = %v, %v", longs, err)
	}
	if _, err := f.Tensors[1].F32(); err == nil || !strings.Contains(err.Error(), "is F64, read as F32") {
		t.Errorf("F64 read as F32: %v", err)
	}
	if err := Copy(make([]float32, 5), f.Tensors[0]); err == nil {
		t.Error("6 elements were copied into 5")
	}
	if _, err := f.Tensors[3].ToF32(); err == nil {
		t.Error("I32 converted to float32")
	}
}

// TestHalf compares every half-precision number with its definition.
func TestHalf(t *testing.T) {
	data := make([]byte, 0, 2<<16)
	for h := range 1 << 16 {
		data = binary.LittleEndian.AppendUint16(data, uint16(h))
	}
	got, err := Tensor{Name: "h", DType: "F16", Shape: []int{1 << 16}, Data: data}.ToF32()
	if err != nil {
		t.Fatal(err)
	}
	brain, err := Tensor{Name: "b", DType: "BF16", Shape: []int{1 << 16}, Data: data}.ToF32()
	if err != nil {
		t.Fatal(err)
	}
	for h, x := range got {
		exponent, fraction := h>>10&31, float64(h&1023)/1024
		var want float64
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -14)
		case exponent < 31:
			want = math.Ldexp(1+fraction, exponent-15)
		case fraction == 0:
			want = math.Inf(1)
		default:
			want = math.NaN()
		}
		if h >= 1<<15 {
			want = math.Copysign(want, -1)
		}
		if float64(x) != want && !(math.IsNaN(want) && math.IsNaN(float64(x))) || math.Signbit(float64(x)) != (h >= 1<<15) {
			t.Fatalf("half %#04x is %v, want %v", h, x, want)
		}
		if math.Float32bits(brain[h]) != uint32(h)<<16 {
			t.Fatalf("bfloat16 %#04x is %v", h, brain[h])
		}
	}
	narrow, err := New("d", []int{3}, []float64{0.1, 1e300, -2}).ToF32()
	if want := []float32{0.1, float32(math.Inf(1)), -2}; err != nil || !reflect.DeepEqual(narrow, want) {
		t.Errorf("F64 to float32 = %v, %v; want %v", narrow, err, want)
	}
}

func TestReverse(t *testing.T) {
	got := make([]byte, 8)
	reverse(got, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 4)
	if want := []byte{4, 3, 2, 1, 8, 7, 6, 5}; !bytes.Equal(got, want) {
		t.Errorf("reverse = %v, want %v", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	one := func(info string) string { return `{"w":` + info + `}` }
	two := func(a, b string) string {
		return `{"a":{"dtype":"U8","shape":[2],"data_offsets":` + a + `},"b":{"dtype":"U8","shape":[2],"data_offsets":` + b + `}}`
	}
	for _, c := range []struct {
		name   string
		header string
		body   int
		want   string
	}{
		{"no brace", ` {}`, 0, "does not start with '{'"},
		{"not JSON", `{"w"`, 0, "not JSON"},
		{"trailing bytes", `{} x`, 0, "after its end"},
		{"not UTF-8", "{\"\xff\":1}", 0, "not UTF-8"},
		{"entry is a number", one(`3`), 0, `tensor "w"`},
		{"unknown dtype", one(`{"dtype":"F31","shape":[],"data_offsets":[0,4]}`), 4, `"F31"`},
		{"unknown key", one(`{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}`), 4, "unknown key"},
		{"no shape", one(`{"dtype":"F32","data_offsets":[0,4]}`), 4, "has no shape"},
		{"key twice", one(`{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}`), 4, "occurs twice"},
		{"null shape", one(`{"dtype":"F32","shape":null,"data_offsets":[0,4]}`), 4, "shape"},
		{"negative dimension", one(`{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}`), 4, "whole number"},
		{"fractional dimension", one(`{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}`), 4, "whole number"},
		{"dimension past int", one(`{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}`), 0, "whole number"},
		{"shape overflows", one(`{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}`), 0, "overflows"},
		{"shape overflows to zero", one(`{"dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,0]}`), 0, "overflows"},
		{"too small", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4]}`), 4, "takes 8 bytes, has 4"},
		{"out of range", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`), 4, "outside the 4 bytes"},
		{"ends before it begins", one(`{"dtype":"F32","shape":[],"data_offsets":[4,0]}`), 4, "outside"},
		{"three offsets", one(`{"dtype":"F32","shape":[],"data_offsets":[0,4,4]}`), 4, "has 3 numbers"},
		{"overlap", two("[0,2]", "[1,3]"), 3, `tensor "b": data_offsets [1, 3] overlap`},
		{"same bytes", two("[0,2]", "[0,2]"), 2, "overlap"},
		{"hole", two("[0,2]", "[3,5]"), 5, "bytes 2 to 3 before it belong to no tensor"},
		{"hole at the start", two("[1,3]", "[3,5]"), 5, "bytes 0 to 1"},
		{"data left over", two("[0,2]", "[2,4]"), 5, "last 1 bytes"},
		{"data without tensors", `{}`, 3, "last 3 bytes"},
		{"name twice", `{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2, `"w" occurs twice`},
		{"metadata is a list", `{"__metadata__":[]}`, 0, "__metadata__"},
		{"metadata is a number", `{"__metadata__":{"a":1}}`, 0, `"a" is not a string`},
		{"metadata twice", `{"__metadata__":{},"__metadata__":{}}`, 0, "occurs twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse(raw(c.header, c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse = %v, %v; want an error with %q", f, err, c.want)
			}
		})
	}
}

func TestParseRefusesLength(t *testing.T) {
	whole := encode(t, sample(), nil)
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
	for _, length := range []uint64{100_000_001, 1 << 63, math.MaxUint64} {
		data := bytes.Clone(whole)
		binary.LittleEndian.PutUint64(data, length)
		if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("header length %d: %v", length, err)
		}
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.safetensors")
	for _, data := range [][]byte{nil, {1, 2}, raw(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), raw(`{`, 0)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want an error with the file's name", data, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(path + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	good := New("w", []int{1}, []float32{1})
	for name, tensors := range map[string][]Tensor{
		"twice":          {good, good},
		"reserved":       {New(metadataKey, []int{1}, []float32{1})},
		"not UTF-8":      {New("\xff", []int{1}, []float32{1})},
		"takes 8 bytes":  {New("w", []int{2}, []float32{1})},
		"negative":       {New("w", []int{-1, -1}, []float32{1})},
		`dtype "F8"`:     {{Name: "w", DType: "F8", Shape: []int{1}, Data: []byte{1}}},
		"overflows":      {New("w", []int{math.MaxInt, 2}, []float32{1})},
		"takes 4 bytes,": {{Name: "w", DType: "F32"}},
	} {
		var buf bytes.Buffer
		err := Write(&buf, append([]Tensor{New("first", nil, []float32{1})}, tensors...), nil)
		if err == nil || !strings.Contains(err.Error(), name) || buf.Len() > 0 {
			t.Errorf("wrote %d bytes, error %v; want nothing written and an error with %q", buf.Len(), err, name)
		}
	}
	if err := Write(&bytes.Buffer{}, nil, map[string]string{"a": "\xff"}); err == nil {
		t.Error("metadata that is not UTF-8 was written")
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteReportsFailure(t *testing.T) {
	for after := range 3 {
		err := Write(&failing{after}, []Tensor{New("a", nil, []int32{1}), New("b", nil, []int32{1})}, nil)
		want := []string{"header: disk full", `tensor "a": disk full`, `tensor "b": disk full`}[after]
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("failure after %d writes: %v, want %q", after, err, want)
		}
	}
}

// FuzzParse checks that whatever is accepted can be written and read again, and that its data add up to the file's.
func FuzzParse(f *testing.F) {
	var buf bytes.Buffer
	if err := Write(&buf, sample(), map[string]string{"k": "v"}); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add(raw(`{}`, 0))
	f.Add(raw(`{"w":{"dtype":"F16","shape":[2,0],"data_offsets":[0,0]}}  `, 0))
	f.Add(raw(`{"\ud800":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}`, 8))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		problemtest.Bounded(t, len(data), 400, func() { file, err = Parse(data) })
		if err != nil {
			problemtest.Says(t, err, "safetensors: ")
			return
		}
		sum := 0
		for _, tensor := range file.Tensors {
			sum += len(tensor.Data)
			if _, err := tensor.ToF32(); err != nil && strings.Contains("F16 BF16 F32 F64", tensor.DType) {
				t.Error(err)
			}
		}
		if size := binary.LittleEndian.Uint64(data); sum != len(data)-8-int(size) {
			t.Errorf("tensors hold %d of %d bytes", sum, len(data)-8-int(size))
		}
		var out bytes.Buffer
		if err := Write(&out, file.Tensors, file.Metadata); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Tensors, file.Tensors) {
			t.Errorf("read %v, wrote and read %v", file.Tensors, again.Tensors)
		}
	})
}
