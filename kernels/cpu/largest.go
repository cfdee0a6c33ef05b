package cpu

// largestBlock is how many elements are looked at for their maximum before the next: of one block it is found out where that lies.
const largestBlock = 1024

// Largest implements [kernels.Finder].
func (b *Backend) Largest(x []float32) (index int, finite bool) {
	t := b.tier
	if !t.allFinite(x, len(x), 1, len(x)) {
		return 0, false
	}
	top := t.maximum(x[:min(largestBlock, len(x))])
	for i := largestBlock; i < len(x); i += largestBlock {
		if m := t.maximum(x[i:min(i+largestBlock, len(x))]); m > top {
			top, index = m, i
		}
	}
	for x[index] != top {
		index++
	}
	return index, true
}
