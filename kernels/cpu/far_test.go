package cpu

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"prenorm/kernels"
)

// nearWrites are the functions that write nothing past the caches, on any tier: what they write is read again at once, or is none.
var nearWrites = []string{"sums", "addSums", "rmsGradRow", "layerGradRow", "addTo", "adamw", "narrow", "widen", "allFinite", "maximum", "expSum", "slopes"}

// watched is a tier that counts its fences, and knows whether something was written past the caches since the last one.
type watched struct {
	tier
	fences, writes int
	open           bool
}

func watch(level *tier) *watched {
	w := &watched{tier: *level}
	far := *level.far
	far.curves = map[string]curve{}
	noted := func(f reflect.Value) {
		run := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
			w.writes++
			w.open = true
			return run.Call(in)
		}))
	}
	for name, f := range functions(&far) {
		if !slices.Contains(nearWrites, name) {
			noted(f)
		}
	}
	for kind, c := range level.far.curves {
		fields := reflect.ValueOf(&c).Elem()
		for i := range fields.NumField() {
			noted(reflect.NewAt(fields.Field(i).Type(), fields.Field(i).Addr().UnsafePointer()).Elem())
		}
		far.curves[kind] = c
	}
	w.far = &far
	w.fence = func() {
		w.fences++
		w.open = false
		level.fence()
	}
	return w
}

// TestFences wants every call that writes past the caches to have fenced it all when it is done.
func TestFences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := append(problems(r), problem{kernels.Fill{Value: 2}, []kernels.View{floats(r, 300, 64)}, 1})
	for _, level := range vectorTiers() {
		w := watch(level)
		b := newBackend(1, &w.tier)
		b.farBytes = 0
		far := map[string]bool{}
		for _, p := range all {
			w.fences, w.writes, w.open = 0, 0, false
			if _, err := launch(b, p.call, p.in); err != nil {
				t.Fatal(err)
			}
			if w.writes > 0 {
				far[p.call.Kernel()] = true
			}
			if w.open || (w.fences > 0) != (w.writes > 0) {
				t.Errorf("%s, %s: %d fences after %d writes past the caches, writes after the last of them: %v", level.name, p.call.Kernel(), w.fences, w.writes, w.open)
			}
		}
		if len(far) < 22 {
			t.Errorf("%s: only %d kernels write past the caches: %v", level.name, len(far), far)
		}
		_ = b.Close()
	}
}

// TestFenced wants one fence after each task, and none where what is written stays near.
func TestFenced(t *testing.T) {
	for _, level := range vectorTiers() {
		w := watch(level)
		b := newBackend(1, &w.tier)
		x, y := make([]float32, 64), make([]float32, 64)
		for _, v := range []*vectors{b.tier.far, &b.tier.vectors} {
			w.fences = 0
			b.pool.run(b.fenced(v, newLoop(5, 1, func(task int) {
				if w.open || v == b.tier.far && w.fences != task {
					t.Errorf("%s: task %d begins after %d fences, unfenced writes before it: %v", level.name, task, w.fences, w.open)
				}
				v.move(y, x)
			})))
			if want := map[bool]int{true: 5}[v == b.tier.far]; w.fences != want || w.open {
				t.Errorf("%s: %d fences of 5 tasks, want %d", level.name, w.fences, want)
			}
		}
		_ = b.Close()
	}
}
