package exec

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// drawn are buffers of random sizes and lifetimes.
func drawn(r *rand.Rand, n int) []*buffer {
	list := make([]*buffer, n)
	for i := range list {
		start := r.IntN(n)
		list[i] = &buffer{bytes: r.IntN(5) * (1 + r.IntN(200)), start: start, end: start + r.IntN(1+r.IntN(n))}
	}
	return list
}

// placeTryingAll is place that makes every try: what it does is what place says of itself.
func placeTryingAll(buffers []*buffer) int {
	steps := func(b *buffer) int { return b.bytes * (b.end - b.start + 1) }
	best := placement{top: -1}
	for _, before := range []func(a, b *buffer) bool{
		func(a, b *buffer) bool { return a.bytes > b.bytes },
		func(a, b *buffer) bool { return steps(a) > steps(b) },
		func(a, b *buffer) bool { return a.start < b.start || a.start == b.start && a.bytes > b.bytes },
	} {
		order := slices.Clone(buffers)
		sort.SliceStable(order, func(i, j int) bool { return before(order[i], order[j]) })
		for range mendings {
			top := placeInOrder(order)
			best.keep(top, buffers)
			highest := slices.IndexFunc(order, func(b *buffer) bool { return align(b.offset+b.bytes) == top })
			if highest <= 0 {
				break
			}
			order = slices.Concat(order[highest:highest+1], order[:highest], order[highest+1:])
		}
	}
	return best.take(buffers)
}

// TestPlaceLeavesOutNothingBetter wants the offsets of a search that makes every try, of programs with few and with many buffers at a time.
func TestPlaceLeavesOutNothingBetter(t *testing.T) {
	r, early := rand.New(rand.NewPCG(1, 2)), 0
	offsets := func(list []*buffer) (all []int) {
		for _, b := range list {
			all = append(all, b.offset)
		}
		return all
	}
	for i := range 1000 {
		list := drawn(r, i%100)
		want := placeTryingAll(list)
		wanted := offsets(list)
		for _, b := range list {
			b.offset = -1
		}
		if got := place(list); got != want || !slices.Equal(offsets(list), wanted) {
			t.Fatalf("%d buffers: %d bytes, wants %d; offsets %v, wants %v", len(list), got, want, offsets(list), wanted)
		}
		if least := mostAlive(list); want < least {
			t.Fatalf("%d bytes hold %d that live at one time", want, least)
		} else if want == least {
			early++
		}
	}
	if early < 100 || early > 990 {
		t.Errorf("%d of 1000 come to what lives at one time: too few or too many to show anything", early)
	}
}

// TestPlaceEndsAtTheLeast wants no try after one that cannot be bettered: tries take time that grows with the square of a model's depth.
func TestPlaceEndsAtTheLeast(t *testing.T) {
	const layers = 200
	var list []*buffer // an activation of each layer, from its forward to its backward pass, and what a layer needs for itself
	for i := range layers {
		list = append(list, &buffer{bytes: 256, start: i, end: 2*layers - i}, &buffer{bytes: 64, start: i, end: i})
	}
	if got, want := place(list), mostAlive(list); got != want {
		t.Fatalf("%d bytes, wants %d", got, want)
	}
	one := testing.AllocsPerRun(3, func() { placeInOrder(list) })
	if all := testing.AllocsPerRun(3, func() { place(list) }); all > 30+one {
		t.Errorf("%v allocations, where one try takes %v", all, one)
	}
}
