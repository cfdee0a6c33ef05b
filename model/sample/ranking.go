package sample

import "slices"

// candidate is an id with its logit.
type candidate struct {
	z  float64
	id int32
}

// before is the order of the ranking: larger logit first, then lower id.
func (a candidate) before(b candidate) bool { return a.z > b.z || a.z == b.z && a.id < b.id }

func order(a, b candidate) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// ranking orders candidates as far as it is asked to: a heap sort that stops, of no more candidates than can be asked for.
type ranking struct {
	all   []candidate // a heap, and behind it the candidates already taken out, the first one last
	taken int
}

// reset starts the ranking of the first k of logits, without allocating where there were as many before. It drops a candidate that does
// not beat the k-th of some that came earlier: while there are 2k, they are sorted and cut to k.
func (r *ranking) reset(z []float64, k int) {
	if cap(r.all) < len(z) {
		r.all = make([]candidate, len(z))
	}
	all, bar := r.all[:0], candidate{}
	for id, v := range z {
		c := candidate{v, int32(id)}
		if id >= 2*k && !c.before(bar) {
			continue
		}
		all = append(all, c)
		if len(all) == 2*k {
			slices.SortFunc(all, order)
			all, bar = all[:k], all[k-1]
		}
	}
	for i := len(all)/2 - 1; i >= 0; i-- {
		sink(all, i)
	}
	r.all, r.taken = all, 0
}

// at returns candidate i of the ranking, counted from 0; i is below the k of reset.
func (r *ranking) at(i int) candidate {
	for r.taken <= i {
		last := len(r.all) - 1 - r.taken
		r.all[0], r.all[last] = r.all[last], r.all[0]
		r.taken++
		sink(r.all[:last], 0)
	}
	return r.all[len(r.all)-1-i]
}

// sink moves element i of a heap down to its place.
func sink(heap []candidate, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
