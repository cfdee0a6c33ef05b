package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prenorm/kernels"
)

// TestVectorExp: every tier's exponential over the range where results are normal numbers, every 1/512, and at its ends.
func TestVectorExp(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	ends := []float32{-inf, -1000, -87.4, 0, 88.8, 1000, inf, nan}
	want := []float32{0, 0, 0, 1, inf, inf, inf, nan}
	for _, level := range tiers() {
		var x []float32
		for v := -86.8; v <= 88.7; v += 1. / 512 {
			x = append(x, float32(v*1.0001))
		}
		y := make([]float32, len(x))
		level.expSum(y, x, 0)
		worst, at := 0.0, float32(0)
		for i, v := range x {
			if v > 88.72 || v < -86.9 {
				continue
			}
			if e := math.Abs(float64(y[i])/math.Exp(float64(v)) - 1); !(e <= worst) {
				worst, at = e, v
			}
		}
		t.Logf("%s: relative error at most %.3g, at %g", level.name, worst, at)
		if limit := map[bool]float64{true: 1.2e-7, false: 1e-7}[level == portable]; !(worst <= limit) {
			t.Errorf("%s: relative error %.3g at %g, allowed %.3g", level.name, worst, at, limit)
		}
		got := make([]float32, len(ends))
		level.expSum(got, ends, 0)
		for i, w := range want {
			if got[i] != w && !(got[i] != got[i] && w != w) {
				t.Errorf("%s: exp(%g) = %g, want %g", level.name, ends[i], got[i], w)
			}
		}
	}
}

// TestCurves: values and slopes of activations against float64, also where squares and cubes overflow, and where x is not finite.
func TestCurves(t *testing.T) {
	exact := map[string]func(x float64) (y, d float64){
		"gelu_tanh": func(x float64) (y, d float64) {
			const c = 2 * 0.7978845608028654 // 2 sqrt(2/π): 0.5 (1 + tanh u) = sigmoid(2u)
			s := 1 / (1 + math.Exp(-c*x*(1+0.044715*x*x)))
			if math.Abs(x) > 100 {
				return x * s, s
			}
			return x * s, s + x*s*(1-s)*c*(1+3*0.044715*x*x)
		},
		"silu": func(x float64) (y, d float64) {
			s := 1 / (1 + math.Exp(-x))
			return x * s, s + x*s*(1-s)
		},
	}
	x := []float32{-3e38, -1e25, -1e19, -1000, -101, -99, -90, 0, 90, 1000, 1e25, 3e38, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for v := float32(-20); v < 20; v += 0.01 {
		x = append(x, v)
	}
	n := len(x)
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	for _, level := range tiers() {
		for kind, f := range level.curves {
			y, d, gated, grad, y2 := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			f.value(y, x)
			f.grad(d, x, ones)
			f.gate(gated, x, ones)
			f.gateGrad(grad, y2, x, ones, ones)
			for i, v := range x {
				if v-v != 0 {
					if d[i]-d[i] == 0 || grad[i]-grad[i] == 0 {
						t.Errorf("%s %s: the slope at %g is %g", level.name, kind, v, d[i])
					}
					continue
				}
				wantY, wantD := exact[kind](float64(v))
				near := func(got float32, want float64) bool { // an exponential is as good as its argument
					a := math.Abs(float64(v))
					return math.Abs(float64(got)-want) <= 1.5e-7*(3+min(1.6*a+0.08*a*a*a, 90))*math.Abs(want)+1e-36
				}
				if !near(y[i], wantY) || !near(gated[i], wantY) || !near(y2[i], wantY) {
					t.Fatalf("%s %s(%g) = %g, %g with a gate, %g in its gradient, want %g", level.name, kind, v, y[i], gated[i], y2[i], wantY)
				}
				if math.Abs(float64(d[i])-wantD) > 1e-6 || math.Abs(float64(grad[i])-wantD) > 1e-6 {
					t.Fatalf("%s %s'(%g) = %g, %g with a gate, want %g", level.name, kind, v, d[i], grad[i], wantD)
				}
			}
		}
	}
}

// call runs function f, a func of slices and numbers, on noise: slices of n floats, six times that for three rotated heads, that begin off floats after
// a cache line. It returns all slices as they are afterwards, and the results.
func call(t *testing.T, name string, f reflect.Value, n, off int) []any {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	var in []reflect.Value
	var guards [][]float32
	var out []any
	for i := range f.Type().NumIn() {
		switch p := f.Type().In(i); {
		case p.Kind() == reflect.Slice:
			size := n
			if strings.HasSuffix(name, "rotate") && i >= 2 {
				size = 6 * n
			}
			all, x := guarded(size + off)
			x = x[off:]
			copy(x, random(r, size))
			if p == reflect.TypeFor[[]uint16]() {
				halves := words16(x)[:n]
				narrowGo(halves, random(r, n))
				guards, out, in = append(guards, all), append(out, halves), append(in, reflect.ValueOf(halves))
				continue
			}
			if strings.HasSuffix(name, "adamw") && i == 5 {
				for j := range x {
					x[j] *= x[j]
				}
			}
			guards, out, in = append(guards, all), append(out, x), append(in, reflect.ValueOf(x))
		case p.Kind() == reflect.Uint32:
			in = append(in, reflect.ValueOf(uint32(1<<32-3))) // blocks start again from 0 soon
		case p == reflect.TypeFor[*draw]():
			d := newDraw(kernels.Dropout{Rate: 0.4, Site: 1 << 31}, []int32{-1, 2, -3, 4})
			in = append(in, reflect.ValueOf(&d))
		case p.Kind() == reflect.Int:
			in = append(in, reflect.ValueOf([]int{0, n, 1, n}[i]))
		default:
			in = append(in, reflect.ValueOf(0.25+r.Float32()))
		}
	}
	for _, v := range f.Call(in) {
		out = append(out, v.Interface())
	}
	for _, g := range guards {
		unharmed(t, fmt.Sprintf("%s of %d", name, n), g)
	}
	return out
}

// functions are all functions of a tier by name.
func functions(v *vectors) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	collect := func(prefix string, s reflect.Value) {
		for i := range s.NumField() {
			if f := s.Field(i); f.Kind() == reflect.Func {
				all[prefix+s.Type().Field(i).Name] = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
			}
		}
	}
	collect("", reflect.ValueOf(v).Elem())
	for kind, c := range v.curves {
		collect(kind+".", reflect.ValueOf(&c).Elem())
	}
	return all
}

