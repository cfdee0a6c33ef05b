//go:build gpu

package cuda

import "prenorm/kernels"

// typed is the name of a kernel for the element types of the views: f for each float32 and b for each bfloat16.
func typed(name string, views ...kernels.View) string {
	letters := make([]byte, len(views))
	for i, v := range views {
		letters[i] = 'f'
		if v.DType == kernels.BF16 {
			letters[i] = 'b'
		}
	}
	return name + "_" + string(letters)
}

// wide is how many elements a thread moves at once where they are aligned, as in vectors.cuh.
func wide(views ...kernels.View) int {
	for _, v := range views {
		if v.DType != kernels.BF16 {
			return 4
		}
	}
	return 8
}

// aligned says whether n elements can be moved at once from the start of every view, as in vectors.cuh. A view without memory is aligned.
func aligned(n int, views ...kernels.View) bool {
	for _, v := range views {
		if v.Dev%uintptr(min(n*v.DType.Size(), 16)) != 0 {
			return false
		}
	}
	return true
}

// spread adds a kernel that treats n elements, some at a time in each thread.
func (b *builder) spread(m *module, name string, n, each int, args ...any) {
	b.elements(m, name, ceil(n, each), args...)
}