// TestVectorFunctions runs every function of every tier on lengths from 1 on: vector tiers must agree in every bit, wherever slices lie and
// whether they are taken to be beyond caches, be near portable Go, and leave what lies around their slices.
func TestVectorFunctions(t *testing.T) {
	portable := functions(&portableVectors)
	if len(portable) < 20 {
		t.Fatalf("only %d functions found", len(portable))
	}
	for n := 1; n < 140; n++ {
		for name, f := range portable {
			want := call(t, name, f, n, 0)
			var first []any
			for _, level := range vectorVariants() {
				got := call(t, level.name+" "+name, functions(level.vectors)[name], n, level.off)
				for i := range got {
					if d := distance(got[i], want[i]); !(d <= 2e-6*math.Sqrt(float64(n))) {
						t.Fatalf("%s: %s of %d: slice or result %d is off by %g: %v, portable %v", level.name, name, n, i, d, got[i], want[i])
					}
				}
				if first == nil {
					first = got
				} else if !reflect.DeepEqual(got, first) {
					t.Fatalf("%s of %d differs between vector tiers", name, n)
				}
			}
		}
	}
}

// variant is a set of functions, and how far behind a cache line their slices begin.
type variant struct {
	name    string
	vectors *vectors
	off     int
}

func vectorVariants() (all []variant) {
	for _, t := range vectorTiers() {
		all = append(all, variant{t.name, &t.vectors, 0}, variant{t.name + " off a line", &t.vectors, 1},
			variant{t.name + " far", t.far, 0}, variant{t.name + " far off a line", t.far, 1})
	}
	return all
}

// distance is the largest difference of two slices or numbers.
func distance(a, b any) float64 {
	switch a := a.(type) {
	case []float32:
		d := 0.0
		for i, v := range b.([]float32) {
			d = max(d, math.Abs(float64(a[i]-v))/max(1, math.Abs(float64(v))))
		}
		return d
	case []uint16:
		if slices.Equal(a, b.([]uint16)) {
			return 0
		}
		return math.Inf(1)
	case float32:
		return math.Abs(float64(a-b.(float32))) / max(1, math.Abs(float64(a)))
	case float64:
		return math.Abs(a-b.(float64)) / max(1, math.Abs(a))
	}
	if a != b {
		return math.Inf(1)
	}
	return 0
}

// TestAllFinite puts one element that is not finite at every place.
func TestAllFinite(t *testing.T) {
	for _, level := range tiers() {
		for cols := 1; cols < 40; cols++ {
			const rows = 3
			ld := cols + 2
			x := make([]float32, rows*ld)
			for i := range x { // between rows nothing is finite
				if x[i] = math.MaxFloat32; i%ld >= cols {
					x[i] = float32(math.NaN())
				}
			}
			if !level.allFinite(x, ld, rows, cols) {
				t.Fatalf("%s: %d columns: finite numbers are not found to be", level.name, cols)
			}
			for i := range x {
				if i%ld >= cols {
					continue
				}
				was := x[i]
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					x[i] = float32(bad)
					if level.allFinite(x, ld, rows, cols) {
						t.Fatalf("%s: %d columns: %g at %d is passed over", level.name, cols, bad, i)
					}
				}
				x[i] = was
			}
		}
	}
}

// TestMaximum puts the largest element at every place; the others may be below 0.
func TestMaximum(t *testing.T) {
	for _, level := range tiers() {
		for n := 1; n < 70; n++ {
			for at := range n {
				x := make([]float32, n)
				for i := range x {
					x[i] = -10
				}
				x[at] = -3
				if got := level.maximum(x); got != -3 {
					t.Fatalf("%s: maximum of %d, the largest at %d, is %g", level.name, n, at, got)
				}
			}
		}
	}
}
